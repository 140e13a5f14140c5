//! Copies bytes between an app's socket and the node that holds it, without reading a frame.
//!
//! An idle tunnel has no buffers: both directions read into one buffer per thread, and what the
//! other side does not take at once is kept only until it does.

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

/// One read takes at most so much.
const BUFFER_BYTES: usize = 64 * 1024;

/// When one direction has ended, the other may go on for so long.
const LINGER: Duration = Duration::from_secs(5);

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice());
}

/// One side of a tunnel.
#[derive(Debug)]
pub(crate) struct Leg {
    /// The socket.
    pub(crate) stream: TcpStream,
    /// What was read from it together with the handshake.
    pub(crate) early: Bytes,
}

/// Relays until both sides have ended, or one has ended and the other lingers, or a socket
/// breaks or takes nothing of what waits for it for `stall`: its other side may be gone by then,
/// and nobody would notice. When `hang_up` resolves, the node is told that nothing more comes; what it has to say
/// to the app (a close frame) still arrives.
pub(crate) async fn relay(
    mut app: Leg,
    mut node: Leg,
    stall: Duration,
    hang_up: impl Future<Output = ()>,
) -> io::Result<()> {
    let (app_reads, mut app_writes) = app.stream.split();
    let (node_reads, mut node_writes) = node.stream.split();
    let mut to_node = pin!(async {
        tokio::select! {
            copied = copy(&app.early, &app_reads, &mut node_writes, stall) => copied?,
            () = hang_up => {}
        }
        node_writes.shutdown().await
    });
    let mut to_app = pin!(async {
        copy(&node.early, &node_reads, &mut app_writes, stall).await?;
        app_writes.shutdown().await
    });
    let rest = tokio::select! {
        ended = &mut to_node => {
            ended?;
            tokio::time::timeout(LINGER, to_app).await
        }
        ended = &mut to_app => {
            ended?;
            tokio::time::timeout(LINGER, to_node).await
        }
    };
    rest.unwrap_or(Ok(()))
}

/// Copies until `from` ends.
async fn copy(
    early: &[u8],
    from: &ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    stall: Duration,
) -> io::Result<()> {
    write_all(early, to, stall).await?;
    loop {
        // A socket that always has something to read must not keep its thread to itself.
        tokio::task::coop::consume_budget().await;
        from.readable().await?;
        match step(from, to) {
            Ok(Step::Copied) => {}
            Ok(Step::Blocked(rest)) => write_all(&rest, to, stall).await?,
            Ok(Step::Ended) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes as the other side takes it, and gives up when it takes nothing for `stall`.
async fn write_all(mut rest: &[u8], to: &mut WriteHalf<'_>, stall: Duration) -> io::Result<()> {
    while !rest.is_empty() {
        let written = tokio::time::timeout(stall, to.write(rest)).await??;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = &rest[written..];
    }
    Ok(())
}

enum Step {
    /// What was there is written.
    Copied,
    /// The writing side took a part. This is the rest.
    Blocked(Box<[u8]>),
    /// The reading side has ended.
    Ended,
}

/// Reads once and writes what was read, as far as it goes without waiting.
fn step(from: &ReadHalf<'_>, to: &WriteHalf<'_>) -> io::Result<Step> {
    BUFFER.with_borrow_mut(|buffer| {
        let read = from.try_read(buffer)?;
        if read == 0 {
            return Ok(Step::Ended);
        }
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            match to.try_write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Step::Blocked(rest.into()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Step::Copied)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    /// Longer than any reader here waits.
    const STALL: Duration = Duration::from_secs(30);

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (near, far) = tokio::join!(
            TcpStream::connect(listener.local_addr().unwrap()),
            listener.accept()
        );
        (near.unwrap(), far.unwrap().0)
    }

    fn leg(stream: TcpStream, early: &'static [u8]) -> Leg {
        Leg {
            stream,
            early: Bytes::from_static(early),
        }
    }

    #[tokio::test]
    async fn bytes_pass_both_ways_and_the_ends_too() {
        let (mut app, app_leg) = pair().await;
        let (mut node, node_leg) = pair().await;
        let relayed = tokio::spawn(relay(
            leg(app_leg, b"early "),
            leg(node_leg, b"hello "),
            STALL,
            std::future::pending(),
        ));
        // More than the kernel's buffers hold, with a reader that starts late.
        let large = vec![7_u8; 16 * 1024 * 1024];
        let expected = large.len() + 6;
        let writer = tokio::spawn(async move {
            app.write_all(&large).await.unwrap();
            app.shutdown().await.unwrap();
            let mut text = String::new();
            app.read_to_string(&mut text).await.unwrap();
            text
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut received = Vec::new();
        node.read_to_end(&mut received).await.unwrap();
        assert_eq!(received.len(), expected);
        assert!(received.starts_with(b"early \x07"));
        node.write_all(b"bye").await.unwrap();
        drop(node);
        assert_eq!(writer.await.unwrap(), "hello bye");
        relayed.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn hanging_up_lets_the_node_say_its_last_word() {
        let (mut app, app_leg) = pair().await;
        let (mut node, node_leg) = pair().await;
        let (hang_up, hung_up) = tokio::sync::oneshot::channel::<()>();
        let relayed = tokio::spawn(relay(
            leg(app_leg, b""),
            leg(node_leg, b""),
            STALL,
            async move {
                let _ = hung_up.await;
            },
        ));
        hang_up.send(()).unwrap();
        let mut nothing = Vec::new();
        node.read_to_end(&mut nothing).await.unwrap();
        assert!(nothing.is_empty());
        node.write_all(b"close").await.unwrap();
        drop(node);
        let mut text = String::new();
        app.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "close");
        relayed.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_side_that_takes_nothing_ends_the_tunnel() {
        let (app, app_leg) = pair().await;
        let (mut node, node_leg) = pair().await;
        let stall = Duration::from_millis(100);
        let (app_leg, node_leg) = (leg(app_leg, b""), leg(node_leg, b""));
        let relayed = tokio::spawn(relay(app_leg, node_leg, stall, std::future::pending()));
        // The node writes until it is cut off; the app never reads.
        let piece = vec![7_u8; 1024 * 1024];
        while node.write_all(&piece).await.is_ok() {}
        let ended = relayed.await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(app);
    }
}
