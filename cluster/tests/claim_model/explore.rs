//! Breadth-first search through all worlds that a scenario leads to.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use crate::rules::{Fault, Scenario};
use crate::steps::{Action, Steps};
use crate::store::Arbiters;
use crate::world::World;
use crate::{calls, invariants};

/// A search that takes more worlds than this was made too large.
const WORLDS: usize = 4_000_000;

/// A world that must not be, and how it comes about.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) what: String,
    pub(crate) trace: Vec<Action>,
    /// So many were looked at.
    pub(crate) worlds: usize,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} (after {} worlds)", self.what, self.worlds)?;
        let mut trace = String::new();
        for (number, action) in self.trace.iter().enumerate() {
            writeln!(trace, "{:>3}  {action:?}", number + 1)?;
        }
        f.write_str(&trace)
    }
}

/// What a search without a violation has seen.
#[derive(Debug)]
pub(crate) struct Explored {
    pub(crate) worlds: usize,
    pub(crate) at_rest: usize,
}

#[derive(Default)]
struct Search {
    worlds: Vec<World>,
    /// The number of each world, by its hash or, where another has that, the next free one.
    numbers: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
    /// How each world was come to.
    came: Vec<(u32, Action)>,
    /// Which world follows from which without a fault.
    progress: Vec<(u32, u32)>,
    at_rest: Vec<u32>,
}

/// Looks at every world that `scenario` leads to. Where nothing goes on by itself any more, all
/// must be in order, and from everywhere it must be possible to get there.
pub(crate) fn explore(scenario: &Scenario) -> Result<Explored, Violation> {
    let mut arbiters = Arbiters::new(scenario.may(Fault::StoreFailsOver));
    let mut search = Search::default();
    let beginning = World::new(scenario.nodes, scenario.faults);
    search.enter(beginning, (0, Action::Begin));
    let mut next = 0;
    while let Some(world) = search.worlds.get(next).copied() {
        let number = next as u32;
        let mut steps = Steps::new(scenario, &mut arbiters, world);
        steps.collect();
        let taken = std::mem::take(&mut steps.taken);
        if let Some((action, what)) = steps.violation.take() {
            return Err(search.violation(number, Some(action), what));
        }
        let mut is_at_rest = true;
        for (action, after, is_fault) in taken {
            if after == world {
                continue;
            }
            let reached = search.enter(after, (number, action));
            if !is_fault {
                is_at_rest = false;
                search.progress.push((number, reached));
            }
        }
        let mut verdict = invariants::check(scenario, &world);
        if is_at_rest {
            search.at_rest.push(number);
            verdict = verdict
                .and_then(|()| invariants::check_at_rest(scenario, &arbiters, &world))
                .and_then(|()| calls::check_at_rest(scenario, &world));
        }
        if let Err(what) = verdict {
            return Err(search.violation(number, None, what));
        }
        next += 1;
        assert!(next < WORLDS, "{} has too many worlds", scenario.name);
    }
    search.check_that_rest_is_reached()?;
    Ok(Explored {
        worlds: search.worlds.len(),
        at_rest: search.at_rest.len(),
    })
}

impl Search {
    fn enter(&mut self, world: World, came: (u32, Action)) -> u32 {
        let mut hash = BuildHasherDefault::<Mixer>::default().hash_one(world);
        while let Some(number) = self.numbers.get(&hash) {
            if self.worlds[*number as usize] == world {
                return *number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.worlds.len() as u32;
        self.numbers.insert(hash, number);
        self.worlds.push(world);
        self.came.push(came);
        number
    }

    fn violation(&self, mut world: u32, last: Option<Action>, what: String) -> Violation {
        let mut trace: Vec<_> = last.into_iter().collect();
        while world != 0 {
            let (from, action) = self.came[world as usize];
            trace.push(action);
            world = from;
        }
        trace.reverse();
        Violation {
            what,
            trace,
            worlds: self.worlds.len(),
        }
    }

    /// Goes backwards from where everything rests.
    fn check_that_rest_is_reached(&mut self) -> Result<(), Violation> {
        self.progress.sort_unstable_by_key(|(_, to)| *to);
        let mut reaches = vec![false; self.worlds.len()];
        let mut next = self.at_rest.clone();
        while let Some(to) = next.pop() {
            if std::mem::replace(&mut reaches[to as usize], true) {
                continue;
            }
            let first = self.progress.partition_point(|(_, t)| *t < to);
            let from = self.progress[first..].iter().take_while(|(_, t)| *t == to);
            next.extend(from.map(|(from, _)| *from));
        }
        match reaches.iter().position(|reaches| !reaches) {
            None => Ok(()),
            Some(world) => {
                let what = "from here on it goes on for ever".to_owned();
                Err(self.violation(world as u32, None, what))
            }
        }
    }
}

/// A hasher that is quick without optimisation as well; nobody chooses what is hashed.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.0 = mixed ^ (mixed >> 32);
    }
}
