//! The address of a Redis server, checked before anything is connected to.

use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::store::StoreError;

/// Unacknowledged data breaks the connection after this time, so that a server whose machine is
/// gone, and that will never send a reset, is connected to afresh.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(3);

/// Reads `redis://[user[:password]@]host[:port][/database]`. The address is never part of an
/// error: it may have a password in it.
pub(super) fn parse(url: &str) -> Result<ConnectionInfo, StoreError> {
    let refuse = |why: &str| Err(StoreError::Address(why.to_owned()));
    if url.contains(',') {
        return refuse(
            "several servers (Redis Cluster, Sentinel, failover lists) do not work in this \
             version; give the address of one server",
        );
    }
    let Some((scheme, _)) = url.split_once("://") else {
        return refuse("it must look like redis://host:6379");
    };
    match scheme {
        "redis" => {}
        "rediss" => {
            return refuse(
                "TLS to Redis (rediss://) does not work in this version; use redis:// within a \
                 private network or through a local TLS proxy",
            );
        }
        _ if scheme.contains("cluster") || scheme.contains("sentinel") => {
            return refuse(
                "Redis Cluster and Sentinel do not work in this version; give the redis:// \
                 address of one server",
            );
        }
        _ => return refuse("only redis:// works in this version"),
    }
    let info = url
        .into_connection_info()
        .map_err(|error| StoreError::Address(error.category().to_owned()))?;
    Ok(info.set_tcp_settings(tcp_settings()))
}

fn tcp_settings() -> TcpSettings {
    // Commands share one connection: none waits for the acknowledgement of another.
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(UNACKNOWLEDGED);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match parse(url) {
            Err(StoreError::Address(why)) => why,
            other => panic!("{url} gave {other:?}"),
        }
    }

    #[test]
    fn one_server_without_tls_is_taken() {
        let info = parse("redis://user:secret@example.com:7000/3").unwrap();
        assert_eq!(info.addr().to_string(), "example.com:7000");
        assert_eq!(info.redis_settings().db(), 3);
        assert_eq!(info.redis_settings().password(), Some("secret"));
        assert!(info.tcp_settings().nodelay());
    }

    #[test]
    fn what_does_not_work_is_said_plainly() {
        assert!(refusal("rediss://host").contains("TLS"));
        assert!(refusal("redis+cluster://host").contains("Cluster"));
        assert!(refusal("redis+sentinel://host/master").contains("Sentinel"));
        assert!(refusal("redis://a:6379,redis://b:6379").contains("several"));
        assert!(refusal("localhost:6379").contains("redis://host:6379"));
        assert!(refusal("http://localhost").contains("only redis://"));
    }

    #[test]
    fn no_refusal_has_the_password_in_it() {
        for url in [
            "redis://:secret@host:port",
            "rediss://:secret@host",
            "secret@host",
        ] {
            assert!(!refusal(url).contains("secret"), "{url}");
        }
    }
}
