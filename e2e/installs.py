"""What whole-cluster tests need beside the cluster: Node.js and npm packages, Python environments,
the JavaScript SDK's build and our own binaries.

Everything lands under `target/e2e-agents` (or `$CLIENTMCP_E2E_CACHE`) and is installed again only
when what it was made from has changed.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("CLIENTMCP_E2E_CACHE") or ROOT / "target" / "e2e-agents")
CATALOGUE = ROOT / "e2e" / "fixture" / "catalogue.json"

NODE_MAJOR = 22
"""The official suite and the JavaScript SDK's global WebSocket need this Node.js."""


def run(*command, **options):
    """Runs a command that must succeed; what it prints is shown only when it fails."""
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stdout}")
    return done.stdout


def digest(*sources):
    """A hash over files (their contents) and strings."""
    total = hashlib.sha256()
    for source in sources:
        total.update(source.read_bytes() if isinstance(source, Path) else source.encode())
        total.update(b"\0")
    return total.hexdigest()


def once(stamp, key, work):
    """Does the work unless the stamp file says that it was done for this very key."""
    if stamp.is_file() and stamp.read_text() == key:
        return
    stamp.unlink(missing_ok=True)
    work()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)


def npm_is_current(folder):
    """Whether node_modules holds what the lock file beside it asks for."""
    try:
        locked = json.loads((folder / "package-lock.json").read_text())["packages"]
        installed = json.loads((folder / "node_modules" / ".package-lock.json").read_text())["packages"]
    except OSError:
        return False
    needed = {path: package["version"] for path, package in locked.items() if path and not package.get("optional")}
    return all(installed.get(path, {}).get("version") == version for path, version in needed.items())


def npm_ci(source, folder):
    """Installs the locked packages of `source` into `folder`."""
    if folder != source:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ["package.json", "package-lock.json", ".npmrc"]:
            shutil.copy(source / name, folder)
    if not npm_is_current(folder):
        run("npm", "ci", "--no-audit", "--no-fund", cwd=folder)


def npm_packages():
    """The folder whose node_modules has the JavaScript agents and the official suite."""
    folder = CACHE / "npm"
    npm_ci(ROOT / "e2e", folder)
    return folder


def node():
    """A Node.js of at least the needed version: npm's build of it, else the one on the path."""
    packages = npm_packages() / "node_modules"
    for candidate in [*packages.glob("node-*-*/bin/node"), Path(shutil.which("node") or "node")]:
        try:
            version = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        if int(version.removeprefix("v").split(".")[0]) >= NODE_MAJOR:
            return candidate
    sys.exit(f"no Node.js {NODE_MAJOR} or later: npm has none for this system, and none is on the path")


def python_with(requirements):
    """The Python of an environment that has exactly the pinned requirements."""
    folder = CACHE / f"venv-{requirements.parent.name}"

    def install():
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin" / "pip", "install", "--quiet", "--no-deps", "--requirement", requirements)

    once(folder / ".clientmcp-stamp", digest(requirements, sys.version), install)
    return folder / "bin" / "python"


def build_js_sdk():
    """Builds the JavaScript SDK into its dist folder."""
    sdk = ROOT / "sdk" / "js"
    npm_ci(sdk, sdk)
    sources = sorted(sdk.glob("src/**/*.ts")) + [sdk / "package.json", sdk / "tsconfig.build.json"]

    def build():
        run("npm", "run", "build", cwd=sdk)

    once(sdk / "dist" / ".clientmcp-stamp", digest(*sources), build)


def _cargo_binary(manifest, *arguments):
    """Builds one binary and gives its path."""
    command = ["cargo", "build", "--message-format=json-render-diagnostics", "--manifest-path", manifest, *arguments]
    # Cargo's own messages stay visible: a build takes long.
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with {done.returncode}")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return Path([m["executable"] for m in messages if m.get("executable")][-1])


def cluster_binary():
    """The `clientmcp` binary: `$CLIENTMCP_BIN`, or built here."""
    if path := os.environ.get("CLIENTMCP_BIN"):
        return Path(path)
    return _cargo_binary(ROOT / "Cargo.toml", "--package", "clientmcp-cli", "--bin", "clientmcp")


def rust_fixture_binary():
    """The fixture app on the Rust SDK: `$CLIENTMCP_FIXTURE_BIN`, or built here."""
    if path := os.environ.get("CLIENTMCP_FIXTURE_BIN"):
        return Path(path)
    return _cargo_binary(ROOT / "Cargo.toml", "--package", "clientmcp-e2e", "--bin", "clientmcp-fixture")


def rmcp_agent_binary():
    """The agent on the crate rmcp, which is a workspace of its own."""
    manifest = ROOT / "e2e" / "agents" / "rmcp" / "Cargo.toml"
    target = os.environ.get("CARGO_TARGET_DIR") or ROOT / "target"
    return _cargo_binary(manifest, "--locked", "--target-dir", target)
