use super::*;
use clientmcp_core::ids::{Incarnation, MemberId};

const AT_ONCE: Duration = Duration::ZERO;

fn run(n: u64) -> Run {
    Run {
        member: MemberId::parse("node").unwrap(),
        incarnation: Incarnation(n),
    }
}

fn app(resumes: bool) -> Option<App> {
    Some(App {
        instance: "i1".to_owned(),
        resumes,
    })
}

/// A call that is under way for the first time.
fn first(app: Option<App>) -> Delivery {
    let mut delivery = Delivery::default();
    delivery.aim(app);
    delivery
}

/// A call that was lost with its app's socket and is delivered again.
fn again() -> Delivery {
    let mut delivery = first(app(true));
    assert_eq!(lose_socket(&mut delivery), Next::Deliver);
    delivery
}

/// A call that was lost with its link, of an app that remembers nothing.
fn orphaned() -> Delivery {
    let mut delivery = first(app(false));
    assert_eq!(lose_link(&mut delivery, 1), Next::Attach(run(1)));
    delivery
}

fn lose_socket(delivery: &mut Delivery) -> Next {
    delivery.handle_end(&run(1), lost(false, false), AT_ONCE)
}

fn lose_link(delivery: &mut Delivery, n: u64) -> Next {
    lose_link_after(delivery, n, AT_ONCE)
}

fn lose_link_after(delivery: &mut Delivery, n: u64, carried: Duration) -> Next {
    delivery.handle_end(&run(n), link_lost(false), carried)
}

fn link_lost(not_delivered: bool) -> End {
    End::LinkLost { not_delivered }
}

fn lost(not_delivered: bool, r#final: bool) -> End {
    End::Outcome(Outcome::Lost(v1::Lost {
        not_delivered,
        r#final,
    }))
}

fn refused(why: Why) -> End {
    let mut refused = v1::Refused::default();
    refused.set_why(why);
    End::Outcome(Outcome::Refused(refused))
}

fn elsewhere() -> v1::Elsewhere {
    v1::Elsewhere {
        node_id: "other".to_owned(),
        incarnation: 7,
        epoch: 8,
        address: String::new(),
    }
}

/// All that a link can say last.
fn ends() -> Vec<End> {
    let said = |outcome| End::Outcome(outcome);
    let bytes = Bytes::from_static(b"{}");
    vec![
        said(Outcome::Result(bytes.clone())),
        said(Outcome::Error(bytes)),
        said(Outcome::TimedOut(v1::TimedOut {})),
        said(Outcome::Cancelled(v1::Cancelled {})),
        refused(Why::Stale),
        refused(Why::OtherInstance),
        refused(Why::TooManyCalls),
        refused(Why::QueueFull),
        refused(Why::TooManyWait),
        refused(Why::TooLarge),
        refused(Why::SessionEnded),
        refused(Why::Duplicate),
        refused(Why::Unspecified),
        said(Outcome::Elsewhere(elsewhere())),
        said(Outcome::Absent(v1::Absent::default())),
        said(Outcome::NotHere(v1::NotHere::default())),
        lost(true, false),
        lost(false, true),
        lost(false, false),
        End::Moved(elsewhere()),
        link_lost(true),
        link_lost(false),
    ]
}

/// What follows from each end, in the order of [`ends`], and whether it counts as a delivery.
fn steps(delivery: impl Fn() -> Delivery) -> Vec<(Next, bool)> {
    let step = |end| {
        let mut delivery = delivery();
        let before = delivery.attempt();
        let next = delivery.handle_end(&run(1), end, AT_ONCE);
        (next, delivery.attempt() > before)
    };
    ends().into_iter().map(step).collect()
}

fn over(over: Over) -> (Next, bool) {
    (Next::Over(over), false)
}

/// What the app says holds whatever was lost before.
fn answers() -> Vec<(Next, bool)> {
    let bytes = Bytes::from_static(b"{}");
    vec![
        over(Over::Result(bytes.clone())),
        over(Over::Error(bytes)),
        over(Over::TimedOut),
        over(Over::Cancelled),
    ]
}

/// What follows from a first delivery for which there is proof that it reached no app.
fn first_refusals() -> Vec<(Next, bool)> {
    vec![
        (Next::Check, false),
        (Next::Check, false),
        over(Over::Busy),
        over(Over::Busy),
        over(Over::Busy),
        over(Over::TooLarge),
        over(Over::SessionEnded),
        over(Over::Unknown),
        over(Over::Unknown),
        (Next::Follow(elsewhere()), false),
        over(Over::Absent(v1::Absent::default())),
        (Next::Ask, false),
        (Next::Repeat, false),
        over(Over::Unknown),
    ]
}

#[test]
fn a_first_delivery_to_an_app_that_remembers_calls() {
    let lost = vec![
        (Next::Deliver, true),
        (Next::Follow(elsewhere()), true),
        (Next::Deliver, false),
        (Next::Deliver, true),
    ];
    let expected = [answers(), first_refusals(), lost].concat();
    assert_eq!(steps(|| first(app(true))), expected);
}

#[test]
fn a_first_delivery_to_an_app_that_does_not() {
    for app in [app(false), None] {
        let lost = vec![
            (Next::Over(Over::Unknown), true),
            (Next::Over(Over::Unknown), true),
            (Next::Deliver, false),
            (Next::Attach(run(1)), true),
        ];
        let expected = [answers(), first_refusals(), lost].concat();
        assert_eq!(steps(|| first(app.clone())), expected);
    }
}

#[test]
fn a_later_delivery() {
    let unknown = over(Over::Unknown);
    let rest = vec![
        unknown.clone(),
        unknown.clone(),
        (Next::Repeat, false),
        (Next::Repeat, false),
        (Next::Repeat, false),
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        unknown.clone(),
        (Next::Follow(elsewhere()), false),
        unknown.clone(),
        (Next::Ask, false),
        (Next::Repeat, false),
        unknown,
        (Next::Deliver, true),
        (Next::Follow(elsewhere()), true),
        (Next::Deliver, false),
        (Next::Deliver, true),
    ];
    assert_eq!(steps(again), [answers(), rest].concat());
}

#[test]
fn a_call_that_is_attached_to_is_started_nowhere() {
    for (next, _) in steps(orphaned).into_iter().skip(answers().len()) {
        assert!(
            next == Next::Over(Over::Unknown) || next == Next::Attach(run(1)),
            "{next:?}"
        );
    }
    let mut delivery = orphaned();
    for end in [link_lost(true), link_lost(false)] {
        delivery.handle_end(&run(1), end, AT_ONCE);
        assert!(delivery.attach_only() && delivery.may_have_run());
    }
}

#[test]
fn once_it_may_have_run_it_is_for_one_instance() {
    let mut delivery = first(None);
    let other = App {
        instance: "i2".to_owned(),
        resumes: true,
    };
    delivery.aim(app(true));
    delivery.aim(Some(other.clone()));
    assert_eq!(delivery.instance(), "i2");
    assert_eq!(lose_socket(&mut delivery), Next::Deliver);
    delivery.aim(app(true));
    assert_eq!(delivery.instance(), "i2");
}

#[test]
fn a_call_that_kills_nodes_is_given_up() {
    let mut delivery = first(app(true));
    assert_eq!(lose_link(&mut delivery, 1), Next::Deliver);
    let blip = "the same run again";
    assert_eq!(lose_link(&mut delivery, 1), Next::Deliver, "{blip}");
    assert_eq!(lose_socket(&mut delivery), Next::Deliver);
    assert_eq!(lose_link(&mut delivery, 2), Next::Deliver);
    assert_eq!(lose_link(&mut delivery, 3), Next::Over(Over::Unknown));
}

#[test]
fn a_long_call_outlives_more_nodes_than_a_sudden_one() {
    let long = Duration::from_millis(SUSPECT_WITHIN_MS);
    let mut delivery = first(app(true));
    for n in 1..RUNS_LOST_PER_CALL_IN_ALL as u64 {
        assert_eq!(lose_link_after(&mut delivery, n, long), Next::Deliver);
    }
    let last = RUNS_LOST_PER_CALL_IN_ALL as u64;
    assert_eq!(
        lose_link_after(&mut delivery, last, long),
        Next::Over(Over::Unknown)
    );
}

#[test]
fn progress_clears_the_call_of_suspicion() {
    let mut delivery = first(app(true));
    for n in 0..10 {
        assert_eq!(lose_link(&mut delivery, n), Next::Deliver);
        if n % 2 == 1 {
            delivery.handle_progress();
        }
    }
    assert_eq!(delivery.attempt(), 10);
}
