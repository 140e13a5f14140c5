//! The connection to the server: one for all commands, made anew when it is of no use any more.
//!
//! A connection that broke is replaced by the client library. One that is silent, because the
//! server hangs, or because it leads to a machine that is not the one behind the address any more,
//! breaks by itself very late or never: it is given up after [`ANSWER_WITHIN`], and so is one to a
//! server that has become a read-only replica.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ConnectionInfo, ErrorKind, RedisError, RedisResult, ServerErrorKind};
use tokio::time::Instant;

use super::classify;
use crate::store::StoreError;

/// Time to connect, and time for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Time for a command in all, the second try included.
const COMMAND_WITHIN: Duration = Duration::from_secs(2);
/// Commands that may wait for their turn on the connection.
const QUEUED_COMMANDS: usize = 1_024;

/// Runs commands. Each is sent once more, on a new connection if need be, when it failed on the
/// way: the command that notices a broken connection is otherwise lost with it.
pub(super) struct Connection {
    client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<Current>,
}

struct Current {
    manager: ConnectionManager,
    /// Tells this connection from those before.
    number: u64,
    /// Since when a command has waited, and none was answered.
    silent_since: Option<Instant>,
}

impl Connection {
    pub(super) async fn open(info: ConnectionInfo) -> RedisResult<Self> {
        let client = Client::open(info)?;
        // No retries: a server that is away fails commands at once, and the next one tries anew.
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(ANSWER_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_number_of_retries(0)
            .set_pipeline_buffer_size(QUEUED_COMMANDS);
        let manager = ConnectionManager::new_with_config(client.clone(), config.clone()).await?;
        Ok(Self {
            client,
            config,
            current: Mutex::new(Current {
                manager,
                number: 0,
                silent_since: None,
            }),
        })
    }

    pub(super) async fn run<T, F>(
        &self,
        command: impl Fn(ConnectionManager) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let twice = async {
            match self.once(&command).await {
                Err(error) if failed_on_the_way(&error) => {
                    tracing::debug!(%error, "a store command failed; sending it once more");
                    self.once(&command).await
                }
                answer => answer,
            }
        };
        match tokio::time::timeout(COMMAND_WITHIN, twice).await {
            Ok(answer) => answer.map_err(|error| classify(&error)),
            Err(_) => Err(StoreError::Unreachable("no answer in time".into())),
        }
    }

    async fn once<T, F>(&self, command: &impl Fn(ConnectionManager) -> F) -> RedisResult<T>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let (number, manager) = self.begin()?;
        let answer = command(manager).await;
        match &answer {
            Err(error) if error.is_timeout() => {}
            Err(error) if is_replica(error) => self.answered(number, true),
            _ => self.answered(number, false),
        }
        answer
    }

    /// The connection for one command; a new one if the present one is of no use.
    fn begin(&self) -> RedisResult<(u64, ConnectionManager)> {
        let now = now();
        let mut current = self.current();
        let silent = |since: Instant| now.duration_since(since) >= ANSWER_WITHIN;
        if current.silent_since.is_some_and(silent) {
            tracing::debug!("giving up a connection to the store that is silent");
            self.replace(&mut current)?;
        }
        current.silent_since.get_or_insert(now);
        Ok((current.number, current.manager.clone()))
    }

    /// A command on the connection of this number is done, if only because the connection broke.
    fn answered(&self, number: u64, useless: bool) {
        let mut current = self.current();
        if current.number != number {
            return;
        }
        current.silent_since = None;
        if useless && let Err(error) = self.replace(&mut current) {
            tracing::warn!(%error, "cannot replace the connection to the store");
        }
    }

    /// Connects with the next command.
    fn replace(&self, current: &mut Current) -> RedisResult<()> {
        let (client, config) = (self.client.clone(), self.config.clone());
        *current = Current {
            manager: ConnectionManager::new_lazy_with_config(client, config)?,
            number: current.number + 1,
            silent_since: None,
        };
        Ok(())
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // It is replaced as a whole.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed_on_the_way(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error() || is_replica(error)
}

fn is_replica(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown)
    )
}

#[allow(
    clippy::disallowed_methods,
    reason = "this is where the store meets the network"
)]
fn now() -> Instant {
    Instant::now()
}
