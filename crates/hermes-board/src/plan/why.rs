//! What the planner thinks of one card, in words and for programs.

use serde::Serialize;

use crate::model::{Status, Task, TaskId, WorkerExit};
use crate::plan::{Action, EndWorker, GuardReason, Plan};
use crate::store::ClaimFrom;

/// One thing a dispatcher would do about a card, or the reason why it would do nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// A worker starts.
    Starts {
        /// For whom.
        assignee: String,
        /// Whether it reviews.
        review: bool,
        /// Whether what an earlier attempt left running is ended first.
        ends_leftovers: bool,
    },
    /// It is given to the configured profile.
    AssignedByDefault {
        /// The profile.
        assignee: String,
    },
    /// Nobody was given it.
    Unassigned,
    /// It is given to a name that is no profile.
    NotSpawnable,
    /// Its profile has enough to do.
    ProfileBusy {
        /// The profile.
        assignee: String,
        /// How many cards it works on.
        current: usize,
    },
    /// There is no room.
    NoRoom {
        /// The limit that was reached.
        cap: &'static str,
        /// Its value.
        limit: usize,
        /// How many cards are in progress.
        current: usize,
    },
    /// The guard against hasty repetition holds it back.
    HeldBack {
        /// Why.
        reason: GuardReason,
        /// When that is over.
        until: i64,
    },
    /// Its moment has not come.
    TooEarly {
        /// When it comes.
        at: i64,
    },
    /// Its moment has come.
    Wakes,
    /// It waits for nothing any more.
    Promoted,
    /// It is ready although a parent is open, and waits again.
    SentBack,
    /// Its worker was found without being on record.
    Adopted,
    /// Its claim ran out while its worker lives.
    ClaimExtended {
        /// The new end of the claim.
        until: i64,
    },
    /// Its claim ran out.
    Reclaimed {
        /// Whether its worker is ended.
        ends_worker: bool,
    },
    /// Its worker gave no sign of life.
    Silent {
        /// For how long it has been running.
        elapsed_seconds: i64,
    },
    /// Its worker ended without finishing it.
    WorkerEnded {
        /// With this code.
        exit_code: Option<i32>,
        /// By this signal.
        signal: Option<i32>,
    },
    /// Its worker takes too long.
    TimedOut {
        /// How long it ran.
        elapsed_seconds: i64,
        /// How long it might.
        limit_seconds: i64,
    },
    /// It failed too often.
    FailedTooOften,
    /// Somebody works on it, and all is well.
    InProgress {
        /// Who.
        lock: Option<String>,
        /// Until when the claim lasts.
        until: Option<i64>,
    },
    /// It stands as ready and yet somebody holds it.
    ClaimLeft {
        /// Who.
        lock: String,
    },
    /// It waits for these.
    WaitsFor {
        /// Open parents.
        parents: Vec<TaskId>,
    },
    /// It is parked.
    Parked {
        /// Until when; `None` until somebody unblocks it.
        until: Option<i64>,
    },
    /// It waits for a person.
    Blocked {
        /// Why, as a kind.
        kind: Option<String>,
        /// Failures in a row.
        failures: i64,
        /// The last one.
        last_error: Option<String>,
    },
    /// It needs to be specified.
    Triage,
    /// It is done or put away.
    Finished,
    /// A newer program gave it a status that this one does not know.
    UnknownStatus {
        /// The word.
        status: String,
    },
}

impl Plan {
    /// What this plan does about a card, in order; empty if the card is none of its concern.
    pub fn why(&self, id: &TaskId) -> Vec<Verdict> {
        let mut verdicts: Vec<Verdict> = Vec::new();
        for action in &self.actions {
            verdicts.extend(self.verdict_of(action, id));
        }
        verdicts.extend(self.reason_against(id));
        verdicts
    }

    fn verdict_of(&self, action: &Action, id: &TaskId) -> Option<Verdict> {
        match action {
            Action::Adopt { worker } if worker.task == *id => Some(Verdict::Adopted),
            Action::Extend { task, until, .. } if task == id => {
                Some(Verdict::ClaimExtended { until: *until })
            }
            Action::Reclaim { task, end, .. } if task == id => Some(Verdict::Reclaimed {
                ends_worker: matches!(end, EndWorker::Needed(_)),
            }),
            Action::ReclaimSilent { task, silence, .. } if task == id => Some(Verdict::Silent {
                elapsed_seconds: silence.elapsed_seconds,
            }),
            Action::RecordExit { task, exit, .. } if task == id => Some(Verdict::WorkerEnded {
                exit_code: match exit {
                    WorkerExit::Code(code) => Some(*code),
                    WorkerExit::Signal(_) | WorkerExit::Unknown => None,
                },
                signal: match exit {
                    WorkerExit::Signal(signal) => Some(*signal),
                    WorkerExit::Code(_) | WorkerExit::Unknown => None,
                },
            }),
            Action::TimeOut {
                task,
                elapsed_seconds,
                limit_seconds,
                ..
            } if task == id => Some(Verdict::TimedOut {
                elapsed_seconds: *elapsed_seconds,
                limit_seconds: *limit_seconds,
            }),
            Action::WakeDue { expected } if expected.contains(id) => Some(Verdict::Wakes),
            Action::Promote { expected, .. } if expected.contains(id) => Some(Verdict::Promoted),
            Action::AssignDefault { task, assignee } if task == id => {
                Some(Verdict::AssignedByDefault {
                    assignee: assignee.as_str().to_owned(),
                })
            }
            Action::SendBack { task } if task == id => Some(Verdict::SentBack),
            Action::Start {
                task,
                from,
                leftover,
            } if task == id => Some(Verdict::Starts {
                assignee: self.assignee_of_start(id),
                review: *from == ClaimFrom::Review,
                ends_leftovers: leftover.is_some(),
            }),
            _ => None,
        }
    }

    fn assignee_of_start(&self, id: &TaskId) -> String {
        let started = self.report.spawned.iter().find(|row| row.task_id == *id);
        started.map(|row| row.assignee.clone()).unwrap_or_default()
    }

    fn reason_against(&self, id: &TaskId) -> Option<Verdict> {
        let report = &self.report;
        if report.auto_blocked.contains(id) {
            return Some(Verdict::FailedTooOften);
        }
        if report.skipped_unassigned.contains(id) {
            return Some(Verdict::Unassigned);
        }
        if report.skipped_nonspawnable.contains(id) {
            return Some(Verdict::NotSpawnable);
        }
        let busy = report.skipped_per_profile_capped.iter();
        if let Some(row) = busy.clone().find(|row| row.task_id == *id) {
            return Some(Verdict::ProfileBusy {
                assignee: row.assignee.clone(),
                current: row.current,
            });
        }
        if let Some(row) = report.skipped_capped.iter().find(|row| row.task_id == *id) {
            return Some(Verdict::NoRoom {
                cap: row.cap,
                limit: row.limit,
                current: row.current,
            });
        }
        if let Some(row) = report.respawn_guarded.iter().find(|row| row.task_id == *id) {
            return Some(Verdict::HeldBack {
                reason: row.reason,
                until: row.until,
            });
        }
        let early = report.skipped_scheduled.iter();
        early
            .clone()
            .find(|row| row.task_id == *id)
            .map(|row| Verdict::TooEarly { at: row.at })
    }
}

/// Why a dispatcher leaves a card alone that a plan says nothing about.
pub fn why_resting(task: &Task, open_parents: &[TaskId]) -> Verdict {
    match task.status() {
        Status::Triage => Verdict::Triage,
        Status::Todo => Verdict::WaitsFor {
            parents: open_parents.to_vec(),
        },
        Status::Scheduled => Verdict::Parked {
            until: task.scheduled_at,
        },
        Status::Ready | Status::Review => match &task.claim_lock {
            Some(lock) => Verdict::ClaimLeft { lock: lock.clone() },
            None => Verdict::Promoted,
        },
        Status::Running => Verdict::InProgress {
            lock: task.claim_lock.clone(),
            until: task.claim_expires,
        },
        Status::Blocked => Verdict::Blocked {
            kind: task.block_kind.clone(),
            failures: task.consecutive_failures,
            last_error: task.last_failure_error.clone(),
        },
        Status::Done | Status::Archived => Verdict::Finished,
        Status::Unknown => Verdict::UnknownStatus {
            status: task.status_word().to_owned(),
        },
    }
}

impl Verdict {
    /// The verdict as a sentence. `time` prints a moment for the reader.
    pub fn sentence(&self, time: impl Fn(i64) -> String) -> String {
        match self {
            Self::Starts {
                assignee,
                review,
                ends_leftovers,
            } => {
                let what = if *review { "A review" } else { "A worker" };
                let first = if *ends_leftovers {
                    ", after what an earlier attempt left running has been ended"
                } else {
                    ""
                };
                format!("{what} starts for {assignee}{first}.")
            }
            Self::AssignedByDefault { assignee } => {
                format!("It is given to {assignee}, as kanban.default_assignee says.")
            }
            Self::Unassigned => {
                "Nobody was given it: assign it, or set kanban.default_assignee to \
                                 a profile that exists."
                    .to_owned()
            }
            Self::NotSpawnable => "It is given to a name that is no profile: somebody else takes \
                                   such cards, with `kanban claim`."
                .to_owned(),
            Self::ProfileBusy { assignee, current } => format!(
                "{assignee} has enough to do: {current} in progress, the most that \
                 kanban.max_in_progress_per_profile allows."
            ),
            Self::NoRoom {
                cap,
                limit,
                current,
            } => format!("There is no room: {current} in progress, kanban.{cap} is {limit}."),
            Self::HeldBack { reason, until } => {
                format!("{} It rests until {}.", held_because(*reason), time(*until))
            }
            Self::TooEarly { at } => format!("Its moment comes at {}.", time(*at)),
            Self::Wakes => "It was parked until now and is free again.".to_owned(),
            Self::Promoted => "It waits for nothing any more and is ready.".to_owned(),
            Self::SentBack => {
                "It is ready although a parent is open, so it waits again.".to_owned()
            }
            Self::Adopted => {
                "Its worker lives although nobody recorded it; that is made good.".to_owned()
            }
            Self::ClaimExtended { until } => {
                format!(
                    "Its worker lives, so its claim is prolonged until {}.",
                    time(*until)
                )
            }
            Self::Reclaimed { ends_worker } => {
                let worker = if *ends_worker {
                    ", its silent worker is ended"
                } else {
                    ""
                };
                format!("Its claim ran out{worker}: it is ready again.")
            }
            Self::Silent { elapsed_seconds } => format!(
                "Its worker has been running for {elapsed_seconds} s without a sign of life: it is \
                 ended, and the card is ready again."
            ),
            Self::WorkerEnded { exit_code, signal } => ended_how(*exit_code, *signal),
            Self::TimedOut {
                elapsed_seconds,
                limit_seconds,
            } => format!(
                "Its worker has been running for {elapsed_seconds} s, {limit_seconds} s are \
                 allowed: it is ended."
            ),
            Self::FailedTooOften => {
                "That was one failure too many: it is blocked until somebody unblocks it."
                    .to_owned()
            }
            _ => self.sentence_at_rest(time),
        }
    }

    /// The same for cards that a dispatcher leaves alone.
    fn sentence_at_rest(&self, time: impl Fn(i64) -> String) -> String {
        match self {
            Self::InProgress { lock, until } => {
                let who = lock.as_deref().unwrap_or("somebody");
                match until {
                    Some(until) => format!("{who} works on it, claimed until {}.", time(*until)),
                    None => format!("{who} works on it."),
                }
            }
            Self::ClaimLeft { lock } => {
                format!("It is ready, but {lock} still holds it: `kanban reclaim` sets it free.")
            }
            Self::WaitsFor { parents } if parents.is_empty() => {
                "It waits for nothing any more; the next look at the board makes it ready."
                    .to_owned()
            }
            Self::WaitsFor { parents } => {
                let names: Vec<&str> = parents.iter().map(TaskId::as_str).collect();
                format!("It waits for {}.", names.join(", "))
            }
            Self::Parked { until: Some(until) } => format!("It is parked until {}.", time(*until)),
            Self::Parked { until: None } => "It is parked until somebody unblocks it.".to_owned(),
            Self::Blocked {
                kind,
                failures,
                last_error,
            } => blocked_because(kind.as_deref(), *failures, last_error.as_deref()),
            Self::Triage => "It needs to be specified: `kanban specify`.".to_owned(),
            Self::Finished => "It is finished.".to_owned(),
            Self::UnknownStatus { status } => {
                let shown = crate::shown(status, 40);
                format!("A newer program set its status to '{shown}'; it is left alone.")
            }
            // Whatever happens to a card has been told before.
            _ => String::new(),
        }
    }
}

fn held_because(reason: GuardReason) -> &'static str {
    match reason {
        GuardReason::RateLimitCooldown => "Its last worker met the provider's quota wall.",
        GuardReason::BlockerAuth => "Its last failure was about quota or permission.",
        GuardReason::RecentSuccess => {
            "It was completed a short while ago and nobody asked for it again."
        }
        GuardReason::ActivePr => "A pull request was named on it within the last day.",
        GuardReason::PreviousWorkerAlive => "A worker of its last attempt is still there.",
    }
}

fn ended_how(exit_code: Option<i32>, signal: Option<i32>) -> String {
    match (exit_code, signal) {
        (Some(0), _) => "Its worker ended without completing or blocking it.".to_owned(),
        (Some(WorkerExit::QUOTA_WALL), _) => {
            "Its worker met the provider's quota wall; that is no failure of the card.".to_owned()
        }
        (Some(code), _) => format!("Its worker ended with exit code {code}."),
        (None, Some(signal)) => format!("Its worker was killed by signal {signal}."),
        (None, None) => "Its worker is gone, and nobody saw how.".to_owned(),
    }
}

fn blocked_because(kind: Option<&str>, failures: i64, last_error: Option<&str>) -> String {
    let why = match (kind, failures, last_error) {
        (_, failures, Some(error)) if failures > 0 => {
            let error = crate::shown(error, 200);
            format!(" after {failures} failures in a row, the last: {error}")
        }
        (Some(kind), ..) => format!(" ({})", crate::shown(kind, 40)),
        _ => String::new(),
    };
    format!("It is blocked{why}. `kanban unblock` sets it free.")
}
