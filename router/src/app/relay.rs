//! Copies bytes between an app's socket and its tunnel, without reading a frame.
//!
//! An idle socket has no buffers: all are read into one buffer per thread, and only as far as the
//! tunnel takes it; what the app does not take at once is kept only until it does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use clientmcp_proto::tunnel::{CHUNK_BYTES, Receiver, Sender};
use futures_util::FutureExt as _;
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

/// Pieces that one system call takes.
const SLICES: usize = 32;

/// When one direction has ended, the other may go on for so long.
const LINGER: Duration = Duration::from_secs(5);

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK_BYTES].into_boxed_slice());
}

/// The app's side.
#[derive(Debug)]
pub(crate) struct Leg {
    /// The socket.
    pub(crate) stream: TcpStream,
    /// What was read from it together with the handshake.
    pub(crate) early: Bytes,
}

/// Relays until both sides have ended, or one has ended and the other lingers, or one is lost or
/// takes nothing of what waits for it for `stall`: it may be gone by then, and nobody would notice.
/// When `hang_up` resolves, the node is told that nothing more comes; what it has to say to the app
/// (a close frame) still arrives.
pub(crate) async fn relay(
    mut app: Leg,
    receiver: Receiver,
    sender: Sender,
    stall: Duration,
    hang_up: impl Future<Output = ()>,
) -> io::Result<()> {
    let (app_reads, app_writes) = app.stream.split();
    let mut to_node = pin!(to_node(app.early, app_reads, sender, stall, hang_up));
    let mut to_app = pin!(to_app(receiver, app_writes, stall));
    let rest = tokio::select! {
        ended = &mut to_node => {
            ended?;
            Box::pin(timeout(LINGER, to_app)).await
        }
        ended = &mut to_app => {
            ended?;
            Box::pin(timeout(LINGER, to_node)).await
        }
    };
    rest.unwrap_or(Ok(()))
}

async fn to_node(
    early: Bytes,
    mut app: ReadHalf<'_>,
    mut node: Sender,
    stall: Duration,
    hang_up: impl Future<Output = ()>,
) -> io::Result<()> {
    let sent = tokio::select! {
        sent = send(early, &mut app, &mut node, stall) => sent,
        () = hang_up => Ok(()),
    };
    node.finish();
    match sent {
        // The node has left, and what it said last is still on its way to the app. A socket that is
        // closed with unread bytes would be reset, and that would be lost.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => discard(&mut app).await,
        sent => sent,
    }
}

/// Sends what the app says until it ends.
async fn send(
    mut early: Bytes,
    app: &mut ReadHalf<'_>,
    node: &mut Sender,
    stall: Duration,
) -> io::Result<()> {
    while !early.is_empty() {
        let room = ready(node, stall).await?;
        node.send(early.split_to(early.len().min(room)));
    }
    drop(early);
    loop {
        let room = ready(node, stall).await?;
        let chunk = read(app, room, Bytes::copy_from_slice).await?;
        if chunk.is_empty() {
            return Ok(());
        }
        node.send(chunk);
    }
}

/// How much the tunnel takes. A tunnel that takes something, as nearly all do, has no room for a
/// timer.
async fn ready(node: &mut Sender, stall: Duration) -> io::Result<usize> {
    match node.ready().now_or_never() {
        Some(room) => room,
        None => Box::pin(timeout(stall, node.ready())).await?,
    }
}

/// Reads to the end, for nobody.
async fn discard(app: &mut ReadHalf<'_>) -> io::Result<()> {
    while read(app, CHUNK_BYTES, <[u8]>::len).await? > 0 {}
    Ok(())
}

/// Reads once, at most so many bytes; nothing at the end. A read that fills less than there is room
/// for is known to be the last for now, so no second one has to find that out.
async fn read<R>(app: &mut ReadHalf<'_>, room: usize, taken: impl Fn(&[u8]) -> R) -> io::Result<R> {
    poll_fn(|context| {
        BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(&mut buffer[..room]);
            let read = std::task::ready!(Pin::new(&mut *app).poll_read(context, &mut buffer));
            Poll::Ready(read.map(|()| taken(buffer.filled())))
        })
    })
    .await
}

/// Writes what comes for the app until it ends.
async fn to_app(mut node: Receiver, mut app: WriteHalf<'_>, stall: Duration) -> io::Result<()> {
    while let Some(mut chunks) = node.recv().await? {
        while !chunks.is_empty() {
            let written = write(&chunks, &app, stall).await?;
            advance(&mut chunks, written);
            node.took(written);
        }
    }
    app.shutdown().await
}

/// Writes once, as soon as the app takes something, and gives up when it takes nothing for `stall`.
async fn write(
    chunks: &VecDeque<Bytes>,
    app: &WriteHalf<'_>,
    stall: Duration,
) -> io::Result<usize> {
    loop {
        let written = {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let mut count = 0;
            for (slice, chunk) in slices.iter_mut().zip(chunks) {
                *slice = IoSlice::new(chunk);
                count += 1;
            }
            app.try_write_vectored(&slices[..count])
        };
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => return Ok(written),
            Err(error) => would_block(error)?,
        }
        Box::pin(timeout(stall, app.writable())).await??;
    }
}

fn advance(chunks: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(chunk) = chunks.front_mut() {
        if written < chunk.len() {
            chunk.advance(written);
            return;
        }
        written -= chunk.len();
        chunks.pop_front();
    }
}

fn would_block(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
