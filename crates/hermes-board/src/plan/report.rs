//! The outcome of a tick: the buckets that commands print and programs read.
//!
//! Serialises to the object of `dispatch --json`. Names and shapes that the reference has are its
//! own; the rest is added.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::model::{TaskId, WorkerExit};
use crate::plan::{GuardReason, Misplaced};
use crate::store::AttemptEnd;

/// Buckets of one tick. In a dry run they say what would happen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Cards whose claim expired. Serialises to their number.
    #[serde(serialize_with = "count")]
    pub reclaimed: Vec<TaskId>,
    /// Cards whose worker exited without completing them.
    pub crashed: Vec<TaskId>,
    pub timed_out: Vec<TaskId>,
    /// Cards whose worker sent no heartbeats.
    pub stale: Vec<TaskId>,
    /// Cards that failed too often.
    pub auto_blocked: Vec<TaskId>,
    /// Cards that became ready. Serialises to their number.
    #[serde(serialize_with = "count")]
    pub promoted: Vec<TaskId>,
    pub spawned: Vec<Started>,
    pub skipped_unassigned: Vec<TaskId>,
    /// Ready cards whose assignee is no profile.
    pub skipped_nonspawnable: Vec<TaskId>,
    pub skipped_per_profile_capped: Vec<ProfileCapped>,
    pub auto_assigned_default: Vec<TaskId>,
    /// Cards whose assignee cannot run.
    pub cannot_start: Vec<Hampered>,
    /// Cards whose worker has something to do before it can begin.
    pub delayed: Vec<Hampered>,
    pub rate_limited: Vec<TaskId>,
    pub respawn_guarded: Vec<HeldBack>,
    pub spawn_failed: Vec<NotStarted>,
    /// Another dispatcher is active on this board; nothing was done.
    pub skipped_locked: bool,
    pub skipped_capped: Vec<Capped>,
    pub skipped_scheduled: Vec<TooEarly>,
    /// Cards that ask for another host than this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_placement: Vec<OnOtherHost>,
    pub woken: Vec<TaskId>,
    /// Ready cards that wait for a parent again.
    pub sent_back: Vec<TaskId>,
    /// Cards whose live worker was not recorded.
    pub adopted: Vec<TaskId>,
    pub extended: Vec<TaskId>,
    /// Cards whose worker could not be terminated.
    pub reclaim_deferred: Vec<TaskId>,
    pub lost_race: Vec<TaskId>,
}

/// A worker that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Started {
    pub task_id: TaskId,
    pub assignee: String,
    /// The workspace; empty in a dry run.
    pub workspace: String,
}

/// A card that waits for its profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileCapped {
    pub task_id: TaskId,
    pub assignee: String,
    pub current: usize,
}

/// A card whose worker has something in its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hampered {
    pub task_id: TaskId,
    pub assignee: String,
    #[serde(serialize_with = "text")]
    pub problem: Arc<str>,
    #[serde(serialize_with = "text_or_none")]
    pub hint: Option<Arc<str>>,
}

/// A card that waits for a limit on running cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capped {
    pub task_id: TaskId,
    pub cap: &'static str,
    pub limit: usize,
    pub current: usize,
}

/// A card that the guard holds back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    pub task_id: TaskId,
    pub reason: GuardReason,
    pub until: i64,
}

/// A card that is scheduled for later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TooEarly {
    pub task_id: TaskId,
    pub at: i64,
}

/// A card that asks for another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnOtherHost {
    pub task_id: TaskId,
    #[serde(flatten)]
    pub why: Misplaced,
}

/// A card for which no worker could be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotStarted {
    pub task_id: TaskId,
    pub error: String,
}

impl Report {
    /// The report of a tick that another dispatcher prevented.
    pub fn locked() -> Self {
        Self {
            skipped_locked: true,
            ..Self::default()
        }
    }

    /// The cards whose attempt ended like this.
    pub(crate) fn ended(&mut self, end: &AttemptEnd) -> &mut Vec<TaskId> {
        match end {
            AttemptEnd::Expired { .. } => &mut self.reclaimed,
            AttemptEnd::Silent(_) => &mut self.stale,
            AttemptEnd::Exited {
                exit: WorkerExit::Code(WorkerExit::QUOTA_WALL),
                ..
            } => &mut self.rate_limited,
            AttemptEnd::Exited { .. } => &mut self.crashed,
            AttemptEnd::TimedOut { .. } => &mut self.timed_out,
        }
    }

    /// Whether ready cards wait for a reason that passes by itself, so that the board is not stuck.
    pub fn is_held_up(&self) -> bool {
        self.skipped_locked
            || !self.skipped_capped.is_empty()
            || !self.skipped_per_profile_capped.is_empty()
            || !self.respawn_guarded.is_empty()
            || !self.skipped_scheduled.is_empty()
            || !self.skipped_placement.is_empty()
    }

    /// Whether workers could have been started, none was, and no reason that passes by itself
    /// explains it.
    pub fn is_stuck(&self) -> bool {
        let tried = !self.spawn_failed.is_empty()
            || !self.reclaim_deferred.is_empty()
            || !self.lost_race.is_empty();
        tried && self.spawned.is_empty() && !self.is_held_up()
    }
}

fn text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

#[expect(clippy::ref_option, reason = "the signature is serde's")]
fn text_or_none<S: Serializer>(text: &Option<Arc<str>>, to: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(to)
}

#[expect(clippy::ptr_arg, reason = "the signature is serde's")]
fn count<S: Serializer>(ids: &Vec<TaskId>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(ids.len() as u64)
}
