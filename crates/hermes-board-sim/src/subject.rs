//! A board that can be simulated: besides its operations it shows what the invariants are about.

use crate::board::SimulatedBoard;
use hermes_board::model::{RunId, Status, TaskId};
use hermes_board::store::BoardStore;

/// A board under simulation.
pub(crate) trait Subject: BoardStore {
    /// Everything that is in it.
    type Image: PartialEq;

    /// After how many steps everything is looked at; each step, unless looking is slow.
    const LOOK_EVERY: u64 = 1;

    /// Whether it can play a board on a server.
    const CAN_BE_SHARED: bool = false;

    /// From now on it is on a server.
    fn share(&mut self) {}

    /// What was not forced to the disk is gone.
    fn fail_over(&mut self) {}

    /// Sets the failures after which a card without a number of its own is blocked.
    fn set_failure_limit(&mut self, limit: i64);

    /// Sets the time by which it counts.
    fn set_now(&mut self, now: i64);

    /// Lets the next write fail, or not.
    fn fail_next(&mut self, fails: bool);

    /// Whether the next write fails.
    fn will_fail(&self) -> bool;

    /// Everything that is in it, to be compared later.
    fn image(&self) -> Self::Image;

    /// Shows each of these cards.
    fn each_card(&self, ids: &[TaskId], look: &mut dyn FnMut(CardView<'_>));

    /// Attempt in progress at a card, the end of its claim, and when it began.
    fn claim_of(&self, id: &TaskId) -> Option<(RunId, Option<i64>, Option<i64>)>;
}

/// What the rules look at.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column that is filled or not"
)]
pub(crate) struct CardView<'a> {
    pub(crate) id: TaskId,
    pub(crate) status: Status,
    pub(crate) assignee: Option<&'a str>,
    /// Id of the host of the attempt in progress.
    pub(crate) host: Option<&'a str>,
    pub(crate) has_lock: bool,
    pub(crate) has_pid: bool,
    pub(crate) run: Option<RunId>,
    pub(crate) open_runs: usize,
    pub(crate) completions: u32,
    pub(crate) failures: i64,
    pub(crate) max_retries: Option<i64>,
    pub(crate) sticky: bool,
    pub(crate) scheduled_at: Option<i64>,
    pub(crate) has_open_parent: bool,
}

impl Subject for SimulatedBoard {
    type Image = Self;

    const CAN_BE_SHARED: bool = true;

    fn share(&mut self) {
        self.is_shared = true;
    }

    fn fail_over(&mut self) {
        if let Some(kept) = self.kept.take() {
            let now = self.now;
            *self = *kept;
            self.now = now;
        }
    }

    fn set_failure_limit(&mut self, limit: i64) {
        self.failure_limit = limit;
    }

    fn set_now(&mut self, now: i64) {
        self.now = now;
    }

    fn fail_next(&mut self, fails: bool) {
        self.fails_next = fails;
    }

    fn will_fail(&self) -> bool {
        self.fails_next
    }

    fn image(&self) -> Self {
        self.clone()
    }

    fn each_card(&self, ids: &[TaskId], look: &mut dyn FnMut(CardView<'_>)) {
        for card in ids.iter().filter_map(|id| self.card(id).ok()) {
            look(CardView {
                id: card.id.clone(),
                status: card.status,
                assignee: card.assignee.as_deref(),
                host: card.host.as_deref(),
                has_lock: card.lock.is_some(),
                has_pid: card.pid.is_some(),
                run: card.run,
                // Here an attempt is open exactly if the card points at it.
                open_runs: usize::from(card.run.is_some()),
                completions: card.completions,
                failures: card.failures,
                max_retries: card.max_retries,
                sticky: card.sticky,
                scheduled_at: card.scheduled_at,
                has_open_parent: self.has_open_parent(card),
            });
        }
    }

    fn claim_of(&self, id: &TaskId) -> Option<(RunId, Option<i64>, Option<i64>)> {
        let card = self.card(id).ok()?;
        Some((card.run?, card.expires, card.run_started_at))
    }
}
