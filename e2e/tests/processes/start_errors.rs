//! Bad configuration stops at the start, with one line that names the flag.

use std::net::TcpListener;

use clientmcp_e2e::process::{Folder, Process, free_address, program};
use clientmcp_e2e::processes::Deployment;
use tokio::process::Command;

/// Flags that are fine, so that the one at fault is the test's.
fn command(role: &str) -> Command {
    let mut command = Command::new(program("clientmcp"));
    let (listen, admin) = (free_address().to_string(), free_address().to_string());
    command.args([
        role,
        "--id",
        "x1",
        "--listen",
        &listen,
        "--admin-listen",
        &admin,
    ]);
    command
}

/// Runs a command that has to fail, and gives its one line.
async fn refused(folder: &Folder, command: &mut Command) -> String {
    let mut process = Process::start("refused", command, folder.path());
    let status = process.ended().await;
    assert!(!status.success(), "{}", process.log());
    let log = process.log();
    assert_eq!(log.trim_end().lines().count(), 1, "{log}");
    log
}

#[tokio::test]
async fn a_secret_is_needed_and_long_enough() {
    let folder = Folder::new();
    for role in ["node", "router"] {
        let line = refused(&folder, &mut command(role)).await;
        assert!(
            line.contains("--secret-file") && line.contains("CLIENTMCP_SECRET"),
            "{line}"
        );

        let short = folder.write("short", "only thirty-one bytes: too few.\n");
        let line = refused(&folder, command(role).arg("--secret-file").arg(&short)).await;
        assert!(
            line.contains("--secret-file") && line.contains("32"),
            "{line}"
        );
        assert!(
            !line.contains("thirty-one"),
            "a secret is not quoted: {line}"
        );

        let line = refused(&folder, command(role).env("CLIENTMCP_SECRET", "short")).await;
        assert!(
            line.contains("CLIENTMCP_SECRET") && line.contains("32"),
            "{line}"
        );

        let line = refused(&folder, command(role).args(["--secret-file", "/nowhere"])).await;
        assert!(
            line.contains("--secret-file") && line.contains("/nowhere"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn redis_must_be_reachable() {
    let folder = Folder::new();
    let secret = folder.write("secret", &"s".repeat(40));
    let nobody = format!("redis://{}", free_address());
    for role in ["node", "router"] {
        let line = refused(
            &folder,
            command(role)
                .arg("--secret-file")
                .arg(&secret)
                .args(["--redis-url", &nobody]),
        )
        .await;
        assert!(line.contains("--redis-url"), "{line}");
        let line = refused(
            &folder,
            command(role)
                .arg("--secret-file")
                .arg(&secret)
                .args(["--redis-url", "http://x"]),
        )
        .await;
        assert!(line.contains("--redis-url"), "{line}");
    }
}

#[tokio::test]
async fn ports_must_be_free_names_too_and_values_make_sense() {
    let deployment = Deployment::start("info").await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken
        .local_addr()
        .map(|addr| (taken, addr.to_string()))
        .unwrap();
    for role in ["node", "router"] {
        for flag in ["--listen", "--admin-listen"] {
            let mut command = deployment.member_command(role);
            let other = if flag == "--listen" {
                "--admin-listen"
            } else {
                "--listen"
            };
            command.args([
                "--id",
                "x1",
                flag,
                &taken.1,
                other,
                &free_address().to_string(),
            ]);
            let line = refused(deployment.folder(), &mut command).await;
            assert!(line.contains(flag) && line.contains(&taken.1), "{line}");
        }
    }
    for (flag, value) in [
        ("--id", "no spaces allowed"),
        ("--allowed-origin", "not an origin"),
        ("--allowed-host", "not a host"),
        ("--advertise", "no-port"),
        ("--log", "no=such=filter"),
    ] {
        let mut command = deployment.member_command("router");
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
            flag,
            value,
        ]);
        let line = refused(deployment.folder(), &mut command).await;
        assert!(line.contains(flag), "{flag}: {line}");
    }
    // A name whose last run still answers is taken.
    for (role, name) in [("node", "n1"), ("router", "r1")] {
        let mut command = deployment.member_command(role);
        command.args([
            "--id",
            name,
            "--listen",
            &free_address().to_string(),
            "--admin-listen",
            &free_address().to_string(),
        ]);
        let line = refused(deployment.folder(), &mut command).await;
        assert!(line.contains("--id") && line.contains(name), "{line}");
    }
}

#[tokio::test]
async fn a_node_that_crashed_is_replaced_at_once_under_its_name() {
    let mut deployment = Deployment::start("info").await;
    let node = &mut deployment.nodes[1];
    node.process.kill().await;
    let (listen, admin) = (node.addr.to_string(), free_address().to_string());
    let mut command = deployment.member_command("node");
    command.args(["--id", "n2", "--listen", &listen, "--admin-listen", &admin]);
    let mut again = Process::start("n2-again", &mut command, deployment.folder().path());
    again.wait_for_lines("node started", 1).await;
}
