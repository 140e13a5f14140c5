use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};

use super::{CHUNK_BYTES, Closed, Drain, Opening, Overrun, Receiver, Sender, Trunk, WINDOW_BYTES};
use crate::v1::tunnel_frame::Frame;
use crate::v1::{TunnelAnswer, TunnelFrame, TunnelGone};

/// Both ends of a trunk; frames go over when a test says so.
struct Pair {
    router: Trunk,
    from_router: Drain,
    node: Trunk,
    from_node: Drain,
}

impl Pair {
    fn new() -> Self {
        let (router, from_router) = super::trunk();
        let (node, from_node) = super::trunk();
        Self {
            router,
            from_router,
            node,
            from_node,
        }
    }

    /// Brings over all that there is. Handshakes are accepted.
    fn bring(&mut self) -> Vec<(Receiver, Sender)> {
        let mut accepted = Vec::new();
        loop {
            let mut idle = true;
            while let Some(frame) = next(&mut self.from_router) {
                idle = false;
                if let Some((number, _)) = self.node.handle(frame).unwrap() {
                    accepted.push(self.node.accept(number).unwrap());
                    let status = 101;
                    let headers = Vec::new();
                    self.node.answer(number, TunnelAnswer { status, headers });
                }
            }
            while let Some(frame) = next(&mut self.from_node) {
                idle = false;
                assert_eq!(self.router.handle(frame).unwrap(), None);
            }
            if idle {
                return accepted;
            }
        }
    }

    /// A tunnel: the router's halves and the node's.
    fn tunnel(&mut self) -> ((Receiver, Sender), (Receiver, Sender)) {
        let opening = self.router.open(Vec::new()).unwrap();
        let node = self.bring().pop().unwrap();
        (answered(opening), node)
    }
}

/// The next frame, if there is one.
fn next(drain: &mut Drain) -> Option<TunnelFrame> {
    match poll(drain) {
        Poll::Ready(frame) => frame,
        Poll::Pending => None,
    }
}

/// Polls after all others had their turn.
fn poll(drain: &mut Drain) -> Poll<Option<TunnelFrame>> {
    let mut context = Context::from_waker(Waker::noop());
    match drain.poll_next_unpin(&mut context) {
        Poll::Pending => drain.poll_next_unpin(&mut context),
        ready @ Poll::Ready(_) => ready,
    }
}

fn answered(opening: Opening) -> (Receiver, Sender) {
    let (answer, receiver, sender) = opening.answer().now_or_never().unwrap().unwrap();
    assert_eq!(answer.status, 101);
    (receiver, sender)
}

/// Sends as much as goes; gives how much went.
fn send(sender: &mut Sender, mut bytes: Bytes) -> usize {
    let before = bytes.len();
    while !bytes.is_empty() {
        let Some(room) = sender.ready().now_or_never() else {
            break;
        };
        sender.send(bytes.split_to(bytes.len().min(room.unwrap())));
    }
    before - bytes.len()
}

/// What has arrived; `None` at the end.
fn take(receiver: &mut Receiver) -> Option<Vec<u8>> {
    let mut taken = Vec::new();
    while let Some(chunks) = receiver.recv().now_or_never() {
        let Some(chunks) = chunks.unwrap() else {
            return Some(taken).filter(|taken| !taken.is_empty());
        };
        for chunk in chunks {
            receiver.took(chunk.len());
            taken.extend_from_slice(&chunk);
        }
    }
    Some(taken)
}

#[test]
fn bytes_and_ends_go_both_ways() {
    let mut pair = Pair::new();
    let ((mut from_node, mut to_node), (mut from_app, mut to_app)) = pair.tunnel();
    send(&mut to_node, Bytes::from_static(b"hello"));
    send(&mut to_app, Bytes::from_static(b"hi"));
    pair.bring();
    assert_eq!(take(&mut from_app).unwrap(), b"hello");
    assert_eq!(take(&mut from_node).unwrap(), b"hi");
    send(&mut to_node, Bytes::from_static(b"last"));
    to_node.finish();
    pair.bring();
    assert_eq!(take(&mut from_app).unwrap(), b"last");
    assert_eq!(take(&mut from_app), None);
    // The other direction is as it was.
    send(&mut to_app, Bytes::from_static(b"close"));
    to_app.finish();
    drop((from_app, to_app));
    pair.bring();
    assert_eq!(take(&mut from_node).unwrap(), b"close");
    assert_eq!(take(&mut from_node), None);
    drop((from_node, to_node));
    assert_eq!((pair.router.tunnels(), pair.node.tunnels()), (0, 0));
    assert_eq!(next(&mut pair.from_router), None);
}

#[test]
fn no_more_than_a_window_is_under_way_until_the_reader_takes_it() {
    let mut pair = Pair::new();
    let ((_from_node, mut to_node), (mut from_app, _to_app)) = pair.tunnel();
    let large = Bytes::from(vec![7; 3 * WINDOW_BYTES + 1]);
    let mut sent = send(&mut to_node, large.clone());
    assert_eq!(sent, WINDOW_BYTES);
    pair.bring();
    assert_eq!(send(&mut to_node, large.slice(sent..)), 0);
    let mut taken = 0;
    while taken < large.len() {
        taken += take(&mut from_app).unwrap().len();
        pair.bring();
        sent += send(&mut to_node, large.slice(sent..));
        assert!(sent <= taken + WINDOW_BYTES);
        pair.bring();
    }
    assert_eq!(taken, large.len());
}

#[test]
fn who_is_woken_lets_others_speak_first() {
    let mut pair = Pair::new();
    let ((_from_node, mut to_node), _node) = pair.tunnel();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut poll = || pair.from_router.poll_next_unpin(&mut context);
    assert!(poll().is_pending());
    for text in ["one", "two"] {
        send(&mut to_node, Bytes::from(text));
    }
    let times = || woken.0.load(Ordering::Relaxed);
    let before = times();
    assert!(poll().is_pending());
    assert_eq!(times(), before + 1, "it comes after the others");
    assert!(poll().is_ready() && poll().is_ready() && poll().is_pending());
    assert_eq!(times(), before + 1);
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_large_message_holds_nobody_up() {
    let mut pair = Pair::new();
    let ((_a, mut large), _node_a) = pair.tunnel();
    let ((_b, mut small), _node_b) = pair.tunnel();
    send(&mut large, Bytes::from(vec![7; WINDOW_BYTES]));
    send(&mut small, Bytes::from_static(b"one"));
    send(&mut small, Bytes::from_static(b"two"));
    let mut sizes = Vec::new();
    while let Some(frame) = next(&mut pair.from_router) {
        if let Some(Frame::Data(data)) = frame.frame {
            sizes.push((frame.tunnel, data.len()));
        }
    }
    let chunk = (1, CHUNK_BYTES);
    assert_eq!(sizes, [chunk, (2, 3), chunk, (2, 3), chunk, chunk]);
}

#[test]
fn whoever_leaves_is_known_to_have_left_after_what_it_said() {
    let mut pair = Pair::new();
    let ((mut from_node, mut to_node), (from_app, mut to_app)) = pair.tunnel();
    send(&mut to_app, Bytes::from_static(b"bye"));
    drop((from_app, to_app));
    assert_eq!(pair.node.tunnels(), 0);
    pair.bring();
    assert_eq!(take(&mut from_node).unwrap(), b"bye");
    assert_eq!(take(&mut from_node), None);
    let refused = to_node.ready().now_or_never().unwrap().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
    // It is not told that we leave as well.
    drop((from_node, to_node));
    assert_eq!(next(&mut pair.from_router), None);
}

#[test]
fn an_opening_that_is_given_up_leaves_no_tunnel_behind() {
    let mut pair = Pair::new();
    drop(pair.router.open(Vec::new()).unwrap());
    let (mut from_app, to_app) = pair.bring().pop().unwrap();
    assert_eq!(take(&mut from_app), None);
    drop((from_app, to_app));
    pair.bring();
    assert_eq!((pair.router.tunnels(), pair.node.tunnels()), (0, 0));
}

#[test]
fn a_refusal_is_no_tunnel() {
    let mut pair = Pair::new();
    let opening = pair.router.open(Vec::new()).unwrap();
    let frame = next(&mut pair.from_router).unwrap();
    let (number, _) = pair.node.handle(frame).unwrap().unwrap();
    let headers = Vec::new();
    pair.node.answer(
        number,
        TunnelAnswer {
            status: 503,
            headers,
        },
    );
    pair.bring();
    let (answer, ..) = opening.answer().now_or_never().unwrap().unwrap();
    assert_eq!(answer.status, 503);
    pair.bring();
    assert_eq!((pair.router.tunnels(), pair.node.tunnels()), (0, 0));
}

#[test]
fn when_the_trunk_is_lost_what_had_arrived_is_still_there() {
    let mut pair = Pair::new();
    let ((mut from_node, mut to_node), (mut from_app, _to_app)) = pair.tunnel();
    let opening = pair.router.open(Vec::new()).unwrap();
    send(&mut to_node, Bytes::from_static(b"answer"));
    pair.bring();
    pair.router.lose();
    pair.node.lose();
    let chunks = from_app.recv().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(chunks[0], &b"answer"[..]);
    assert!(from_app.recv().now_or_never().unwrap().is_err());
    assert!(from_node.recv().now_or_never().unwrap().is_err());
    assert!(to_node.ready().now_or_never().unwrap().is_err());
    // Answered in time, or not.
    let _ = opening.answer().now_or_never().unwrap();
    assert_eq!(pair.router.open(Vec::new()).unwrap_err(), Closed);
    assert_eq!(poll(&mut pair.from_router), Poll::Ready(None));
}

#[test]
fn a_trunk_that_finishes_says_all_that_it_has_to_say() {
    let mut pair = Pair::new();
    let (_router, (from_app, mut to_app)) = pair.tunnel();
    send(&mut to_app, Bytes::from(vec![7; WINDOW_BYTES]));
    to_app.finish();
    drop((from_app, to_app));
    pair.node.finish();
    assert_eq!(pair.node.accept(9).unwrap_err(), Closed);
    let mut frames = 0;
    while let Poll::Ready(Some(_)) = poll(&mut pair.from_node) {
        frames += 1;
    }
    assert_eq!(frames, WINDOW_BYTES / CHUNK_BYTES + 1, "chunks, Gone");
}

#[test]
fn a_trunk_that_is_retired_ends_with_its_last_tunnel() {
    let mut pair = Pair::new();
    let (one, node_one) = pair.tunnel();
    let (two, node_two) = pair.tunnel();
    pair.router.retire();
    assert_eq!(pair.router.open(Vec::new()).unwrap_err(), Closed);
    drop((one, node_one));
    pair.bring();
    assert_eq!(poll(&mut pair.from_router), Poll::Pending);
    drop((two, node_two));
    pair.bring();
    assert_eq!(poll(&mut pair.from_router), Poll::Ready(None));
}

#[test]
fn who_sends_more_than_there_is_credit_for_is_cut_off() {
    let mut pair = Pair::new();
    let (_router, _node) = pair.tunnel();
    let frame = |frame| TunnelFrame {
        tunnel: 1,
        frame: Some(frame),
    };
    let window = Frame::Data(vec![7; WINDOW_BYTES].into());
    assert_eq!(pair.node.handle(frame(window)), Ok(None));
    let more = || Frame::Data(Bytes::from_static(b"x"));
    assert_eq!(pair.node.handle(frame(more())), Err(Overrun));
    let gone = Frame::Gone(TunnelGone {});
    assert_eq!(pair.router.handle(frame(gone)), Ok(None));
    assert_eq!(pair.router.handle(frame(more())), Err(Overrun));
    // A number that is in use.
    let open = frame(Frame::Open(crate::v1::TunnelOpen::default()));
    assert_eq!(pair.node.handle(open), Err(Overrun));
    // What comes for a tunnel that is gone is for nobody.
    let late = TunnelFrame {
        tunnel: 9,
        frame: Some(more()),
    };
    assert_eq!(pair.node.handle(late), Ok(None));
}
