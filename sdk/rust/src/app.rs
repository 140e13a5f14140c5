//! A connected application as its developer sees it.

use tokio::sync::{mpsc, oneshot, watch};

use crate::builder::Builder;
use crate::driver::{Command, OfferError};
use crate::offers::Part;
use crate::prompts::Prompts;
use crate::resources::Resources;
use crate::status::{Online, Rejected, Status, Stopped};
use crate::tools::Tools;

/// An application that is connected, or on its way to be. It leaves the cluster when it is closed,
/// or when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct App {
    commands: mpsc::Sender<Command>,
    status: watch::Receiver<Status>,
    watched: watch::Receiver<Vec<String>>,
}

/// An [`App`] that does not keep the application connected: for handlers, which live as long as
/// the application does.
#[derive(Debug, Clone)]
pub struct WeakApp {
    commands: mpsc::WeakSender<Command>,
    status: watch::Receiver<Status>,
    watched: watch::Receiver<Vec<String>>,
}

impl WeakApp {
    /// The application; `None` if it was closed or dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<App> {
        let commands = self.commands.upgrade()?;
        Some(App::new(
            commands,
            self.status.clone(),
            self.watched.clone(),
        ))
    }
}

impl App {
    /// An application that connects to this URL: `wss://…/v1/connect` of a cluster.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }

    pub(crate) fn new(
        commands: mpsc::Sender<Command>,
        status: watch::Receiver<Status>,
        watched: watch::Receiver<Vec<String>>,
    ) -> Self {
        Self {
            commands,
            status,
            watched,
        }
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
    /// them. Returns what it refused of the registration.
    ///
    /// # Errors
    /// [`OfferError`]: too large, or the connection has stopped.
    pub async fn set_tools(&self, tools: Tools) -> Result<Vec<Rejected>, OfferError> {
        self.set(Part::Tools(tools)).await
    }

    /// Replaces all prompts; like [`set_tools`](Self::set_tools).
    ///
    /// # Errors
    /// [`OfferError`]
    pub async fn set_prompts(&self, prompts: Prompts) -> Result<Vec<Rejected>, OfferError> {
        self.set(Part::Prompts(prompts)).await
    }

    /// Replaces all resources and their templates; like [`set_tools`](Self::set_tools).
    ///
    /// # Errors
    /// [`OfferError`]
    pub async fn set_resources(&self, resources: Resources) -> Result<Vec<Rejected>, OfferError> {
        self.set(Part::Resources(resources)).await
    }

    /// Tells agents that watch a resource that it has changed, so that they may read it again. If
    /// nothing is connected they are told later.
    pub async fn resource_updated(&self, uri: impl Into<String>) {
        let uri = uri.into();
        // An application that was closed has nobody to tell.
        _ = self.commands.send(Command::ResourceUpdated { uri }).await;
    }

    /// The URIs of the resources that some agent watches, in alphabetical order, and each change of
    /// that. What nobody watches needs no [`resource_updated`](Self::resource_updated).
    #[must_use]
    pub fn watched_resources(&self) -> watch::Receiver<Vec<String>> {
        self.watched.clone()
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
            watched: self.watched.clone(),
        }
    }

    async fn set(&self, part: Part) -> Result<Vec<Rejected>, OfferError> {
        let (accepted, answer) = oneshot::channel();
        let command = Command::Offer { part, accepted };
        if self.commands.send(command).await.is_err() {
            return Err(self.stopped().into());
        }
        answer.await.unwrap_or_else(|_| Err(self.stopped().into()))
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
