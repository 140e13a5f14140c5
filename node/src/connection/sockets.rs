//! The reading and the writing task of a connection, from the handshake to the last byte.

use std::sync::Arc;

use clientmcp_core::channel::Transmit;
use clientmcp_core::close::{CloseCode, Closing};
use clientmcp_core::tick::Tick;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::Connection;
use crate::limits;
use crate::socket::{Frame, ReadError, Reader, Received, Writer};

/// What the reading task wakes for.
#[derive(Debug)]
enum Event {
    /// Something came over the socket, or will not come any more.
    Received(Result<Received, ReadError>),
    /// The channel is due.
    Due,
    /// Somebody else changed the channel.
    Changed,
}

/// Why the reading task is through.
#[derive(Debug)]
enum End {
    /// We close: the close frame is among what the channel sends.
    ByUs,
    /// The peer has closed. This is what is still said.
    ByPeer(Frame),
    /// The transport has failed.
    Broken,
}

/// Frames that leave together.
#[derive(Debug, Default)]
struct Batch {
    frames: Vec<Frame>,
    /// The last of them is the last of all.
    is_last: bool,
}

impl Connection {
    /// Serves the socket until it has ended.
    pub(crate) async fn run(self: Arc<Self>, mut reader: Reader, writer: Writer) {
        let _open = Open::new(self.clone());
        let mut writing = AbortOnDropHandle::new(tokio::spawn(write(self.clone(), writer)));
        let writer = match self.read(&mut reader).await {
            End::ByUs => {
                let written = timeout(limits::LAST_WRITE_TIMEOUT, &mut writing);
                let closed = reader.await_close(limits::CLOSE_TIMEOUT);
                tokio::join!(written, closed).0
            }
            End::ByPeer(frame) => {
                self.bid_farewell(frame);
                timeout(limits::LAST_WRITE_TIMEOUT, &mut writing).await
            }
            End::Broken => return,
        };
        if let Ok(Ok(Ok(mut writer))) = writer {
            writer.finish().await;
        }
    }

    async fn read(self: &Arc<Self>, reader: &mut Reader) -> End {
        let sleep = sleep_until(Instant::now());
        tokio::pin!(sleep);
        loop {
            let due = self.arm();
            if let Some(due) = due {
                sleep.as_mut().reset(self.node.clock.instant(due));
            }
            let event = tokio::select! {
                received = reader.next() => Event::Received(received),
                () = &mut sleep, if due.is_some() => Event::Due,
                () = self.to_read.notified() => Event::Changed,
            };
            match event {
                Event::Received(received) => {
                    if let Some(end) = self.handle_received(received) {
                        return end;
                    }
                }
                Event::Due => {
                    self.step(|state, now| state.channel.handle_timeout(now));
                }
                Event::Changed => {}
            }
            if self.has_ended() {
                return End::ByUs;
            }
        }
    }

    fn handle_received(self: &Arc<Self>, received: Result<Received, ReadError>) -> Option<End> {
        match received {
            Ok(Received::Text(text)) => {
                self.step(|state, now| state.channel.handle_text(now, &text));
                None
            }
            Ok(Received::Ping(payload)) => {
                self.step(|state, now| {
                    // Only the latest of several pings needs an answer (RFC 6455, 5.5.3).
                    state.pong = Some(payload);
                    state.channel.handle_frame_seen(now);
                });
                None
            }
            Ok(Received::Pong | Received::Part) => {
                self.step(|state, now| state.channel.handle_frame_seen(now));
                None
            }
            Ok(Received::Close(code)) => {
                self.step(|state, now| state.channel.handle_closed(now, code));
                Some(End::ByPeer(Frame::CloseEcho(code)))
            }
            Err(ReadError::Ended) => {
                self.step(|state, now| state.channel.handle_closed(now, None));
                // A router that stops ends its half of the tunnel alone, so that its apps are
                // still told why.
                let stopped = "the connection's other end stopped: connect again";
                let closing = Closing::new(CloseCode::Restart, stopped);
                Some(End::ByPeer(Frame::Close(closing)))
            }
            Err(ReadError::Transport(error)) => {
                tracing::debug!(socket = self.number, %error, "the transport failed");
                self.step(|state, now| state.channel.handle_closed(now, None));
                Some(End::Broken)
            }
            Err(ReadError::Fault(fault)) => {
                tracing::debug!(socket = self.number, %fault, "the peer broke the protocol");
                self.close(fault.closing());
                Some(End::ByUs)
            }
        }
    }

    /// When the channel is due; the reading task will wake then.
    fn arm(&self) -> Option<Tick> {
        let mut state = self.lock();
        state.armed = if state.crashed {
            None
        } else {
            state.channel.poll_timeout()
        };
        state.armed
    }

    /// Whether nothing but the end of the socket is left to happen.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    fn bid_farewell(&self, frame: Frame) {
        self.lock().farewell = Some(frame);
        self.to_write.notify_one();
    }

    /// Takes frames out of the channel, as many as are written together.
    fn take_frames(self: &Arc<Self>) -> Batch {
        let farewell = self.lock().farewell.take();
        if let Some(farewell) = farewell {
            return Batch {
                frames: vec![farewell],
                is_last: true,
            };
        }
        self.step(|state, now| {
            let mut batch = Batch::default();
            batch.frames.extend(state.pong.take().map(Frame::Pong));
            let mut bytes = 0;
            while bytes < limits::WRITE_BATCH_BYTES
                && let Some(transmit) = state.channel.poll_transmit(now)
            {
                let frame = match transmit {
                    Transmit::Text(text) => Frame::Text(text),
                    Transmit::Ping => Frame::Ping,
                    Transmit::Close(closing) => {
                        batch.is_last = true;
                        Frame::Close(closing)
                    }
                };
                bytes += frame.payload_bytes();
                batch.frames.push(frame);
                if batch.is_last {
                    break;
                }
            }
            batch
        })
        .unwrap_or_default()
    }
}

/// Writes until the close frame is written, and gives the writer back.
async fn write(connection: Arc<Connection>, mut writer: Writer) -> std::io::Result<Writer> {
    loop {
        let batch = connection.take_frames();
        if batch.frames.is_empty() {
            connection.to_write.notified().await;
            continue;
        }
        if let Some(Frame::Close(closing)) = batch.frames.last() {
            let code = closing.code().to_string();
            tracing::debug!(socket = connection.number, %closing, "closing");
            connection
                .node
                .metrics
                .closes
                .with_label_values(&[&code])
                .inc();
        }
        let progress = || {
            connection.step(|state, now| state.channel.handle_written(now));
        };
        if let Err(error) = writer.write(batch.frames, progress).await {
            tracing::debug!(socket = connection.number, %error, "cannot write");
            connection.step(|state, now| state.channel.handle_closed(now, None));
            return Err(error);
        }
        if batch.is_last {
            return Ok(writer);
        }
    }
}

/// While the tasks run. Dropped when they end, however they do: a connection that was cut off
/// half-way must not hold its client ID.
struct Open(Arc<Connection>);

impl Open {
    fn new(connection: Arc<Connection>) -> Self {
        connection.node.enter_socket(&connection);
        Self(connection)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let connection = &self.0;
        if !connection.has_ended() {
            connection.step(|state, now| state.channel.handle_closed(now, None));
        }
        connection.node.leave_socket(connection.number);
    }
}
