//! From `register` to `registered` (SPEC.md §4.4 to §4.6).
//!
//! One registration is under way at a time. What arrives meanwhile waits, the newest alone, for
//! each replaces the whole; it then gets as many answers as messages it stands for.

use super::{Channel, ClaimInput, Claimed, Output, Registration};
use crate::close::{CloseCode, Closing};
use crate::json::Json;
use crate::message::{ChannelLimits, ClusterMessage, MessageError, Registered};
use crate::register::{self, Offer};
use crate::registration::Kind;
use crate::tick::Tick;

/// Where registering stands.
#[derive(Debug)]
pub(super) struct Registering {
    /// Until when the app must register; none while that is up to us.
    deadline: Option<Tick>,
    under_way: Option<Box<Attempt>>,
    next: Option<Box<Attempt>>,
}

#[derive(Debug)]
struct Attempt {
    offer: Offer,
    /// How many messages this stands for.
    messages: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Queued,
    LookingUp,
    Claiming,
}

impl Registering {
    pub(super) fn new(deadline: Tick) -> Self {
        Self {
            deadline: Some(deadline),
            under_way: None,
            next: None,
        }
    }

    pub(super) fn ended() -> Self {
        Self {
            deadline: None,
            under_way: None,
            next: None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Tick> {
        self.deadline
    }

    /// Takes the attempt out that is at this stage.
    fn take(&mut self, stage: Stage) -> Option<Box<Attempt>> {
        self.under_way.take_if(|attempt| attempt.stage == stage)
    }
}

impl Channel {
    pub(super) fn on_register(&mut self, message: &Json) -> Result<(), MessageError> {
        let offer = register::read(message)?;
        let named = (&offer.instance, offer.connection);
        match self.instance() {
            None => self.identity = Some((offer.instance.clone(), offer.connection)),
            Some(identity) if identity == named => {}
            Some(_) => {
                return Err(MessageError::Invalid {
                    kind: "register",
                    problem: "instance and connection cannot change on a connection",
                });
            }
        }
        self.registering.deadline = None;
        let waited = self.registering.next.take();
        self.registering.next = Some(Box::new(Attempt {
            offer,
            messages: 1 + waited.map_or(0, |attempt| attempt.messages),
            stage: Stage::Queued,
        }));
        self.start_registering();
        Ok(())
    }

    /// The answer to [`Output::LookUp`]: the kinds whose content is not known.
    pub fn handle_contents(&mut self, now: Tick, unknown: &[Kind]) {
        let Some(attempt) = self.registering.take(Stage::LookingUp) else {
            return;
        };
        if unknown.is_empty() {
            self.claim(attempt);
            return;
        }
        if self.registration.is_none() {
            self.registering.deadline = Some(now + self.timings.register_deadline);
        }
        let kinds = unknown.to_vec();
        let message = ClusterMessage::Need { kinds };
        for _ in 0..attempt.messages {
            self.send(now, &message);
        }
        self.start_registering();
    }

    /// The answer to [`Output::Claim`]. A store that is out of reach turns a first registration
    /// away; a further one stands, for the claim does, and the driver writes it when it can.
    pub fn handle_claimed(&mut self, now: Tick, claimed: Claimed) {
        let Some(attempt) = self.registering.take(Stage::Claiming) else {
            return;
        };
        let closing = match claimed {
            Claimed::Late => Closing::new(
                CloseCode::Normal,
                "a newer connection of this instance serves",
            ),
            Claimed::Unreachable if self.registration.is_none() => Closing::new(
                CloseCode::TryLater,
                "the registration cannot be stored at the moment: try again",
            ),
            Claimed::Taken | Claimed::Unreachable => {
                self.registered(now, *attempt);
                self.start_registering();
                return;
            }
        };
        self.close(now, closing);
    }

    fn start_registering(&mut self) {
        if self.ended || self.registering.under_way.is_some() {
            return;
        }
        let Some(mut attempt) = self.registering.next.take() else {
            return;
        };
        if attempt.offer.by_hash.is_empty() {
            self.claim(attempt);
            return;
        }
        attempt.stage = Stage::LookingUp;
        let hashes = attempt.offer.by_hash.clone();
        self.registering.under_way = Some(attempt);
        self.outputs.push_back(Output::LookUp(hashes));
    }

    fn claim(&mut self, mut attempt: Box<Attempt>) {
        attempt.stage = Stage::Claiming;
        let offer = &mut attempt.offer;
        let input = ClaimInput {
            instance: offer.instance.clone(),
            connection: offer.connection,
            moving: offer.moving,
            resume: offer.resume,
            hashes: offer.hashes,
            contents: std::mem::take(&mut offer.contents),
            again: self.registration.is_some(),
        };
        self.registering.under_way = Some(attempt);
        self.outputs.push_back(Output::Claim(Box::new(input)));
    }

    fn registered(&mut self, now: Tick, attempt: Attempt) {
        let Attempt {
            offer, messages, ..
        } = attempt;
        self.registration = Some(Registration {
            hashes: offer.hashes,
            resume: offer.resume,
        });
        let message = ClusterMessage::Registered(Box::new(Registered {
            client_id: self.client_id().clone(),
            hashes: offer.hashes,
            rejected: offer.rejected,
            expires_at: self.grant.expires_at(),
            expires_in: self.token_lasts(now),
            limits: ChannelLimits::from(&*self.timings),
            reconnect_within: self.timings.reconnect_within,
        }));
        for _ in 0..messages {
            self.send(now, &message);
        }
        if !self.ended {
            self.outputs.push_back(Output::Registered(offer.hashes));
            self.handle_watch_changed(now);
        }
    }
}
