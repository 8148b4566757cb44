//! The world of a simulation: a board, machines, dispatchers, and time.

use std::collections::BTreeMap;

use crate::machine::{Machine, SimulatedHost};
use crate::network::{Fault, Link, Network, Wires};
use crate::op::Op;
use crate::{Flaw, Rule, Subject, Violation};
use hermes_board::dispatch::{Step, Tick};
use hermes_board::model::TaskId;
use hermes_board::plan::{Limits, Report};

/// Names that workers can be started for.
const PROFILES: &[&str] = &["alpha", "beta"];

/// What kind of world it is.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) machines: usize,
    pub(crate) dispatchers: usize,
    /// Whether the board is on a server.
    pub(crate) is_shared: bool,
    /// Whether all machines have one name, and their dispatchers the same numbers.
    pub(crate) same_names: bool,
    pub(crate) limits: Limits,
    /// Whether dispatchers exclude each other.
    pub(crate) locks_work: bool,
    pub(crate) flaw: Option<Flaw>,
}

/// The world.
pub(crate) struct World<B> {
    pub(crate) board: B,
    pub(crate) machines: Vec<Machine>,
    pub(crate) dispatchers: Vec<Dispatcher>,
    pub(crate) setting: Setting,
    pub(crate) time: i64,
    pub(crate) cards: Vec<TaskId>,
    /// How often each card may rightly have been completed.
    pub(crate) completions: Vec<u32>,
    /// Things done so far.
    pub(crate) steps: u64,
    /// What dispatchers did, and how often.
    pub(crate) deeds: BTreeMap<&'static str, u64>,
    serials: u32,
    incarnations: u64,
    lock_holder: Option<usize>,
    pub(crate) wires: Wires,
    spoiled: Vec<TaskId>,
}

/// A process that dispatches.
pub(crate) struct Dispatcher {
    pub(crate) host: usize,
    incarnation: u64,
    pub(crate) tick: Option<Tick>,
}

impl<B: Subject> World<B> {
    pub(crate) fn new(mut board: B, setting: Setting) -> Self {
        let mut machines: Vec<Machine> = (0..setting.machines).map(Machine::new).collect();
        if setting.same_names {
            for machine in &mut machines {
                "host".clone_into(&mut machine.name);
            }
        }
        if setting.is_shared {
            board.share();
        }
        let wires = Wires {
            links: vec![Link::default(); setting.machines],
            ..Wires::default()
        };
        let dispatchers = (0..setting.dispatchers)
            .map(|number| Dispatcher {
                host: number % setting.machines.max(1),
                incarnation: number as u64,
                tick: None,
            })
            .collect();
        let time = 1_000_000;
        board.set_now(time);
        board.set_failure_limit(setting.limits.failure_limit);
        Self {
            board,
            machines,
            incarnations: setting.dispatchers as u64,
            dispatchers,
            setting,
            time,
            cards: Vec::new(),
            completions: Vec::new(),
            steps: 0,
            deeds: BTreeMap::new(),
            serials: 0,
            lock_holder: None,
            wires,
            spoiled: Vec::new(),
        }
    }

    /// Lets one thing happen.
    pub(crate) fn apply(&mut self, op: Op) -> Result<(), Violation> {
        self.steps += 1;
        match op {
            Op::Step(who) => {
                if let Some(who) = self.dispatcher(who) {
                    self.step(who)?;
                }
            }
            Op::Kill(who) => {
                if let Some(who) = self.dispatcher(who) {
                    self.kill(who);
                }
            }
            Op::Preview(who) => {
                if let Some(who) = self.dispatcher(who) {
                    self.preview(who)?;
                }
            }
            Op::WholeTick(who) => {
                if let Some(who) = self.dispatcher(who) {
                    self.whole_tick(who)?;
                }
            }
            Op::Wait(seconds) => self.wait(seconds.into()),
            Op::Work(card, which, act) => {
                if let Some(serial) = self.worker_of(card, which) {
                    self.work(serial, act)?;
                }
            }
            Op::Restart(_) | Op::Rename(_) | Op::Refuse(_) | Op::SetClock(..) => {
                self.happens_to_machine(op);
            }
            Op::Create(form) => self.create(form),
            Op::FailWrite => self.board.fail_next(true),
            Op::Cut(_)
            | Op::LoseAnswer(_)
            | Op::Delay(_)
            | Op::Deliver
            | Op::RestartServer
            | Op::FailOver => self.happens_to_network(op),
            _ => self.done_by_hand(op),
        }
        self.note_completions()?;
        self.check()
    }

    fn dispatcher(&self, who: u8) -> Option<usize> {
        let who = usize::from(who);
        (who < self.dispatchers.len()).then_some(who)
    }

    pub(crate) fn machine(&self, host: u8) -> Option<usize> {
        let host = usize::from(host);
        (host < self.machines.len()).then_some(host)
    }

    pub(crate) fn card(&self, card: u8) -> Option<TaskId> {
        self.cards.get(usize::from(card)).cloned()
    }

    /// How far the clock is off that counts for what a machine does.
    pub(crate) fn skew_of(&self, host: usize) -> i64 {
        // On a server it is its own clock.
        let machine = self.machines.get(host).filter(|_| !self.setting.is_shared);
        machine.map_or(0, |machine| machine.skew)
    }

    /// The clock of a machine now counts for the board.
    pub(crate) fn by_clock_of(&mut self, host: usize) {
        let skew = self.skew_of(host);
        self.board.set_now(self.time + skew);
    }

    /// The board as a machine reaches it.
    pub(crate) fn board_from(&mut self, host: usize) -> Network<'_, B> {
        Network {
            board: &mut self.board,
            wires: &mut self.wires,
            host,
        }
    }

    pub(crate) fn wait(&mut self, seconds: i64) {
        self.time += seconds;
        for machine in &mut self.machines {
            machine.uptime += seconds;
        }
    }

    /// Runs `deed` as a dispatcher with its machine at hand.
    fn as_dispatcher<T>(
        &mut self,
        who: usize,
        deed: impl FnOnce(&mut Network<'_, B>, &mut SimulatedHost<'_>, &mut Dispatcher) -> T,
    ) -> Option<T> {
        let host = self.dispatchers.get(who)?.host;
        self.by_clock_of(host);
        let dispatcher = self.dispatchers.get_mut(who)?;
        let mut worker_host = SimulatedHost {
            machine: self.machines.get_mut(host)?,
            dispatcher: dispatcher.incarnation,
            profiles: PROFILES,
            serials: &mut self.serials,
            flaw: self.setting.flaw,
            no_workspace: &self.spoiled,
            is_shared: self.setting.is_shared,
        };
        let mut board = Network {
            board: &mut self.board,
            wires: &mut self.wires,
            host,
        };
        Some(deed(&mut board, &mut worker_host, dispatcher))
    }

    /// Runs `deed` as somebody who types a command on a machine.
    pub(crate) fn as_another_process(
        &mut self,
        host: usize,
        deed: impl FnOnce(&mut Network<'_, B>, &mut SimulatedHost<'_>),
    ) {
        self.by_clock_of(host);
        self.incarnations += 1;
        if let Some(machine) = self.machines.get_mut(host) {
            let mut worker_host = SimulatedHost {
                machine,
                dispatcher: self.incarnations,
                profiles: PROFILES,
                serials: &mut self.serials,
                flaw: self.setting.flaw,
                no_workspace: &self.spoiled,
                is_shared: self.setting.is_shared,
            };
            let mut board = Network {
                board: &mut self.board,
                wires: &mut self.wires,
                host,
            };
            deed(&mut board, &mut worker_host);
        }
    }

    /// Makes the directory of a card impossible, or possible again.
    pub(crate) fn spoil(&mut self, task: TaskId) {
        match self.spoiled.iter().position(|one| *one == task) {
            Some(index) => drop(self.spoiled.swap_remove(index)),
            None => self.spoiled.push(task),
        }
    }

    fn begin(&mut self, who: usize) -> bool {
        if self.setting.locks_work && self.lock_holder.is_some_and(|holder| holder != who) {
            return false;
        }
        self.lock_holder = Some(who);
        // Processes of one machine have different numbers, whatever those of others are.
        let number = if self.setting.same_names {
            who / self.setting.machines.max(1)
        } else {
            who
        };
        let limits = self.setting.limits.clone();
        self.as_dispatcher(who, |_, worker_host, dispatcher| {
            let lock = format!("{}:{}", worker_host.machine.name, 1000 + number);
            dispatcher.tick = Some(Tick::new(limits, lock));
        });
        true
    }

    fn over(&mut self, who: usize) -> Option<Tick> {
        if self.lock_holder == Some(who) {
            self.lock_holder = None;
        }
        let tick = self.dispatchers.get_mut(who)?.tick.take()?;
        for (deed, count) in deeds(tick.report()) {
            if count > 0 {
                *self.deeds.entry(deed).or_default() += count as u64;
            }
        }
        Some(tick)
    }

    fn step(&mut self, who: usize) -> Result<(), Violation> {
        let idle = self
            .dispatchers
            .get(who)
            .is_some_and(|one| one.tick.is_none());
        if idle && !self.begin(who) {
            return Ok(());
        }
        let before = self.claims_elsewhere(who);
        let busy = self.in_progress();
        let stepped = self.as_dispatcher(who, |board, worker_host, dispatcher| {
            let tick = dispatcher.tick.as_mut()?;
            Some(tick.step(board, worker_host))
        });
        match stepped.flatten() {
            Some(Ok(Step::More)) | None => {}
            // A failed write ends a look like anything else that stops a dispatcher.
            Some(Ok(Step::Done) | Err(_)) => {
                self.over(who);
            }
        }
        self.limits_hold(&busy)?;
        self.no_live_claim_was_taken(who, &before)
    }

    fn kill(&mut self, who: usize) {
        self.over(who);
        self.incarnations += 1;
        let incarnation = self.incarnations;
        if let Some(dispatcher) = self.dispatchers.get_mut(who) {
            let old = std::mem::replace(&mut dispatcher.incarnation, incarnation);
            if let Some(machine) = self.machines.get_mut(dispatcher.host) {
                machine.orphan(old);
            }
        }
    }

    fn preview(&mut self, who: usize) -> Result<(), Violation> {
        let limits = self.setting.limits.clone();
        let writes = self.setting.flaw == Some(Flaw::DryRunWrites);
        let unchanged = self.as_dispatcher(who, |board, worker_host, _| {
            let before = (board.board.image(), format!("{:?}", worker_host.machine));
            let plan = Tick::preview(&limits, board, worker_host);
            if writes && plan.is_ok_and(|plan| !plan.report.promoted.is_empty()) {
                board.board.promote_satisfied(limits.failure_limit).ok();
            }
            before == (board.board.image(), format!("{:?}", worker_host.machine))
        });
        if unchanged == Some(false) {
            return Err(Violation::new(
                Rule::DryRunChangesNothing,
                "a dry run changed something",
            ));
        }
        Ok(())
    }

    /// What a dry run promises is what happens, when nothing interferes.
    pub(crate) fn whole_tick(&mut self, who: usize) -> Result<(), Violation> {
        let busy = self
            .dispatchers
            .get(who)
            .is_some_and(|one| one.tick.is_some());
        if busy || (self.setting.locks_work && self.lock_holder.is_some()) {
            return Ok(());
        }
        let limits = self.setting.limits.clone();
        let promised = self
            .as_dispatcher(who, |board, worker_host, _| {
                Tick::preview(&limits, board, worker_host).ok()
            })
            .flatten()
            .map(|plan| plan.report);
        let reliable = self.is_reliable();
        if !self.begin(who) {
            return Ok(());
        }
        loop {
            self.steps += 1;
            let busy = self.in_progress();
            let stepped = self.as_dispatcher(who, |board, worker_host, dispatcher| {
                let tick = dispatcher.tick.as_mut()?;
                Some(tick.step(board, worker_host))
            });
            self.limits_hold(&busy)?;
            match stepped.flatten() {
                Some(Ok(Step::More)) => self.check()?,
                _ => break,
            }
        }
        let done = self.over(who).map(|tick| comparable(tick.report().clone()));
        let promised = promised.map(comparable);
        if reliable && promised != done {
            return Err(Violation::new(
                Rule::DryRunIsRight,
                format!("promised {promised:?}\nbut did   {done:?}"),
            ));
        }
        Ok(())
    }

    /// Whether everything that is tried now works.
    fn is_reliable(&self) -> bool {
        let machines = &self.machines;
        let is_sound = |link: &Link| !link.is_cut && link.next.is_none();
        !self.board.will_fail()
            && self.wires.links.iter().all(is_sound)
            && self.spoiled.is_empty()
            && machines.iter().all(|machine| !machine.refuses)
            && machines
                .iter()
                .flat_map(|machine| &machine.workers)
                .all(|worker| !worker.stuck)
    }

    /// Makes everything work that is tried from now on.
    pub(crate) fn become_reliable(&mut self) {
        self.spoiled.clear();
        self.wires.links.fill(Link::default());
        self.board.fail_next(false);
        for machine in &mut self.machines {
            machine.refuses = false;
            // Two machines that never agree what time it is take each other's cards for ever.
            machine.skew = 0;
            machine.workers.iter_mut().for_each(|one| one.stuck = false);
        }
        for who in 0..self.dispatchers.len() {
            self.over(who);
        }
    }

    fn happens_to_network(&mut self, op: Op) {
        if !self.setting.is_shared {
            return;
        }
        match op {
            Op::Cut(host) => {
                let host = usize::from(host);
                if let Some(link) = self.wires.links.get_mut(host) {
                    link.is_cut = !link.is_cut;
                    link.next = None;
                }
                // The server ends the turn of a connection that is gone.
                let holder = self.lock_holder.and_then(|who| self.dispatchers.get(who));
                if holder.is_some_and(|holder| holder.host == host) {
                    self.lock_holder = None;
                }
            }
            Op::LoseAnswer(host) => self.arm(host, Fault::LosesAnswer),
            Op::Delay(host) => self.arm(host, Fault::Delays),
            Op::Deliver => {
                if let Some(letter) = self.wires.delayed.pop_front() {
                    self.by_clock_of(0);
                    self.board_from(0).deliver(letter);
                }
            }
            Op::RestartServer | Op::FailOver => {
                self.wires.delayed.clear();
                self.lock_holder = None;
                if op == Op::FailOver {
                    self.board.fail_over();
                }
            }
            _ => {}
        }
    }

    fn arm(&mut self, host: u8, fault: Fault) {
        if let Some(link) = self.wires.links.get_mut(usize::from(host)) {
            link.next = Some(fault);
        }
    }

    fn happens_to_machine(&mut self, op: Op) {
        match op {
            Op::Restart(host) => {
                let Some(host) = self.machine(host) else {
                    return;
                };
                for who in 0..self.dispatchers.len() {
                    if self
                        .dispatchers
                        .get(who)
                        .is_some_and(|one| one.host == host)
                    {
                        self.kill(who);
                    }
                }
                if let Some(machine) = self.machines.get_mut(host) {
                    machine.restart();
                }
            }
            Op::Rename(host) => {
                let name = format!("name{}", self.steps);
                if let Some(machine) = self.machines.get_mut(usize::from(host)) {
                    machine.name = name;
                }
            }
            Op::Refuse(host) => {
                if let Some(machine) = self.machines.get_mut(usize::from(host)) {
                    machine.refuses = !machine.refuses;
                }
            }
            Op::SetClock(host, by) => {
                if let Some(machine) = self.machines.get_mut(usize::from(host)) {
                    machine.skew = by.into();
                }
            }
            _ => {}
        }
    }
}

fn deeds(report: &Report) -> [(&'static str, usize); 17] {
    [
        ("reclaimed", report.reclaimed.len()),
        ("crashed", report.crashed.len()),
        ("timed_out", report.timed_out.len()),
        ("stale", report.stale.len()),
        ("auto_blocked", report.auto_blocked.len()),
        ("promoted", report.promoted.len()),
        ("spawned", report.spawned.len()),
        ("auto_assigned_default", report.auto_assigned_default.len()),
        ("rate_limited", report.rate_limited.len()),
        ("respawn_guarded", report.respawn_guarded.len()),
        ("spawn_failed", report.spawn_failed.len()),
        ("woken", report.woken.len()),
        ("sent_back", report.sent_back.len()),
        ("adopted", report.adopted.len()),
        ("extended", report.extended.len()),
        ("reclaim_deferred", report.reclaim_deferred.len()),
        ("lost_race", report.lost_race.len()),
    ]
}

/// A report without what a promise cannot know and without order where there is none.
fn comparable(mut report: Report) -> Report {
    for started in &mut report.spawned {
        started.workspace.clear();
    }
    report.promoted.sort();
    report.woken.sort();
    report
}
