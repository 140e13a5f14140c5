//! Claims: which node holds a client ID, and how an older holder is told from a newer one
//! (ARCHITECTURE.md, "Epochs fence").

use crate::ids::{ClientId, Incarnation, InstanceId, MemberId};

/// Orders the holders of one client ID: a higher epoch is the newer holder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of a new claim: above everything that is known of, and not below the store's
    /// clock in microseconds, so that a store that lost its data cannot hand one out twice.
    #[must_use]
    pub fn next(stored: Epoch, seen: Epoch, store_micros: u64) -> Epoch {
        Epoch(stored.0.max(seen.0).max(store_micros) + 1)
    }
}

/// The identity of a claim, compared whole: every clean-up is compare-and-delete on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The claim's epoch.
    pub epoch: Epoch,
    /// The node's run that made it.
    pub incarnation: Incarnation,
    /// Random, so that a claim whose answer was lost can be read back.
    pub nonce: u64,
}

/// Who holds a client ID.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The client ID.
    pub client_id: ClientId,
    /// The node.
    pub node: MemberId,
    /// Its claim.
    pub claim: Claim,
    /// The app's instance.
    pub instance: InstanceId,
    /// The connection number within the instance.
    pub connection: u64,
    /// Whether the instance remembers call IDs (`resume`).
    pub resume: bool,
}

/// Which of two sockets of one client ID serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    /// The arriving register takes over.
    Newer,
    /// It is late: its instance has registered with a higher connection number already.
    Late,
}

/// Decides between an arriving register and the present holder (SPEC.md §4.6): the newest
/// connection wins; within one instance the higher connection number does, whatever the order
/// of arrival.
#[must_use]
pub fn precedence(arriving: (&InstanceId, u64), present: (&InstanceId, u64)) -> Precedence {
    if arriving.0 == present.0 && arriving.1 < present.1 {
        Precedence::Late
    } else {
        Precedence::Newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_above_all_that_is_known() {
        assert_eq!(Epoch::next(Epoch(5), Epoch(9), 7), Epoch(10));
        assert_eq!(Epoch::next(Epoch(9), Epoch(5), 7), Epoch(10));
        assert_eq!(Epoch::next(Epoch(0), Epoch(0), 7), Epoch(8));
    }

    #[test]
    fn within_an_instance_the_higher_connection_number_wins() {
        let (a, b) = (
            InstanceId::parse("a").unwrap(),
            InstanceId::parse("b").unwrap(),
        );
        assert_eq!(precedence((&a, 1), (&a, 2)), Precedence::Late);
        assert_eq!(precedence((&a, 2), (&a, 2)), Precedence::Newer);
        assert_eq!(precedence((&a, 3), (&a, 2)), Precedence::Newer);
        assert_eq!(precedence((&b, 1), (&a, 2)), Precedence::Newer);
    }
}
