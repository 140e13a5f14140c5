//! What may happen in a search, and by which rules.

/// Something that goes wrong, or that somebody does of their own accord; all in all
/// [`Scenario::faults`] times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A command does not reach the store, or its answer does not come back.
    LostAnswer,
    /// A claim that was given up reaches the store later.
    LateClaim,
    /// A message between nodes is lost.
    LostMessage,
    /// A socket breaks.
    BrokenSocket,
    /// The app moves: it opens its next socket beside the present one.
    Move,
    /// The app is closed.
    Quit,
    /// Instance B of the app is started.
    OtherInstance,
    /// The store is away for a while.
    StoreAway,
    /// The store loses everything.
    StoreEmptied,
    /// The store is replaced by a replica that had not got the last change.
    StoreFailsOver,
    /// The store's clock is set back to the beginning.
    ClockSetBack,
    /// A node's estimate of the store's clock lags behind.
    LaggingEstimate,
    /// A node has no way to the store for a while.
    CutOff,
    /// A node is stopped for a while.
    Pause,
    /// A node is killed.
    Kill,
    /// The link between the router and a node breaks.
    LinkLost,
}

/// A rule that is left out, to see that the search finds what it is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A clean-up in the store removes whoever holds the client ID.
    ReleasesWithoutComparing,
    /// A claim is written again over any other.
    RestoresOverAnything,
    /// An epoch is only above the one before, whatever the store's clock says.
    NoClock,
    /// Whoever says that it is the newer holder is believed.
    DisplacesWithoutComparing,
    /// A socket that an app opens beside the one that serves takes over from anybody.
    MovesDisplace,
    /// Calls are delivered again to apps that remember none.
    RedeliversToAll,
    /// A node that was paused goes on without reading its claims again.
    NeverReadsAgain,
}

/// The rules of one search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Whether instances A and B remember calls.
    pub(crate) resumes: [bool; 2],
    pub(crate) broken: Option<Broken>,
}

/// A search.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) nodes: u8,
    /// Sockets that one instance opens at most.
    pub(crate) sockets: u8,
    /// What may happen, and how often in all.
    pub(crate) may_happen: &'static [Fault],
    pub(crate) faults: u8,
    /// Whether an agent calls.
    pub(crate) call: bool,
    pub(crate) rules: Rules,
}

impl Scenario {
    pub(crate) fn may(&self, fault: Fault) -> bool {
        self.may_happen.contains(&fault)
    }
}
