//! The ring: which ready node a client ID belongs to.
//!
//! A pure function of the set of ready node IDs. Every process that has the same set places every
//! client ID alike, on any machine, in any version: the hash, its key and the bytes that go in
//! are fixed here, and a test pins placements. Two processes may have different sets for a
//! moment; the store decides between them (ARCHITECTURE.md, "Consistent hashing decides, the
//! store arbitrates").

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use clientmcp_core::ids::{ClientId, MemberId};
use clientmcp_core::limits::RING_POINTS;
use hashring::HashRing;
use siphasher::sip::SipHasher13;

/// The members of a ring, at [`RING_POINTS`] points each, and the client IDs between them.
#[derive(Clone)]
pub struct Ring {
    members: Vec<MemberId>,
    points: HashRing<Point, FixedSeed>,
    /// The member of each point, clockwise.
    clockwise: Vec<u32>,
    /// Where in `clockwise` a point stands, by member and replica number.
    rank: Vec<u32>,
    /// Where on the circle each point of `clockwise` lies.
    hashes: Vec<u64>,
}

impl Ring {
    /// The ring of these members, whatever their order.
    #[must_use]
    pub fn new<'a>(members: impl IntoIterator<Item = &'a MemberId>) -> Self {
        let sorted: BTreeSet<&MemberId> = members.into_iter().collect();
        let members: Vec<MemberId> = sorted.into_iter().cloned().collect();

        // A place that two points share goes to the one that comes first, by member and number,
        // so that no two points of the ring are equal and the order of the rest is never a choice.
        let mut placed = BTreeMap::new();
        for (member, name) in members.iter().enumerate() {
            for replica in 0..RING_POINTS {
                let point = Point {
                    name: name.clone(),
                    member: narrow(member),
                    replica: narrow(replica),
                };
                placed.entry(FixedSeed.hash_one(&point)).or_insert(point);
            }
        }
        let mut rank = vec![0; members.len() * RING_POINTS];
        for (place, point) in placed.values().enumerate() {
            rank[point.index()] = narrow(place);
        }
        let clockwise = placed.values().map(|point| point.member).collect();
        let hashes = placed.keys().copied().collect();
        let mut points = HashRing::with_hasher(FixedSeed);
        points.batch_add(placed.into_values().collect());
        Self {
            members,
            points,
            clockwise,
            rank,
            hashes,
        }
    }

    /// The members, sorted.
    #[must_use]
    pub fn members(&self) -> &[MemberId] {
        &self.members
    }

    /// Whether nobody is on the ring.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether a member is on the ring.
    #[must_use]
    pub fn contains(&self, member: &MemberId) -> bool {
        self.members.binary_search(member).is_ok()
    }

    /// Where a client ID belongs; `None` only if the ring is empty.
    #[must_use]
    pub fn owner(&self, client_id: &ClientId) -> Option<&MemberId> {
        let point = self.points.get(&Key(client_id))?;
        Some(&self.members[point.member as usize])
    }

    /// All members, each once, in the order in which a client ID would belong to them if those
    /// before were lost; the owner is the first.
    pub fn successors(&self, client_id: &ClientId) -> impl Iterator<Item = &MemberId> {
        let first = self
            .points
            .get(&Key(client_id))
            .map_or(0, |point| self.rank[point.index()] as usize);
        let (before, from) = self.clockwise.split_at(first);
        let mut met = vec![false; self.members.len()];
        from.iter()
            .chain(before)
            .map(|member| *member as usize)
            .filter(move |member| !std::mem::replace(&mut met[*member], true))
            .take(self.members.len())
            .map(|member| &self.members[member])
    }

    /// The part of all client IDs that belongs to each member, sorted by member; together 1.
    #[must_use]
    pub fn shares(&self) -> Vec<(MemberId, f64)> {
        let mut arcs = vec![0_u128; self.members.len()];
        let mut previous = self.hashes.last().copied().unwrap_or_default();
        for (member, hash) in self.clockwise.iter().zip(&self.hashes) {
            // A point owns what lies between it and the point before it.
            arcs[*member as usize] += u128::from(hash.wrapping_sub(previous));
            previous = *hash;
        }
        let whole = 2_f64.powi(64);
        std::iter::zip(&self.members, arcs)
            .map(|(member, arc)| (member.clone(), arc as f64 / whole))
            .collect()
    }
}

impl Default for Ring {
    /// The empty ring.
    fn default() -> Self {
        Self::new([])
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ring").field(&self.members).finish()
    }
}

/// One point of a member.
#[derive(Clone)]
struct Point {
    name: MemberId,
    member: u32,
    replica: u32,
}

impl Point {
    fn index(&self) -> usize {
        self.member as usize * RING_POINTS + self.replica as usize
    }
}

/// Written byte by byte: what the standard library feeds a hasher for a string is not promised.
impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.name.as_str().as_bytes());
        // Keeps "node-1" number 11 apart from "node-11" number 1. No name contains it.
        state.write(&[0]);
        state.write(&self.replica.to_le_bytes());
    }
}

/// A client ID as the ring hashes it.
struct Key<'a>(&'a ClientId);

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_str().as_bytes());
    }
}

/// `SipHash` 1-3 under a key that never changes: it is part of the protocol between processes.
#[derive(Clone)]
struct FixedSeed;

impl BuildHasher for FixedSeed {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(b"clientmcp ring 1")
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("a ring has fewer than 2^32 points")
}
