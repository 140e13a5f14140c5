//! What a link has to say about one call, on its way from the link's task to whoever carries the
//! call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;
use clientmcp_proto::v1;

/// Progress and log messages that wait for a slow agent; later ones are dropped.
const EVENTS: usize = 64;
/// The same in bytes.
const EVENT_BYTES: usize = 1024 * 1024;

/// Progress or a log message of a running call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// JSON object {progress, total?, message?}
    Progress(Bytes),
    /// JSON object {level, logger?, data}
    Log(Bytes),
    /// JSON object {ttlMs?, pollIntervalMs?, statusMessage?}: the call becomes a task, or says more
    /// of the one that it is.
    Task(Bytes),
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Event::Progress(json) | Event::Log(json) | Event::Task(json) => json.len(),
        }
    }
}

/// The last word of a link on a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The node's one and last word; its payload is whole.
    Outcome(v1::outcome::Outcome),
    /// The call goes on elsewhere.
    Moved(v1::Elsewhere),
    /// The link was lost.
    LinkLost {
        /// The call cannot have reached the app: not all of it had left this process.
        not_delivered: bool,
    },
}

/// What comes next from a [`Feed`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    Event(Event),
    End(End),
}

/// The two sides share it; it is bounded, and the last word always finds room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
    end: Option<End>,
    waker: Option<Waker>,
}

impl Feed {
    /// Adds an event; `false` if it was dropped, for too many wait or the end was said.
    pub(crate) fn push(&self, event: Event) -> bool {
        let mut state = self.lock();
        let bytes = event.bytes();
        let full = state.events.len() >= EVENTS
            || (!state.events.is_empty() && state.bytes + bytes > EVENT_BYTES);
        if full || state.end.is_some() {
            return false;
        }
        state.bytes += bytes;
        state.events.push_back(event);
        wake(state);
        true
    }

    /// Says the last word; only the first one counts.
    pub(crate) fn end(&self, end: End) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        wake(state);
    }

    /// What comes next: events in order, then the end. After the end it pends for ever.
    pub(crate) async fn next(&self) -> News {
        std::future::poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(event) = state.events.pop_front() {
                state.bytes -= event.bytes();
                return Poll::Ready(News::Event(event));
            }
            if let Some(end) = state.end.take() {
                return Poll::Ready(News::End(end));
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(bytes: usize) -> Event {
        Event::Progress(vec![b'x'; bytes].into())
    }

    #[tokio::test]
    async fn events_come_in_order_and_the_end_last() {
        let feed = Feed::default();
        assert!(feed.push(progress(1)));
        assert!(feed.push(progress(2)));
        feed.end(End::LinkLost {
            not_delivered: true,
        });
        assert!(!feed.push(progress(3)), "nothing follows the end");
        assert_eq!(feed.next().await, News::Event(progress(1)));
        assert_eq!(feed.next().await, News::Event(progress(2)));
        let end = News::End(End::LinkLost {
            not_delivered: true,
        });
        assert_eq!(feed.next().await, end);
    }

    #[tokio::test]
    async fn events_are_bounded_and_the_end_is_not() {
        let feed = Feed::default();
        assert!(feed.push(progress(2 * EVENT_BYTES)), "one always fits");
        assert!(!feed.push(progress(1)));
        feed.end(End::LinkLost {
            not_delivered: false,
        });
        assert!(matches!(feed.next().await, News::Event(_)));
        assert!(matches!(feed.next().await, News::End(_)));
    }

    #[tokio::test]
    async fn whoever_waits_is_woken() {
        let feed = Feed::default();
        let waiting = tokio::spawn({
            let feed = feed.clone();
            async move { feed.next().await }
        });
        tokio::task::yield_now().await;
        feed.push(progress(1));
        assert_eq!(waiting.await.unwrap(), News::Event(progress(1)));
    }
}
