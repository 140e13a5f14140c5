"""A whole cluster of real processes on this machine: Redis, nodes, routers and a fixture app.

    with Cluster(logs) as cluster, cluster.fixture_app("js"):
        cluster.agent_urls()            # http://127.0.0.1:PORT/mcp of each router
        cluster.token("agent")          # the bearer for it

Processes listen on loopback, log to files in `logs`, and are ended by their process IDs.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import installs

CLIENT_ID = "demo"

START_LIMIT_S = 30.0
"""How long a process may take until it serves."""

STOP_LIMIT_S = 20.0
"""How long a process may take to end after SIGTERM, with no work left, before it is killed."""


class ClusterError(Exception):
    """A process did not come up or did not end; the message says which, and where its log is."""


def clean_up_on_sigterm():
    """Makes SIGTERM leave the `with` blocks in order, so that no process stays behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def free_ports(count):
    """Ports that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Process:
    """One child process with its log file."""

    def __init__(self, name, command, logs, env=None):
        self.name = name
        self.log = logs / f"{name}.log"
        # What the developer's shell is set up for must not reach into the cluster.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("CLIENTMCP_")}
        self._command = [str(part) for part in command]
        self._env = {**inherited, **(env or {})}
        self.log.write_bytes(b"")
        self._child = self._spawn()

    def _spawn(self):
        with self.log.open("ab") as output:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )

    def kill_and_restart(self):
        """Kills the process (SIGKILL) and starts it again as it was started; it need not serve yet."""
        self._child.kill()
        self._child.wait()
        self._child = self._spawn()

    def wait_until(self, ready, what):
        """Polls `ready` until it is true; the process must live meanwhile."""
        deadline = time.monotonic() + START_LIMIT_S
        while not ready():
            if (code := self._child.poll()) is not None:
                raise ClusterError(f"{self.name} ended with {code} before it {what}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name} has not {what} within {START_LIMIT_S:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def has_logged(self, text):
        """Whether the log has the text."""
        return text in self.log.read_text(errors="replace")

    def tail(self, lines=15):
        """The end of the log, with its path."""
        end = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([*end, f"(whole log: {self.log})"])

    def is_running(self):
        """Whether the process lives."""
        return self._child.poll() is None

    def stop(self):
        """Ends the process by SIGTERM, and by SIGKILL if that does not help; tells whether it did."""
        if self.is_running():
            self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
            return False
        return True


def answers_ok(url):
    """Whether a GET of the URL is answered with 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False


@contextlib.contextmanager
def proxy_before(urls, bearer=None):
    """The URL of a loopback proxy that sends each request to the next URL, with a token if one is given."""
    command = [installs.node(), installs.ROOT / "e2e" / "proxy.mjs", *(["--bearer", bearer] if bearer else []), *urls]
    proxy = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield proxy.stdout.readline().strip()
    finally:
        proxy.stdin.close()
        proxy.wait(STOP_LIMIT_S)


class Cluster:
    """Redis, nodes and routers, up for the time of a `with` block."""

    def __init__(self, logs, nodes=3, routers=2, env=None):
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir(parents=True)
        self.logs = logs
        self._node_count = nodes
        self._router_count = routers
        self._env = env or {}
        self._binary = installs.cluster_binary()
        self._secret_file = logs / "secret"
        self._processes = []
        self._router_ports = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind, *_):
        stuck = self._stop()
        if stuck and kind is None:
            names = ", ".join(process.name for process in stuck)
            raise ClusterError(f"not ended within {STOP_LIMIT_S:.0f} s of SIGTERM: {names}\n{stuck[0].tail()}")

    def agent_urls(self):
        """Where agents reach each router."""
        return [f"http://127.0.0.1:{port}/mcp" for port in self._router_ports]

    def connect_url(self, router):
        """Where apps reach the router with this index."""
        return f"ws://127.0.0.1:{self._router_ports[router]}/v1/connect"

    def token(self, bearer):
        """A token for an `app` or an `agent` of the one client."""
        command = [self._binary, "token", bearer, "--client", CLIENT_ID, "--secret-file", self._secret_file]
        return installs.run(*command, stdin=subprocess.DEVNULL).strip()

    @contextlib.contextmanager
    def killed_nodes(self, every_s):
        """Kills nodes in turn, one every so many seconds, for the time of a `with` block.

        Each is started again at once. Gives a function that tells how many were killed.
        """
        nodes = [process for process in self._processes if process.name.startswith("n")]
        over = threading.Event()
        killed = 0

        def kill():
            nonlocal killed
            while not over.wait(every_s):
                nodes[killed % len(nodes)].kill_and_restart()
                killed += 1

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            yield lambda: killed
        finally:
            over.set()
            killer.join()

    @contextlib.contextmanager
    def fixture_app(self, kind, router=0):
        """The fixture app on the `js` or `rust` SDK, online for the time of a `with` block."""
        if kind == "js":
            installs.build_js_sdk()
            command = [installs.node(), installs.ROOT / "e2e" / "fixture-js" / "main.mjs"]
        else:
            command = [installs.rust_fixture_binary()]
        command += ["--url", self.connect_url(router), "--token", self.token("app")]
        app = Process(f"fixture-{kind}", command, self.logs)
        try:
            app.wait_until(lambda: app.has_logged("online"), "come online")
            yield app
        finally:
            app.stop()

    def _start(self):
        self._secret_file.write_text(secrets.token_urlsafe(48))
        self._secret_file.chmod(0o600)
        redis_port, *ports = free_ports(1 + 2 * (self._node_count + self._router_count))
        self._start_redis(redis_port)
        members = [("node", i) for i in range(self._node_count)] + [("router", i) for i in range(self._router_count)]
        starting = []
        for (kind, index), listen, admin in zip(members, ports[0::2], ports[1::2], strict=True):
            starting.append((self._start_member(kind, index + 1, listen, admin, redis_port), admin))
            if kind == "router":
                self._router_ports.append(listen)
        for process, admin in starting:
            ready = f"http://127.0.0.1:{admin}/readyz"
            process.wait_until(lambda url=ready: answers_ok(url), "become ready")

    def _start_redis(self, port):
        redis = shutil.which("redis-server")
        if redis is None:
            raise ClusterError("redis-server is not installed (Debian: apt-get install redis-server)")
        options = ["--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", self.logs]
        process = Process("redis", [redis, *options], self.logs)
        self._processes.append(process)

        def accepts():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            return False

        process.wait_until(accepts, "accept connections")

    def _start_member(self, kind, number, listen, admin, redis_port):
        name = f"{kind[0]}{number}"
        command = [
            *(self._binary, kind),
            *("--id", name),
            *("--listen", f"127.0.0.1:{listen}"),
            *("--admin-listen", f"127.0.0.1:{admin}"),
            *("--redis-url", f"redis://127.0.0.1:{redis_port}"),
            *("--secret-file", self._secret_file),
        ]
        process = Process(name, command, self.logs, self._env)
        self._processes.append(process)
        return process

    def _stop(self):
        """Ends all processes, routers first and Redis last; gives those that had to be killed."""
        stuck = []

        def stop(process):
            if not process.stop():
                stuck.append(process)

        for kind in ("r", "n", "redis"):
            group = [p for p in self._processes if p.name.rstrip("0123456789") == kind]
            threads = [threading.Thread(target=stop, args=[process]) for process in group]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self._processes.clear()
        return stuck
