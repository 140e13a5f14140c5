//! Where a scenario plays: a cluster, its apps, the load, and the notes of what was done to it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::screen::Screen;
use super::{Options, Scenario, Sizes};
use crate::agents::{Agents, Backend, Balancer, Entry, Load, Mix, Plan, Tokens};
use crate::apps::{Fleet, Ledger};
use crate::audit::{Book, Fault, Gaps, Leaks, ProcessState, RouterKill, judge};
use crate::process::{Cluster, Member, Role, Shape};
use crate::report::{Event, FaultReport, Report, load_report};

/// A cluster that is not whole again by then does not get whole.
const WHOLE_WITHIN: Duration = Duration::from_secs(90);
/// From the end of the load to the last look at what is left: what is kept for a while is gone.
const SETTLE: Duration = Duration::from_secs(12);
/// Between two looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many apps that do not come back are named.
const AWAY_NAMED: usize = 20;

/// A run.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) sizes: Sizes,
    pub(super) cluster: Cluster,
    pub(super) fleet: Fleet,
    pub(super) tokens: Tokens,
    pub(super) ledger: Arc<Ledger>,
    pub(super) book: Arc<Book>,
    pub(super) agents: Arc<Agents>,
    /// Decides about faults; the load has a generator of its own.
    pub(super) rng: StdRng,
    /// Calls that the cluster failed in a way that the book does not show.
    pub(super) failed: usize,
    load: Load,
    scenario: Scenario,
    options: Options,
    screen: Screen,
    /// The last known holder of each app.
    holders: Vec<Option<String>>,
    faults: Vec<Fault>,
    router_kills: Vec<RouterKill>,
    events: Vec<Event>,
    notes: Vec<String>,
    complaints: Vec<String>,
}

impl Stage {
    /// Starts a cluster, connects the apps, and begins the load.
    pub(super) async fn start(
        scenario: Scenario,
        sizes: Sizes,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let book = Arc::new(Book::new());
        let screen = Screen::new(book.clone());
        screen.say(&format!("{scenario}, --seed {}: {sizes:?}", options.seed));
        let tokens = Tokens::new();
        let ledger = Arc::new(Ledger::default());
        let cluster = Cluster::start(shape(scenario, sizes, options, &tokens)).await?;
        // Apps that come while a router does not see every node yet land where they do not belong.
        cluster.whole(0, WHOLE_WITHIN).await?;
        let entry = entry(scenario, &cluster).await?;
        let urls = entry.connect_urls();
        let connected = if scenario == Scenario::Takeovers {
            0
        } else {
            sizes.apps
        };
        let fleet = Fleet::start(connected, &urls, &tokens, &ledger).await?;
        let agents = Arc::new(Agents::start(entry, sizes.apps, connected, &tokens, &book).await?);
        cluster.whole(fleet.len(), WHOLE_WITHIN).await?;
        screen.say(&format!("{} apps are connected", fleet.len()));
        let plan = Plan {
            rate: sizes.rate,
            apps: sizes.apps,
            mix: if sizes.short { Mix::SHORT } else { Mix::FULL },
            all_fresh: scenario.loses_routers(),
        };
        let load = Load::start(agents.clone(), book.clone(), options.seed, plan);
        Ok(Self {
            sizes,
            cluster,
            fleet,
            tokens,
            ledger,
            book,
            agents,
            rng: StdRng::seed_from_u64(options.seed.wrapping_add(1)),
            failed: 0,
            load,
            scenario,
            options: options.clone(),
            screen,
            holders: Vec::new(),
            faults: Vec::new(),
            router_kills: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
            complaints: Vec::new(),
        })
    }

    /// Notes a fault that is about to happen; call [`Stage::probe`] once it has.
    pub(super) fn fault(&mut self, what: String, affected: Vec<u32>) {
        let in_flight = self.book.in_flight();
        let hit = |app: &&u32| affected.binary_search(app).is_ok();
        let in_flight_affected = in_flight.iter().filter(hit).count();
        self.event(format!(
            "{what}; {} calls in flight, {in_flight_affected} of them to the {} apps concerned",
            in_flight.len(),
            affected.len(),
        ));
        self.faults.push(Fault {
            at: self.book.now(),
            what,
            affected,
            in_flight: in_flight.len(),
            in_flight_affected,
        });
    }

    /// Calls the apps of the last fault until each answers.
    pub(super) fn probe(&self) {
        if let Some(fault) = self.faults.last() {
            self.load.probe(&fault.affected);
        }
    }

    /// A router is about to be killed.
    pub(super) fn excuse(&mut self, router: usize) {
        self.router_kills.push(RouterKill {
            router: self.cluster.routers[router].addr(),
            at: self.book.now(),
        });
    }

    /// Something happened that is no fault.
    pub(super) fn event(&mut self, text: String) {
        self.screen.say(&text);
        self.events.push(Event {
            at: self.book.now(),
            text,
        });
    }

    /// A line for the report.
    pub(super) fn note(&mut self, text: String) {
        self.screen.say(&text);
        self.notes.push(text);
    }

    /// Something that must not be, beside what the audit of the calls finds.
    pub(super) fn complain(&mut self, text: String) {
        self.screen.say(&text);
        self.complaints.push(text);
    }

    /// How long a fault lasts; in `random`, where the scenario's duration is that of the whole,
    /// three leases.
    pub(super) fn fault_time(&self) -> Duration {
        match self.scenario {
            Scenario::Random if self.sizes.short => Duration::from_secs(4),
            Scenario::Random => Duration::from_secs(9),
            _ => self.sizes.duration,
        }
    }

    /// A member by its role and place.
    pub(super) fn member(&mut self, role: Role, index: usize) -> &mut Member {
        match role {
            Role::Node => &mut self.cluster.nodes[index],
            Role::Router => &mut self.cluster.routers[index],
        }
    }

    /// All apps.
    pub(super) fn all_apps(&self) -> Vec<u32> {
        (0..self.sizes.apps).collect()
    }

    /// The apps that a node holds; as last known, where the store is away.
    pub(super) async fn apps_of(&mut self, node: &str) -> Vec<u32> {
        if let Ok(holders) = self.cluster.holders(self.sizes.apps).await {
            self.holders = holders;
        }
        let held = |(_, holder): &(u32, &Option<String>)| holder.as_deref() == Some(node);
        let apps = (0..).zip(&self.holders).filter(held);
        apps.map(|(app, _)| app).collect()
    }

    /// Waits until the cluster is whole: every process ready, every app online and held by a node.
    pub(super) async fn whole(&mut self) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + WHOLE_WITHIN;
        let lacking = loop {
            let lacking = match self.fleet.len() - self.fleet.online() {
                0 => self.cluster.lacks(self.fleet.len()).await,
                away => Some(format!("{away} apps are not online")),
            };
            if lacking.is_none() || tokio::time::Instant::now() >= deadline {
                break lacking;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let ended: Vec<String> = self
            .cluster
            .members_mut()
            .filter_map(Member::ended_unasked)
            .collect();
        for line in ended {
            self.complain(line);
        }
        let Some(lacking) = lacking else {
            return Ok(());
        };
        for line in self.fleet.away().into_iter().take(AWAY_NAMED) {
            self.complain(line);
        }
        bail!("not whole after {WHOLE_WITHIN:?}: {lacking}")
    }

    /// Ends the load and audits.
    pub(super) async fn finish(mut self) -> Report {
        self.event("the load ends".to_owned());
        self.load.stop().await;
        let leaks = self.leaks().await;
        for leak in leaks.found.clone() {
            self.complain(format!("left over: {leak}"));
        }
        let calls = self.book.all();
        let mut verdict = judge(&calls, &self.ledger.all(), &self.router_kills);
        verdict.failed += self.failed;
        let mut gaps = Gaps::none();
        let mut faults = Vec::new();
        for fault in &self.faults {
            let own = Gaps::of(fault, &calls);
            gaps.add(&own);
            faults.push(FaultReport::new(fault, &own));
        }
        if !gaps.never_back().is_empty() {
            let lost = gaps.never_back().len();
            self.complaints
                .push(format!("{lost} times an app did not come back"));
        }
        let mut report = Report {
            scenario: self.scenario.name().to_owned(),
            seed: self.options.seed,
            sizes: self.sizes,
            load: load_report(&calls, &self.faults),
            verdict,
            gaps,
            faults,
            events: self.events,
            notes: self.notes,
            leaks,
            complaints: self.complaints,
            logs: None,
        };
        if self.options.keep_logs || !report.is_good() {
            self.cluster.folder().keep();
            report.logs = Some(self.cluster.folder().path().to_owned());
        }
        report
    }

    /// What is left once nothing is called any more; looked at again until nothing is, or the
    /// time is up within which everything must go.
    async fn leaks(&self) -> Leaks {
        let deadline = tokio::time::Instant::now() + SETTLE;
        loop {
            let running: Vec<&Member> = self
                .cluster
                .members()
                .filter(|member| member.process().is_some())
                .collect();
            let mut states = Vec::new();
            for member in &running {
                states.push(ProcessState::read(member).await);
            }
            let roles: Vec<Role> = running.iter().map(|member| member.role()).collect();
            let direct = self.scenario == Scenario::Takeovers;
            let leaks = Leaks::find(states, &roles, self.fleet.len(), direct);
            if leaks.found.is_empty() || tokio::time::Instant::now() >= deadline {
                return leaks;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn shape(scenario: Scenario, sizes: Sizes, options: &Options, tokens: &Tokens) -> Shape {
    // A process that stops in a short run has no 35 s.
    let flags: &[&str] = match sizes.short {
        true => &["--pre-drain", "1s", "--drain", "4s"],
        false => &[],
    };
    Shape {
        program: options.program.clone(),
        log: options.log.clone(),
        secret: tokens.secret().to_owned(),
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        nodes: sizes.nodes,
        routers: sizes.routers,
        namespaces: scenario.needs_silence(),
    }
}

async fn entry(scenario: Scenario, cluster: &Cluster) -> anyhow::Result<Entry> {
    let routers = cluster.routers.iter();
    if !scenario.loses_routers() {
        return Ok(Entry::Routers(routers.map(Member::addr).collect()));
    }
    let backends = routers.map(|router| Backend {
        addr: router.addr(),
        admin: router.admin(),
    });
    let balancer = Balancer::start(backends.collect()).await?;
    Ok(Entry::Balancer(Arc::new(balancer)))
}
