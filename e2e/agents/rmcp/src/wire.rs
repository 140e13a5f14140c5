//! The agent's HTTP traffic, recorded: which message was answered how.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use serde_json::Value;
use sse_stream::{Error as SseError, Sse};
use tokio::sync::watch;

/// How a POST was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted,
    Json,
    EventStream,
    Error,
}

/// The record that [`RecordingClient`] keeps.
pub(crate) struct Wire {
    posts: Mutex<Vec<(Value, Answer)>>,
    stream_open: watch::Sender<bool>,
    deleted: Mutex<Option<bool>>,
}

impl Wire {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            posts: Mutex::default(),
            stream_open: watch::Sender::new(false),
            deleted: Mutex::default(),
        })
    }

    fn posts(&self) -> MutexGuard<'_, Vec<(Value, Answer)>> {
        self.posts.lock().expect("no holder of the lock panics")
    }

    /// How the calls of `tool` were answered.
    pub(crate) fn answers_to(&self, tool: &str) -> Vec<Answer> {
        let posts = self.posts();
        let calls = posts.iter().filter(|(message, _)| {
            message["method"] == "tools/call" && message["params"]["name"] == tool
        });
        calls.map(|(_, answer)| *answer).collect()
    }

    /// How many messages with this method were sent.
    pub(crate) fn count_of(&self, method: &str) -> usize {
        self.posts()
            .iter()
            .filter(|(message, _)| message["method"] == method)
            .count()
    }

    /// Waits until the stream of notifications (GET or subscriptions/listen) has begun.
    pub(crate) async fn stream_opened(&self) {
        let mut open = self.stream_open.subscribe();
        open.wait_for(|open| *open)
            .await
            .expect("the sender lives as long as self");
    }

    /// Whether the session was ended by DELETE, and accepted as such.
    pub(crate) fn deleted(&self) -> Option<bool> {
        *self.deleted.lock().expect("no holder of the lock panics")
    }
}

/// rmcp's own reqwest client with a record of what passes through it.
#[derive(Clone)]
pub(crate) struct RecordingClient {
    pub(crate) http: reqwest::Client,
    pub(crate) wire: Arc<Wire>,
}

type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;

impl StreamableHttpClient for RecordingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<StreamableHttpPostResponse> {
        let sent = serde_json::to_value(&message).expect("a message is JSON");
        let is_listen = sent["method"] == "subscriptions/listen";
        let outcome = self
            .http
            .post_message(uri, message, session_id, auth_header, custom_headers)
            .await;
        let answer = match &outcome {
            Ok(StreamableHttpPostResponse::Accepted) => Answer::Accepted,
            Ok(StreamableHttpPostResponse::Json(..)) => Answer::Json,
            Ok(StreamableHttpPostResponse::Sse(..)) => Answer::EventStream,
            Ok(_) | Err(_) => Answer::Error,
        };
        if is_listen && answer == Answer::EventStream {
            self.wire.stream_open.send_replace(true);
        }
        self.wire.posts().push((sent, answer));
        outcome
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<()> {
        let outcome = self
            .http
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await;
        *self
            .wire
            .deleted
            .lock()
            .expect("no holder of the lock panics") = Some(outcome.is_ok());
        outcome
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        let outcome = self
            .http
            .get_stream(uri, session_id, last_event_id, auth_header, custom_headers)
            .await;
        if outcome.is_ok() {
            self.wire.stream_open.send_replace(true);
        }
        outcome
    }
}
