//! Scripts: what the store says and when, then exactly what the view is.

use super::*;

const LEASE: Lease = Lease {
    lasts: Duration::from_secs(3),
    tombstone: Duration::from_secs(15),
};

/// One process that watches a store; the script says what the store answers and when.
struct Script(MembershipView);

impl Script {
    fn new() -> Self {
        Self(MembershipView::new(LEASE))
    }

    /// What the store answers `ms` after the start; "!" is a failure.
    fn at(&mut self, ms: u64, said: &[&str]) -> &mut Self {
        let now = Tick(Duration::from_millis(ms));
        if said == ["!"] {
            self.0.handle_failure();
        } else {
            self.0
                .handle_members(now, said.iter().map(|s| parse(s)).collect());
        }
        self
    }

    /// Nodes on the ring.
    fn ring(&mut self, expected: &str) -> &mut Self {
        let names = self.0.view().ring().members().iter();
        let names: Vec<&str> = names.map(MemberId::as_str).collect();
        assert_eq!(names.join(" "), expected);
        self
    }

    /// Members in the view, and those that went.
    fn knows(&mut self, present: &str, lost: &str) -> &mut Self {
        let view = self.0.view();
        let members = view.members().iter().map(run).collect::<Vec<_>>();
        let gone = |l: &Lost| format!("{} {:?} {}", run(&l.member), l.how, l.since.0.as_millis());
        let gone = view.lost().iter().map(gone).collect::<Vec<_>>();
        assert_eq!(
            (members.join(" ").as_str(), gone.join(", ").as_str()),
            (present, lost)
        );
        self
    }

    fn version(&mut self, expected: u64) -> &mut Self {
        assert_eq!(self.0.view().version(), expected);
        self
    }
}

fn run(member: &Member) -> String {
    format!("{}#{:x}", member.id, member.incarnation.0)
}

/// "n1#1 alive 3000", "n1#1 draining 3000", "r1#1 alive 3000", "n1#1 lapsed 100", "n1#1 left 0".
fn parse(text: &str) -> ObservedMember {
    let words: Vec<&str> = text.split([' ', '#']).collect();
    let &[id, incarnation, standing, ms] = words.as_slice() else {
        panic!("{text:?} is no observation");
    };
    let time = Duration::from_millis(ms.parse().unwrap());
    ObservedMember {
        member: Member {
            id: MemberId::parse(id).unwrap(),
            incarnation: incarnation.parse().unwrap(),
            role: if id.starts_with('r') {
                Role::Router
            } else {
                Role::Node
            },
            state: if standing == "draining" {
                MemberState::Draining
            } else {
                MemberState::Ready
            },
            address: format!("{id}:7000"),
            admin_address: format!("{id}:9090"),
            public_url: None,
            version: "0.1.0".into(),
        },
        standing: match standing {
            "lapsed" => Standing::Lapsed { ago: time },
            "left" => Standing::Left { ago: time },
            _ => Standing::Alive { lease: time },
        },
    }
}

#[test]
fn ready_nodes_are_on_the_ring_and_routers_are_not() {
    Script::new()
        .at(
            0,
            &["n1#1 alive 3000", "n2#1 draining 3000", "r1#1 alive 3000"],
        )
        .ring("n1")
        .knows("n1#1 n2#1 r1#1", "");
}

#[test]
fn nothing_new_is_no_new_view() {
    Script::new()
        .version(0)
        .at(0, &["n1#1 alive 3000"])
        .version(1)
        .at(1000, &["n1#1 alive 2900"])
        .version(1)
        .at(2000, &["n1#1 draining 2900"])
        .version(2);
}

#[test]
fn who_says_that_it_goes_is_off_the_ring_at_once() {
    Script::new()
        .at(0, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .ring("n1 n2")
        .at(1000, &["n1#1 draining 3000", "n2#1 alive 3000"])
        .ring("n2")
        .knows("n1#1 n2#1", "")
        .at(2000, &["n1#1 left 300", "n2#1 left 100"])
        .ring("")
        .knows("", "n1#1 Left 1700, n2#1 Left 1900");
}

#[test]
fn a_lapse_in_a_steady_store_counts_at_once() {
    Script::new()
        .at(0, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .at(1000, &["n1#1 alive 3000", "n2#1 alive 2000"])
        .at(2000, &["n1#1 alive 3000", "n2#1 alive 1000"])
        .at(3000, &["n1#1 alive 3000", "n2#1 lapsed 0"])
        .ring("n1")
        .knows("n1#1", "n2#1 Lapsed 3000");
}

#[test]
fn a_lapse_while_the_store_was_away_counts_when_it_has_answered_for_a_lease() {
    let all_lapsed = ["n1#1 lapsed 4000", "n2#1 lapsed 4000", "n3#1 lapsed 4000"];
    Script::new()
        .at(
            0,
            &["n1#1 alive 3000", "n2#1 alive 3000", "n3#1 alive 3000"],
        )
        .at(1000, &["!"])
        .at(6000, &["!"])
        .ring("n1 n2 n3")
        .at(7000, &all_lapsed)
        .ring("n1 n2 n3")
        .at(
            8000,
            &["n1#1 alive 3000", "n2#1 alive 3000", "n3#1 lapsed 5000"],
        )
        .ring("n1 n2 n3")
        .at(
            9000,
            &["n1#1 alive 3000", "n2#1 alive 3000", "n3#1 lapsed 6000"],
        )
        .ring("n1 n2 n3")
        .at(
            10_000,
            &["n1#1 alive 3000", "n2#1 alive 3000", "n3#1 lapsed 7000"],
        )
        .ring("n1 n2");
}

#[test]
fn each_failure_makes_the_lapses_count_afresh() {
    let mut script = Script::new();
    script.at(0, &["n1#1 alive 3000", "n2#1 alive 3000"]);
    for second in 1..20 {
        script
            .at(second * 1000, &["n1#1 alive 3000", "n2#1 lapsed 0"])
            .at(second * 1000 + 500, &["!"])
            .ring("n1 n2");
    }
}

#[test]
fn a_store_that_forgot_all_empties_no_ring() {
    Script::new()
        .at(0, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .at(1000, &[])
        .ring("n1 n2")
        .at(2000, &["n2#1 alive 3000"])
        .ring("n1 n2")
        .at(3000, &["n1#1 alive 3000", "n2#1 alive 2500"])
        .ring("n1 n2")
        .version(1);
}

#[test]
fn who_does_not_come_back_to_a_store_that_forgot_is_gone_after_a_lease() {
    Script::new()
        .at(0, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .at(1000, &["n2#1 alive 3000"])
        .at(3000, &["n2#1 alive 3000"])
        .ring("n1 n2")
        .at(4000, &["n2#1 alive 3000"])
        .ring("n2")
        .knows("n2#1", "n1#1 Lapsed 1000");
}

#[test]
fn a_lapse_before_its_time_is_the_stores_mistake_until_a_lease_has_passed() {
    // The store's clock was set forward, or it came back with an old snapshot.
    let mut script = Script::new();
    for second in 0..5 {
        script.at(second * 1000, &["n1#1 alive 3000", "n2#1 alive 3000"]);
    }
    script
        .at(5000, &["n1#1 lapsed 600000", "n2#1 lapsed 600000"])
        .ring("n1 n2")
        .at(6000, &["n1#1 alive 3000", "n2#1 lapsed 601000"])
        .ring("n1 n2")
        .at(7000, &["n1#1 alive 3000", "n2#1 lapsed 602000"])
        .ring("n1");
}

#[test]
fn the_last_ready_nodes_do_not_lapse() {
    let mut script = Script::new();
    script.at(
        0,
        &["n1#1 alive 3000", "n2#1 alive 3000", "r1#1 alive 3000"],
    );
    for second in 1..30 {
        script.at(second * 1000, &[]).ring("n1 n2");
    }
    script
        .knows("n1#1 n2#1", "")
        .at(30_000, &["n3#1 alive 3000"])
        .ring("n3");
}

#[test]
fn a_pause_of_this_process_is_like_a_failure() {
    Script::new()
        .at(0, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .at(60_000, &["n1#1 alive 3000", "n2#1 lapsed 57000"])
        .ring("n1 n2")
        .at(61_000, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .ring("n1 n2")
        .version(1);
}

#[test]
fn a_new_run_takes_the_place_of_the_old_one() {
    let mut script = Script::new();
    script
        .at(0, &["n1#1 alive 3000"])
        .at(1000, &["n1#2 alive 3000"])
        .ring("n1")
        .knows("n1#2", "n1#1 Replaced 1000");
    let view = script.0.view();
    let n1 = MemberId::parse("n1").unwrap();
    assert!(matches!(
        view.whereabouts(&n1, Incarnation(2)),
        Whereabouts::Present(_)
    ));
    assert!(matches!(
        view.whereabouts(&n1, Incarnation(1)),
        Whereabouts::Lost(_)
    ));
    assert_eq!(view.whereabouts(&n1, Incarnation(3)), Whereabouts::Unknown);
}

#[test]
fn an_old_run_in_the_store_does_not_end_the_living_one() {
    Script::new()
        .at(0, &["n1#2 alive 3000", "n2#1 alive 3000"])
        .at(1000, &["n1#1 left 9000", "n2#1 alive 3000"])
        .ring("n1 n2")
        .at(2000, &["n1#2 alive 3000", "n2#1 alive 3000"])
        .ring("n1 n2");
}

#[test]
fn who_had_lapsed_before_the_start_is_known_as_lost_for_as_long_as_its_tombstone() {
    let mut script = Script::new();
    script
        .at(10_000, &["n1#1 lapsed 4000", "n2#1 alive 3000"])
        .ring("n2")
        .knows("n2#1", "n1#1 Lapsed 6000");
    for second in 11..21 {
        script.at(second * 1000, &["n2#1 alive 3000"]);
    }
    script
        .knows("n2#1", "n1#1 Lapsed 6000")
        .at(21_000, &["n2#1 alive 3000"])
        .knows("n2#1", "");
}

#[test]
fn who_lapsed_and_lives_is_taken_back() {
    let mut script = Script::new();
    for second in 0..4 {
        script.at(second * 1000, &["n1#1 alive 3000", "n2#1 alive 3000"]);
    }
    script
        .at(5000, &["n1#1 alive 3000", "n2#1 alive 1000"])
        .at(6000, &["n1#1 alive 3000", "n2#1 lapsed 0"])
        .ring("n1")
        .at(8000, &["n1#1 alive 3000", "n2#1 alive 3000"])
        .ring("n1 n2")
        .knows("n1#1 n2#1", "");
}
