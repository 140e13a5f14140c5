//! Deliveries of one call: what follows from what became of each (SPEC.md §7.4).
//!
//! Pure: the last word of a link goes in, the next step comes out. Two rules hold throughout. A
//! call goes to one instance of its app alone once it may have reached it. And of a call that may
//! have reached its app nobody says that it did not run: whatever keeps it from its answer after
//! that is [`Over::Unknown`].

use std::time::Duration;

use bytes::Bytes;
use clientmcp_core::limits::{RUNS_LOST_PER_CALL, RUNS_LOST_PER_CALL_IN_ALL, SUSPECT_WITHIN_MS};
use clientmcp_proto::v1::{self, outcome::Outcome, refused::Why};

use crate::links::{End, Run};
use crate::registrations::App;

/// Where a call stands.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// The instance that the call is for, where that is known.
    app: Option<App>,
    attempt: u32,
    attach_only: bool,
    /// Runs of nodes that were lost under the call since it last made progress, and whether that
    /// was soon after they got it.
    runs_lost: Vec<(Run, bool)>,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// Nothing: this is how it ended.
    Over(Over),
    /// It did not reach its app, which is another one than it was checked for: it is checked again.
    Check,
    /// It is delivered, to whichever node answers for its app.
    Deliver,
    /// The same, and this node is said to answer for it.
    Follow(v1::Elsewhere),
    /// The same, a moment later: the node that was asked could not say.
    Ask,
    /// The same, a moment later, for as long as it takes: there was no room for it, or it was taken
    /// back.
    Repeat,
    /// Its app remembers no calls: it is looked for at this run, and started nowhere.
    Attach(Run),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Over {
    /// With the app's result.
    Result(Bytes),
    /// With the app's error.
    Error(Bytes),
    /// Not delivered: the app is not connected.
    Absent(v1::Absent),
    /// Not delivered: the app has no room for it.
    Busy,
    /// Not delivered: it is too large.
    TooLarge,
    /// Not delivered: its session was ended.
    SessionEnded,
    /// Its deadline has passed.
    TimedOut,
    /// It was cancelled through another router.
    Cancelled,
    /// Nobody can say how.
    Unknown,
}

impl Delivery {
    /// A call that this app may run already.
    pub(crate) fn to(app: App) -> Self {
        Self {
            app: Some(app),
            attempt: 1,
            ..Self::default()
        }
    }

    /// The app that the call is for, where that is known.
    pub(crate) fn app(&self) -> Option<&App> {
        self.app.as_ref()
    }

    /// The call was checked for this app. Does nothing once it may have reached another.
    pub(crate) fn aim(&mut self, app: Option<App>) {
        if !self.may_have_run() {
            self.app = app;
        }
    }

    /// The instance that the call is for; empty if none is known.
    pub(crate) fn instance(&self) -> String {
        let app = self.app.as_ref();
        app.map_or_else(String::new, |app| app.instance.clone())
    }

    /// Whether the app that the call is for remembers calls.
    pub(crate) fn is_remembered(&self) -> bool {
        self.app.as_ref().is_some_and(|app| app.resumes)
    }

    /// 0 for the first delivery.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the call must not be started any more.
    pub(crate) fn attach_only(&self) -> bool {
        self.attach_only
    }

    /// Whether an earlier delivery may have reached the app.
    pub(crate) fn may_have_run(&self) -> bool {
        self.attempt > 0
    }

    /// The call makes progress: whatever was lost before was not its fault.
    pub(crate) fn handle_progress(&mut self) {
        self.runs_lost.clear();
    }

    /// The link to `run` said its last word on the present delivery, which it had `carried` for so
    /// long.
    pub(crate) fn handle_end(&mut self, run: &Run, end: End, carried: Duration) -> Next {
        match end {
            End::Outcome(outcome) => self.handle_outcome(run, outcome),
            End::Moved(to) => self.handle_loss(Next::Follow(to)),
            End::LinkLost {
                not_delivered: true,
            } => self.unless_attached(run, Next::Deliver),
            End::LinkLost {
                not_delivered: false,
            } => self.handle_lost_run(run, carried),
        }
    }

    fn handle_outcome(&mut self, run: &Run, outcome: Outcome) -> Next {
        Next::Over(match outcome {
            Outcome::Result(result) => Over::Result(result),
            Outcome::Error(error) => Over::Error(error),
            Outcome::TimedOut(_) => Over::TimedOut,
            Outcome::Cancelled(_) => Over::Cancelled,
            Outcome::Refused(refused) => return self.handle_refusal(run, refused.why()),
            Outcome::Absent(absent) => self.unless_it_ran(Over::Absent(absent)),
            // What an app does not remember is gone with its socket.
            Outcome::Elsewhere(_) | Outcome::Lost(_) if self.attach_only => Over::Unknown,
            Outcome::Elsewhere(to) => return Next::Follow(to),
            Outcome::NotHere(_) => return self.unless_attached(run, Next::Ask),
            Outcome::Lost(v1::Lost { r#final: true, .. }) => Over::Unknown,
            Outcome::Lost(v1::Lost {
                not_delivered: true,
                ..
            }) => return Next::Repeat,
            Outcome::Lost(_) => return self.handle_loss(Next::Deliver),
        })
    }

    fn handle_refusal(&self, run: &Run, why: Why) -> Next {
        match why {
            Why::Stale | Why::OtherInstance if !self.may_have_run() => Next::Check,
            Why::Stale | Why::OtherInstance => Next::Over(Over::Unknown),
            // There was room for it before, and there will be.
            Why::TooManyCalls | Why::QueueFull | Why::TooManyWait if self.may_have_run() => {
                self.unless_attached(run, Next::Repeat)
            }
            Why::TooManyCalls | Why::QueueFull | Why::TooManyWait => Next::Over(Over::Busy),
            Why::TooLarge => Next::Over(self.unless_it_ran(Over::TooLarge)),
            Why::SessionEnded => Next::Over(self.unless_it_ran(Over::SessionEnded)),
            // Somebody else has sent this ID, which cannot be; or it was sent before.
            Why::Duplicate | Why::Unspecified => Next::Over(Over::Unknown),
        }
    }

    /// The app lost its socket, or has moved. An app that remembers calls gets it again.
    fn handle_loss(&mut self, again: Next) -> Next {
        self.attempt += 1;
        if self.is_remembered() {
            again
        } else {
            Next::Over(Over::Unknown)
        }
    }

    /// The link was lost: the node may be gone, or only the way to it.
    fn handle_lost_run(&mut self, run: &Run, carried: Duration) -> Next {
        let soon = carried < Duration::from_millis(SUSPECT_WITHIN_MS);
        if !self.runs_lost.iter().any(|(lost, _)| lost == run) {
            self.runs_lost.push((run.clone(), soon));
        }
        // A call that kills nodes must not walk through the cluster. It does so soon after it
        // came; a long call that sees several nodes go is more likely to be unlucky.
        let lost_soon = self.runs_lost.iter().filter(|(_, soon)| *soon).count();
        if lost_soon >= RUNS_LOST_PER_CALL || self.runs_lost.len() >= RUNS_LOST_PER_CALL_IN_ALL {
            return Next::Over(Over::Unknown);
        }
        match self.handle_loss(Next::Deliver) {
            Next::Over(_) => {
                self.attach_only = true;
                Next::Attach(run.clone())
            }
            next => next,
        }
    }

    fn unless_it_ran(&self, over: Over) -> Over {
        if self.may_have_run() {
            Over::Unknown
        } else {
            over
        }
    }

    /// What runs at an app that remembers nothing is looked for nowhere else.
    fn unless_attached(&self, run: &Run, next: Next) -> Next {
        if self.attach_only {
            Next::Attach(run.clone())
        } else {
            next
        }
    }
}

#[cfg(test)]
mod tests;
