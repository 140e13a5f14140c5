//! Collects what may happen next in a world.

use crate::rules::{Fault, Rules, Scenario};
use crate::store::Arbiters;
use crate::world::{ClaimId, SocketId, World};
use crate::{apps, calls, claims, node, outages};

/// One step, as a trace shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Begin,
    AppConnects { app: u8, node: u8 },
    AppMoves { app: u8, node: u8 },
    AppSeesTheEndOf(SocketId),
    AppQuits { app: u8 },
    OtherInstanceConnects { node: u8 },
    SocketBreaks(SocketId),
    NodeSeesTheEndOf(SocketId),
    RegisterArrives(SocketId),
    RegisterIsGivenUp(SocketId),
    Claims(SocketId),
    ClaimsAndTheAnswerIsLost(SocketId),
    ClaimDoesNotArrive(SocketId),
    ClaimIsGivenUp(SocketId),
    LateClaimArrives { node: u8 },
    LateClaimIsLost { node: u8 },
    ClaimsWithoutTheStore(SocketId),
    ClaimsWithALaggingClock(SocketId),
    RefusesForOthersHaveTheStore(SocketId),
    AsksWhoHolds { socket: SocketId, node: u8 },
    AskingIsInVain { socket: SocketId, node: u8 },
    TakesOver(SocketId),
    TellsTheFormerHolder { node: u8, to: u8, by: ClaimId },
    GivesUpTelling { node: u8, to: u8 },
    Releases { node: u8, claim: ClaimId },
    ReleasesAndTheAnswerIsLost { node: u8, claim: ClaimId },
    ReadsBack { node: u8, socket: SocketId },
    GivesBackWhatNobodyHas { node: u8 },
    ReadsItsClaims { node: u8 },
    WritesItsClaimAgain { node: u8 },
    WritesItsClaimAgainAndTheAnswerIsLost { node: u8 },
    HandsOver { node: u8 },
    StoreGoesAway,
    StoreIsBack,
    StoreIsEmptied,
    StoreFailsOver,
    ClockIsSetBack,
    NodeIsCutOff { node: u8 },
    NodeHasTheStoreAgain { node: u8 },
    NodePauses { node: u8 },
    NodeGoesOn { node: u8 },
    NodeIsKilled { node: u8 },
    RouterSends { to: u8 },
    RouterLosesTheLink,
    NodeWritesTheCall(SocketId),
    AppGetsTheCall(SocketId),
    NodeGetsTheAnswer(SocketId),
}

/// The steps out of one world.
pub(crate) struct Steps<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) arbiters: &'a mut Arbiters,
    pub(crate) world: World,
    /// What follows, and whether a fault was needed.
    pub(crate) taken: Vec<(Action, World, bool)>,
    /// The first step that broke a rule.
    pub(crate) violation: Option<(Action, String)>,
}

/// What a step may change and look at.
pub(crate) struct Step<'a> {
    pub(crate) world: World,
    pub(crate) arbiters: &'a mut Arbiters,
    pub(crate) rules: Rules,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(scenario: &'a Scenario, arbiters: &'a mut Arbiters, world: World) -> Self {
        Self {
            scenario,
            arbiters,
            world,
            taken: Vec::new(),
            violation: None,
        }
    }

    /// Collects all of them.
    pub(crate) fn collect(&mut self) {
        apps::app_steps(self);
        for id in self.world.socket_ids() {
            apps::socket_steps(self, id);
            claims::register_steps(self, id);
        }
        for node in self.nodes() {
            claims::errand_steps(self, node);
            if self.world.is_running(node) && self.world.reaches_store(node) {
                claims::keeping_steps(self, node);
            }
            outages::life_steps(self, node);
        }
        outages::store_steps(self);
        if self.scenario.call {
            calls::steps(self);
        }
    }

    /// Nodes of this scenario.
    pub(crate) fn nodes(&self) -> std::ops::Range<u8> {
        0..self.scenario.nodes
    }

    /// This happens in the course of things.
    pub(crate) fn step(
        &mut self,
        action: Action,
        act: impl FnOnce(&mut Step<'_>) -> Result<(), String>,
    ) {
        self.take(action, false, act);
    }

    /// This happens if the fault may.
    pub(crate) fn fault(
        &mut self,
        fault: Fault,
        action: Action,
        act: impl FnOnce(&mut Step<'_>) -> Result<(), String>,
    ) {
        if self.world.faults > 0 && self.scenario.may(fault) {
            self.take(action, true, |step| {
                step.world.faults -= 1;
                act(step)
            });
        }
    }

    fn take(
        &mut self,
        action: Action,
        is_fault: bool,
        act: impl FnOnce(&mut Step<'_>) -> Result<(), String>,
    ) {
        let mut step = Step {
            world: self.world,
            arbiters: self.arbiters,
            rules: self.scenario.rules,
        };
        match act(&mut step) {
            Ok(()) => {
                node::tidy(&mut step.world);
                self.taken.push((action, step.world, is_fault));
            }
            Err(what) => {
                self.violation.get_or_insert((action, what));
            }
        }
    }
}
