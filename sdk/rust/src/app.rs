//! A connected application as its developer sees it.

use tokio::sync::{mpsc, oneshot, watch};

use crate::builder::Builder;
use crate::driver::{Command, SetToolsError};
use crate::status::{Online, Rejected, Status, Stopped};
use crate::tools::Tools;

/// An application that is connected, or on its way to be. It leaves the cluster when it is closed,
/// or when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct App {
    commands: mpsc::Sender<Command>,
    status: watch::Receiver<Status>,
}

/// An [`App`] that does not keep the application connected: for handlers, which live as long as
/// the application does.
#[derive(Debug, Clone)]
pub struct WeakApp {
    commands: mpsc::WeakSender<Command>,
    status: watch::Receiver<Status>,
}

impl WeakApp {
    /// The application; `None` if it was closed or dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<App> {
        let commands = self.commands.upgrade()?;
        Some(App::new(commands, self.status.clone()))
    }
}

impl App {
    /// An application that connects to this URL: `wss://…/v1/connect` of a cluster.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }

    pub(crate) fn new(commands: mpsc::Sender<Command>, status: watch::Receiver<Status>) -> Self {
        Self { commands, status }
    }

    /// Where the connection stands, and each change of that. A change that is followed by another
    /// before anybody looks is not seen.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Waits until agents can call.
    ///
    /// # Errors
    /// [`Stopped`] if that will not be.
    pub async fn online(&self) -> Result<Online, Stopped> {
        let mut status = self.status.clone();
        loop {
            match &*status.borrow_and_update() {
                Status::Online(online) => return Ok(online.clone()),
                Status::Stopped(stopped) => return Err(stopped.clone()),
                Status::Connecting | Status::Offline { .. } => {}
            }
            if status.changed().await.is_err() {
                return Err(self.stopped());
            }
        }
    }

    /// Replaces all tools, for calls and for the cluster, and waits until the cluster has taken
    /// them. Returns what it refused of them.
    ///
    /// # Errors
    /// [`SetToolsError`]: too large, or the connection has stopped.
    pub async fn set_tools(&self, tools: Tools) -> Result<Vec<Rejected>, SetToolsError> {
        let (accepted, answer) = oneshot::channel();
        let command = Command::SetTools { tools, accepted };
        if self.commands.send(command).await.is_err() {
            return Err(self.stopped().into());
        }
        answer.await.unwrap_or_else(|_| Err(self.stopped().into()))
    }

    /// Starts anew after [`Status::Stopped`], unless this application was closed or could not be
    /// built.
    pub async fn reconnect(&self) {
        // An application that was closed stays closed.
        _ = self.commands.send(Command::Reconnect).await;
    }

    /// Leaves the cluster: agents are told at once that the application is offline, and handlers
    /// that nobody waits for them. Returns when the connection is closed.
    pub async fn close(&self) {
        let (closed, answer) = oneshot::channel();
        if self.commands.send(Command::Close { closed }).await.is_ok() {
            // An error says that the loop has ended, which is what is waited for.
            _ = answer.await;
        }
    }

    /// The application without keeping it connected.
    #[must_use]
    pub fn downgrade(&self) -> WeakApp {
        WeakApp {
            commands: self.commands.downgrade(),
            status: self.status.clone(),
        }
    }

    fn stopped(&self) -> Stopped {
        match &*self.status.borrow() {
            Status::Stopped(stopped) => stopped.clone(),
            _ => Stopped {
                code: None,
                reason: "the application's loop has ended".to_owned(),
            },
        }
    }
}
