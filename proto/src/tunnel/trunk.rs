//! The trunk: all tunnels of a pair, and the order in which their frames leave.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::Stream;

use super::half::{self, Opening, Receiver, Sender};
use super::state::{Peer, Tunnel};
use crate::link::Turn;
use crate::v1::{Header, TunnelAnswer, TunnelFrame, TunnelOpen, tunnel_frame};

/// The trunk has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the trunk has ended")]
pub struct Closed;

/// The peer sent what it may not: the trunk must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer sent more than was agreed")]
pub struct Overrun;

/// Creates one end of a trunk.
#[must_use]
pub fn trunk() -> (Trunk, Drain) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            control: VecDeque::new(),
            turns: VecDeque::new(),
            tunnels: HashMap::new(),
            last_number: 0,
            phase: Phase::Open,
            waker: None,
        }),
    });
    let turn = Turn::default();
    (Trunk(shared.clone()), Drain { shared, turn })
}

/// One end of a trunk. Cheap to clone; no clone keeps the stream open.
#[derive(Debug, Clone)]
pub struct Trunk(Arc<Shared>);

/// The stream of frames that tonic sends. Dropping it ends the trunk.
#[derive(Debug)]
pub struct Drain {
    shared: Arc<Shared>,
    turn: Turn,
}

pub(super) struct Shared {
    state: Mutex<State>,
}

struct State {
    /// Frames that carry no bytes of a WebSocket: they go first.
    control: VecDeque<TunnelFrame>,
    /// Tunnels that have something to say, in the order of their turns.
    turns: VecDeque<Arc<Tunnel>>,
    tunnels: HashMap<u64, Arc<Tunnel>>,
    last_number: u64,
    phase: Phase,
    waker: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// No new tunnels; the stream ends with the last one.
    Retired,
    /// The stream ends when all that waits has left.
    Closing,
    /// The stream ends now, or has ended.
    Closed,
}

impl Trunk {
    /// Says who is here: the first frame.
    pub fn introduce(&self, frame: tunnel_frame::Frame) {
        self.0.say(0, frame);
    }

    /// The router's side: passes an app's handshake on.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn open(&self, headers: Vec<Header>) -> Result<Opening, Closed> {
        let number = {
            let mut state = self.0.lock();
            state.last_number += 1;
            state.last_number
        };
        let tunnel = self.enter(number)?;
        let open = tunnel_frame::Frame::Open(TunnelOpen { headers });
        self.0.say(number, open);
        Ok(Opening::new(tunnel))
    }

    /// The node's side: the tunnel of a handshake that is about to be answered with 101.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn accept(&self, number: u64) -> Result<(Receiver, Sender), Closed> {
        Ok(half::split(self.enter(number)?))
    }

    /// The node's side: answers a handshake.
    pub fn answer(&self, number: u64, answer: TunnelAnswer) {
        self.0.say(number, tunnel_frame::Frame::Answer(answer));
    }

    /// Handles a frame of the peer; gives a handshake to answer.
    ///
    /// # Errors
    /// [`Overrun`].
    pub fn handle(&self, frame: TunnelFrame) -> Result<Option<(u64, TunnelOpen)>, Overrun> {
        let number = frame.tunnel;
        let frame = match frame.frame {
            Some(tunnel_frame::Frame::Open(open)) => {
                let is_known = self.0.find(number).is_some();
                return if is_known {
                    Err(Overrun)
                } else {
                    Ok(Some((number, open)))
                };
            }
            Some(frame) => frame,
            None => return Ok(None),
        };
        // What comes for a tunnel that was left in this moment is for nobody.
        let Some(tunnel) = self.0.find(number) else {
            return Ok(None);
        };
        match frame {
            tunnel_frame::Frame::Data(chunk) => tunnel.handle_data(chunk)?,
            tunnel_frame::Frame::Credit(bytes) => tunnel.handle_credit(bytes),
            tunnel_frame::Frame::Answer(answer) => tunnel.handle_answer(answer),
            tunnel_frame::Frame::End(_) => tunnel.handle_peer(Peer::Ended),
            tunnel_frame::Frame::Gone(_) => tunnel.handle_peer(Peer::Gone),
            tunnel_frame::Frame::Hello(_)
            | tunnel_frame::Frame::Welcome(_)
            | tunnel_frame::Frame::Open(_) => {}
        }
        Ok(None)
    }

    /// Takes no more tunnels, and ends the stream with the last one that is there.
    pub fn retire(&self) {
        let mut state = self.0.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Retired;
        }
        let waker = state.close_if_left();
        drop(state);
        wake(waker);
    }

    /// Ends the stream when all that waits has left.
    pub fn finish(&self) {
        let mut state = self.0.lock();
        if matches!(state.phase, Phase::Open | Phase::Retired) {
            state.phase = Phase::Closing;
        }
        let waker = state.waker.take();
        drop(state);
        wake(waker);
    }

    /// Nothing comes and nothing leaves any more: all tunnels end.
    pub fn lose(&self) {
        self.0.lose();
    }

    /// Whether it has ended, or is about to.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.lock().phase != Phase::Open
    }

    /// How many tunnels it carries.
    #[must_use]
    pub fn tunnels(&self) -> usize {
        self.0.lock().tunnels.len()
    }

    fn enter(&self, number: u64) -> Result<Arc<Tunnel>, Closed> {
        let mut state = self.0.lock();
        if state.phase != Phase::Open {
            return Err(Closed);
        }
        let tunnel = Tunnel::new(number, self.0.clone());
        state.tunnels.insert(number, tunnel.clone());
        Ok(tunnel)
    }
}

impl Shared {
    /// Lets a tunnel stand in the turns. The waker is to be woken.
    pub(super) fn queue(&self, tunnel: Arc<Tunnel>) -> Option<Waker> {
        let mut state = self.lock();
        if state.phase == Phase::Closed {
            return None;
        }
        state.turns.push_back(tunnel);
        state.waker.take()
    }

    /// Sends a frame that carries no bytes of a WebSocket.
    pub(super) fn say(&self, number: u64, frame: tunnel_frame::Frame) {
        let mut state = self.lock();
        if state.phase == Phase::Closed {
            return;
        }
        state.control.push_back(TunnelFrame {
            tunnel: number,
            frame: Some(frame),
        });
        let waker = state.waker.take();
        drop(state);
        wake(waker);
    }

    pub(super) fn forget(&self, number: u64) {
        let mut state = self.lock();
        state.tunnels.remove(&number);
        let waker = state.close_if_left();
        drop(state);
        wake(waker);
    }

    fn find(&self, number: u64) -> Option<Arc<Tunnel>> {
        self.lock().tunnels.get(&number).cloned()
    }

    fn lose(&self) {
        let (tunnels, turns, waker) = {
            let mut state = self.lock();
            state.phase = Phase::Closed;
            state.control.clear();
            let turns = std::mem::take(&mut state.turns);
            (
                std::mem::take(&mut state.tunnels),
                turns,
                state.waker.take(),
            )
        };
        drop(turns);
        for tunnel in tunnels.values() {
            tunnel.handle_peer(Peer::Lost);
        }
        wake(waker);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock panics half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends a trunk that was retired and has no tunnels. The waker is to be woken.
    fn close_if_left(&mut self) -> Option<Waker> {
        if self.phase != Phase::Retired || !self.tunnels.is_empty() {
            return None;
        }
        self.phase = Phase::Closing;
        self.waker.take()
    }
}

/// Not while a lock is held.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Shows no frame: handshakes have tokens in them.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        write!(f, "{:?}, {} tunnels", state.phase, state.tunnels.len())
    }
}

impl Stream for Drain {
    type Item = TunnelFrame;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<TunnelFrame>> {
        if self.turn.is_others(context) {
            return Poll::Pending;
        }
        let Self { shared, turn } = &mut *self;
        loop {
            let tunnel = {
                let mut state = shared.lock();
                if state.phase == Phase::Closed {
                    return Poll::Ready(None);
                }
                if let Some(frame) = state.control.pop_front() {
                    return Poll::Ready(Some(frame));
                }
                let Some(tunnel) = state.turns.pop_front() else {
                    if state.phase == Phase::Closing {
                        state.phase = Phase::Closed;
                        return Poll::Ready(None);
                    }
                    match &mut state.waker {
                        Some(waker) => waker.clone_from(context.waker()),
                        none => *none = Some(context.waker().clone()),
                    }
                    turn.over();
                    return Poll::Pending;
                };
                tunnel
            };
            let (frame, again) = tunnel.pop();
            let number = tunnel.number;
            if again {
                // Its own waker is this task.
                shared.lock().turns.push_back(tunnel);
            }
            if frame.is_some() {
                return Poll::Ready(Some(TunnelFrame {
                    tunnel: number,
                    frame,
                }));
            }
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.shared.lose();
    }
}
