//! Whatever happens in whatever order, these hold.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::script::{
    REGISTER, RESUMING, Script, WITH_TOOL, closing, grant, id, json, legacy, request,
};
use crate::channel::{Claimed, Outcome, Output, Successor, Taken, Transmit};
use crate::close::CloseCode;
use crate::ids::CallId;
use crate::limits;
use crate::message::CancelReason;

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    App(String),
    Claimed(Claimed),
    Contents(bool),
    Call(u128, bool, u64, u32),
    Cancel(u128),
    CancelRequest(u128),
    Settled(u128),
    Orphan(u128),
    Attach(u128),
    Pull,
    Written,
    Verified(bool),
    Displaced(bool),
    Closed,
    Close,
}

fn app_text() -> impl Strategy<Value = String> {
    let n = 0..6_u32;
    prop_oneof![
        2 => Just(REGISTER.to_owned()),
        2 => Just(RESUMING.to_owned()),
        2 => Just(WITH_TOOL.to_owned()),
        6 => n.clone().prop_map(|n| format!(r##"{{"type":"result","id":"#{n}","result":{{}}}}"##)),
        2 => n.clone().prop_map(
            |n| format!(r##"{{"type":"error","id":"#{n}","error":{{"code":1,"message":""}}}}"##)
        ),
        6 => (n.clone(), -2..9).prop_map(
            |(n, p)| format!(r##"{{"type":"progress","id":"#{n}","progress":{p}}}"##)
        ),
        1 => n.clone().prop_map(|n| format!(r##"{{"type":"result","id":"#{n}","result":"##)),
        2 => n.prop_map(|n| format!(r##"{{"type":"log","id":"#{n}","level":"info","data":0}}"##)),
        2 => Just(r#"{"type":"ping"}"#.to_owned()),
        1 => Just(r#"{"type":"auth","token":"t"}"#.to_owned()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0..6_u128;
    let claimed = prop::sample::select(vec![Claimed::Taken, Claimed::Taken, Claimed::Unreachable]);
    prop_oneof![
        10 => (0..12_000_u64).prop_map(Step::Wait),
        20 => app_text().prop_map(Step::App),
        6 => claimed.prop_map(Step::Claimed),
        1 => any::<bool>().prop_map(Step::Contents),
        20 => (n.clone(), any::<bool>(), 0..30_000_u64, 0..3_u32)
            .prop_map(|(n, l, d, a)| Step::Call(n, l, d, a)),
        4 => n.clone().prop_map(Step::Cancel),
        2 => n.clone().prop_map(Step::CancelRequest),
        3 => n.clone().prop_map(Step::Settled),
        4 => n.clone().prop_map(Step::Orphan),
        4 => n.prop_map(Step::Attach),
        20 => Just(Step::Pull),
        4 => Just(Step::Written),
        2 => any::<bool>().prop_map(Step::Verified),
        1 => any::<bool>().prop_map(Step::Displaced),
        1 => Just(Step::Closed),
        1 => Just(Step::Close),
    ]
}

fn run(script: &mut Script, step: Step) -> Option<(CallId, bool)> {
    let now = script.now;
    let channel = &mut script.channel;
    match step {
        Step::Wait(ms) => {
            script.wait_ms(ms);
        }
        Step::App(text) => {
            script.app(&text);
        }
        Step::Claimed(claimed) => channel.handle_claimed(now, claimed),
        Step::Contents(known) => {
            let unknown = if known {
                vec![]
            } else {
                vec![crate::registration::Kind::Tools]
            };
            channel.handle_contents(now, &unknown);
        }
        Step::Call(n, is_legacy, deadline_ms, attempt) => {
            let mut request = if is_legacy {
                legacy(n, &n.to_string())
            } else {
                request(n)
            };
            request.call.deadline = Duration::from_millis(deadline_ms);
            request.call.attempt = attempt;
            let begun = channel.call(now, request) == Ok(Taken::Begun);
            return begun.then_some((id(n), attempt > 0));
        }
        Step::Cancel(n) => channel.cancel(now, id(n), CancelReason::Agent),
        Step::CancelRequest(n) => channel.cancel_request(now, "s1", &json(&n.to_string())),
        Step::Settled(n) => channel.settled(now, &[id(n)]),
        Step::Orphan(n) => channel.orphan(now, &[id(n)]),
        Step::Attach(n) => {
            let _ = channel.attach(id(n));
        }
        Step::Pull => {
            let wanted = channel.wants_transmit();
            assert_eq!(channel.poll_transmit(now).is_some(), wanted);
        }
        Step::Written => channel.handle_written(now),
        Step::Verified(good) => {
            let closing = closing(CloseCode::Unauthorized, "no");
            channel.handle_verified(now, good.then(|| grant("tab-1", 20)).ok_or(closing));
        }
        Step::Displaced(same) => channel.handle_displaced(
            now,
            if same {
                Successor::SameInstance
            } else {
                Successor::OtherInstance
            },
        ),
        Step::Closed => channel.handle_closed(now, None),
        Step::Close => channel.close(now, closing(CloseCode::Restart, "bye")),
    }
    None
}

/// A call that was taken and not answered.
struct Open {
    dispatched: bool,
    /// It was delivered before.
    again: bool,
    /// The last progress.
    progress: f64,
}

/// What a driver knows of the calls that were taken.
#[derive(Default)]
struct Ledger {
    open: BTreeMap<CallId, Open>,
    ended: bool,
}

impl Ledger {
    fn taken(&mut self, id: CallId, again: bool) {
        assert!(!self.ended, "a call was taken after the end");
        let call = Open {
            dispatched: false,
            again,
            progress: f64::NEG_INFINITY,
        };
        let before = self.open.insert(id, call);
        assert!(before.is_none(), "a call was taken twice while it was open");
    }

    fn hear(&mut self, output: &Output) {
        assert!(!self.ended, "said after the end: {output:?}");
        match output {
            Output::Dispatched(id) => {
                self.open.get_mut(id).expect("an open call").dispatched = true;
            }
            Output::Progress(id, progress) => {
                let call = self.open.get_mut(id).expect("an open call");
                let value: serde_json::Value = progress.value().unwrap();
                let value = value["progress"].as_f64().unwrap();
                assert!(
                    call.dispatched && value > call.progress,
                    "{value} after {}",
                    call.progress
                );
                call.progress = value;
            }
            Output::Task(id, _) | Output::Log(id, _) => assert!(self.open[id].dispatched),
            Output::Answer(id, outcome) => {
                let call = self.open.remove(id).expect("one answer for each call");
                match outcome {
                    Outcome::Result(_) | Outcome::Error(_) => assert!(call.dispatched),
                    Outcome::Lost | Outcome::TimedOut => assert!(call.dispatched || call.again),
                    Outcome::Unknown => assert!(call.dispatched && call.again),
                    Outcome::NotDelivered => assert!(!call.dispatched && !call.again),
                    Outcome::Cancelled | Outcome::Moved => {}
                }
            }
            Output::Ended(_) => {
                assert!(
                    self.open.is_empty(),
                    "calls without an answer: {:?}",
                    self.open.keys()
                );
                self.ended = true;
            }
            Output::LookUp(_)
            | Output::Claim(_)
            | Output::Registered(_)
            | Output::Verify(_)
            | Output::ResourceUpdated { .. }
            | Output::ListWatched
            | Output::Misread(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn each_call_has_one_answer_and_nothing_follows_the_end(
        registered in any::<bool>(),
        steps in vec(step(), 1..80),
    ) {
        let mut script = Script::connected_for(30);
        let mut ledger = Ledger::default();
        if registered {
            script = script.register(REGISTER);
        }
        for step in steps {
            // Outputs of a step are heard before the next, as drivers do.
            if let Some((id, again)) = run(&mut script, step) {
                ledger.taken(id, again);
            }
            while let Some(output) = script.channel.poll_output() {
                ledger.hear(&output);
            }
            let channel = &script.channel;
            prop_assert_eq!(channel.is_ended(), ledger.ended);
            prop_assert!(channel.queued_bytes() <= limits::QUEUE_BYTES_PER_CONNECTION);
            prop_assert!(channel.calls_in_flight() <= ledger.open.len());
            prop_assert_eq!(channel.poll_timeout().is_none(), ledger.ended);
        }
        script.channel.handle_closed(script.now, None);
        while let Some(output) = script.channel.poll_output() {
            ledger.hear(&output);
        }
        prop_assert!(ledger.ended && ledger.open.is_empty());
        prop_assert_eq!(script.channel.poll_transmit(script.now), None::<Transmit>);
    }
}
