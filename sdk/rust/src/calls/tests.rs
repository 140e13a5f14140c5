use super::*;

const OLD: SocketId = SocketId(1);
const NEW: SocketId = SocketId(2);

struct Memory {
    calls: Calls,
    now: Instant,
}

impl Memory {
    fn new(bounds: Bounds) -> Self {
        Self {
            calls: Calls::new(bounds),
            now: Instant::now(),
        }
    }

    fn deliver(&mut self, id: u128, attempt: u32, socket: SocketId) -> Delivery {
        let delivered = Delivered {
            id: call(id),
            attempt,
            deadline: Duration::from_secs(1),
            socket,
        };
        self.calls.handle_delivery(delivered, self.now)
    }

    fn finish(&mut self, id: u128, text: &str) -> Option<SocketId> {
        self.calls.handle_finished(call(id), text.into(), self.now)
    }

    fn run(&mut self, id: u128, text: &str) {
        assert_eq!(self.deliver(id, 0, OLD), Delivery::Run);
        self.finish(id, text);
    }
}

fn call(id: u128) -> CallId {
    CallId(uuid::Uuid::from_u128(id))
}

#[test]
fn a_call_runs_once_whatever_is_redelivered() {
    let mut memory = Memory::new(Bounds::default());
    assert_eq!(memory.deliver(1, 0, OLD), Delivery::Run);
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Attached(None));
    assert_eq!(memory.finish(1, "done"), Some(NEW), "the latest delivery");
    assert_eq!(memory.finish(1, "twice"), None);
    assert_eq!(memory.deliver(1, 2, NEW), Delivery::Finished("done".into()));
}

#[test]
fn a_delivery_that_was_overtaken_changes_nothing() {
    let mut memory = Memory::new(Bounds::default());
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Run);
    assert_eq!(memory.deliver(1, 0, OLD), Delivery::Outdated);
    assert_eq!(memory.finish(1, "done"), Some(NEW));
    assert_eq!(memory.deliver(1, 0, OLD), Delivery::Outdated);
    assert_eq!(memory.deliver(1, 3, NEW), Delivery::Finished("done".into()));
    assert_eq!(memory.deliver(1, 2, OLD), Delivery::Outdated);
}

#[test]
fn only_who_may_know_the_latest_delivery_can_cancel_it() {
    let mut memory = Memory::new(Bounds::default());
    memory.deliver(1, 1, NEW);
    assert!(!memory.calls.handle_cancel(call(1), OLD));
    assert!(memory.calls.handle_cancel(call(1), NEW));
    // A node that has the application, and has not delivered the call, may know as well.
    memory.deliver(2, 0, OLD);
    assert!(memory.calls.handle_cancel(call(2), NEW));
}

#[test]
fn that_a_call_becomes_a_task_is_said_again_with_each_delivery() {
    let mut memory = Memory::new(Bounds::default());
    memory.deliver(1, 0, OLD);
    assert_eq!(memory.calls.handle_task(call(1), "task".into()), Some(OLD));
    let again = Delivery::Attached(Some("task".into()));
    assert_eq!(memory.deliver(1, 1, NEW), again);
    assert_eq!(memory.deliver(1, 2, NEW), again);
    memory.calls.handle_cancel(call(1), NEW);
    assert_eq!(memory.calls.handle_task(call(1), "task".into()), None);
    assert_eq!(memory.calls.handle_task(call(2), "task".into()), None);
}

#[test]
fn a_redelivered_call_that_never_came_is_run() {
    let mut memory = Memory::new(Bounds::default());
    assert_eq!(memory.deliver(1, 3, NEW), Delivery::Run);
}

#[test]
fn settled_answers_are_dropped_and_their_ids_kept() {
    let mut memory = Memory::new(Bounds::default());
    memory.run(1, "one");
    memory.run(2, "two");
    memory.calls.handle_settled([call(1), call(9)]);
    assert_eq!(memory.calls.answer_bytes, 3);
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Unknown);
    assert_eq!(memory.deliver(2, 1, NEW), Delivery::Finished("two".into()));
}

#[test]
fn a_cancelled_call_is_not_answered_unless_somebody_asks_again() {
    let mut memory = Memory::new(Bounds::default());
    memory.deliver(1, 0, OLD);
    assert!(memory.calls.handle_cancel(call(1), OLD));
    assert!(!memory.calls.handle_cancel(call(1), OLD), "said once");
    assert!(!memory.calls.handle_cancel(call(2), OLD), "never came");
    assert_eq!(memory.calls.socket_of(call(1)), None);
    assert_eq!(memory.finish(1, "late"), None);
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Finished("late".into()));
}

#[test]
fn answers_are_bounded_in_number_bytes_and_age() {
    let bounds = Bounds {
        answers: 2,
        answer_bytes: 10,
        ..Bounds::default()
    };
    let mut memory = Memory::new(bounds);
    for id in 1..=3 {
        memory.run(id, "abc");
    }
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Unknown, "number");
    assert_eq!(memory.deliver(2, 1, NEW), Delivery::Finished("abc".into()));
    memory.run(4, "0123456789");
    assert_eq!(memory.deliver(3, 1, NEW), Delivery::Unknown, "bytes");
    assert_eq!(memory.calls.answer_bytes, 10);

    memory.now += bounds.answer_age;
    assert_eq!(memory.calls.poll_timeout(), Some(memory.now));
    memory.calls.handle_timeout(memory.now);
    assert_eq!(memory.calls.answer_bytes, 0);
    assert_eq!(memory.deliver(4, 1, NEW), Delivery::Unknown, "age");
}

#[test]
fn an_answer_that_no_memory_holds_is_sent_all_the_same() {
    let mut memory = Memory::new(Bounds {
        answer_bytes: 1,
        ..Bounds::default()
    });
    memory.deliver(1, 0, OLD);
    assert_eq!(memory.finish(1, "large"), Some(OLD));
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Unknown);
}

#[test]
fn after_an_id_was_dropped_too_soon_only_later_ones_are_run_again() {
    let mut memory = Memory::new(Bounds {
        ids: 2,
        ..Bounds::default()
    });
    for id in [10, 20, 30] {
        memory.run(id, "x");
    }
    assert_eq!(memory.deliver(10, 1, NEW), Delivery::Unknown);
    assert_eq!(memory.deliver(5, 1, NEW), Delivery::Unknown);
    assert_eq!(memory.deliver(15, 1, NEW), Delivery::Run, "cannot be it");
    assert_eq!(memory.deliver(4, 0, NEW), Delivery::Run, "no redelivery");
}

#[test]
fn ids_outlive_the_longest_deadline() {
    let mut memory = Memory::new(Bounds::default());
    let start = memory.now;
    memory.run(1, "x");
    let long = Delivered {
        id: call(2),
        attempt: 0,
        deadline: Duration::from_secs(900),
        socket: OLD,
    };
    memory.calls.handle_delivery(long, start);
    memory.now = start + Duration::from_secs(959);
    assert_eq!(memory.deliver(1, 1, NEW), Delivery::Unknown);
    memory.now = start + Duration::from_secs(960);
    memory.calls.handle_timeout(memory.now);
    assert!(memory.calls.ended.is_empty());
    assert_eq!(memory.calls.poll_timeout(), None);
}

#[test]
fn the_room_of_a_burst_is_given_back() {
    let mut memory = Memory::new(Bounds::default());
    for id in 0..10_000 {
        memory.run(id, "x");
    }
    memory.now += Duration::from_secs(180);
    memory.calls.handle_timeout(memory.now);
    assert!(memory.calls.ended_order.capacity() <= 128);
    assert!(memory.calls.ended.capacity() <= 128);
}
