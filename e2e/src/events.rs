//! The events of a stream, in the one form that the cluster sends (SPEC.md §9.6).

use bytes::{Buf, Bytes, BytesMut};
use serde_json::Value;

use crate::exchange::Response;
use crate::schema;

/// A part of an event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// One JSON-RPC message.
    Message(Bytes),
    /// A comment: the stream lives.
    Comment,
}

/// An event stream that is being read. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events {
    response: Response,
    unread: BytesMut,
}

impl Events {
    pub(crate) fn of(response: Response) -> Self {
        Self {
            response,
            unread: BytesMut::new(),
        }
    }

    /// The next event; `None` at the end of the stream.
    ///
    /// # Panics
    /// If it has another form, breaks off, or nothing comes.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let event = self.unread.split_to(end).freeze();
                self.unread.advance(2);
                let event = read(&event);
                if let Event::Message(message) = &event {
                    self.check(message);
                }
                return Some(event);
            }
            match self.response.chunk().await {
                Some(chunk) => self
                    .unread
                    .extend_from_slice(&chunk.expect("the stream is whole")),
                None if self.unread.is_empty() => return None,
                None => panic!("the stream ends within an event: {:?}", self.unread),
            }
        }
    }

    /// What is said before an answer, and without one, is valid in the agent's revision.
    fn check(&self, message: &[u8]) {
        let Some(version) = self.response.version else {
            return;
        };
        // Some tests send what this parser cannot read.
        if let Ok(message) = serde_json::from_slice::<Value>(message)
            && message.get("method").is_some()
        {
            schema::check(version, "", &message);
        }
    }

    /// The next message, after any comments.
    ///
    /// # Panics
    /// If the stream ends instead.
    pub async fn message(&mut self) -> Value {
        let message = self
            .raw_message()
            .await
            .expect("a message before the end of the stream");
        serde_json::from_slice(&message).expect("messages are JSON")
    }

    /// The next message as it is, after any comments; `None` at the end of the stream.
    pub async fn raw_message(&mut self) -> Option<Bytes> {
        while let Some(event) = self.next().await {
            if let Event::Message(message) = event {
                return Some(message);
            }
        }
        None
    }

    /// Waits for a comment.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn comment(&mut self) {
        assert_eq!(self.next().await, Some(Event::Comment));
    }

    /// Waits for the end, at which nothing but comments may come.
    ///
    /// # Panics
    /// If a message comes.
    pub async fn end(mut self) {
        assert_eq!(self.raw_message().await, None);
    }
}

fn read(event: &Bytes) -> Event {
    if event.starts_with(b":") && !event.contains(&b'\n') {
        return Event::Comment;
    }
    let data = event.strip_prefix(b"event: message\ndata: ");
    match data {
        Some(data) if !data.contains(&b'\n') && !data.contains(&b'\r') => {
            Event::Message(event.slice_ref(data))
        }
        _ => panic!("an event of another form: {event:?}"),
    }
}
