//! What the planner decides about one card, as a sentence and for programs.

use serde::Serialize;

use crate::model::{Status, Task, TaskId, WorkerExit};
use crate::plan::{Action, EndWorker, GuardReason, Misplaced, Plan};
use crate::store::{AttemptEnd, ClaimFrom, HOST_CAP};

/// One action of a tick about a card, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Starts {
        assignee: String,
        review: bool,
        /// Whether what an earlier attempt left running is ended first.
        ends_leftovers: bool,
    },
    AssignedByDefault {
        assignee: String,
    },
    Unassigned,
    /// Its assignee is no profile.
    NotSpawnable,
    /// Its assignee cannot run as it is configured.
    CannotStart {
        assignee: String,
        problem: String,
        hint: Option<String>,
    },
    /// Its worker has something to do before it can begin.
    Delayed {
        problem: String,
    },
    ProfileBusy {
        assignee: String,
        current: usize,
        /// Whether cards of all boards of the home are counted.
        all_boards: bool,
    },
    /// The limit on running cards is reached.
    NoRoom {
        cap: &'static str,
        limit: usize,
        current: usize,
    },
    /// This host has no free slot.
    HostFull {
        host: String,
        limit: usize,
        current: usize,
    },
    /// It asks for another host.
    OtherHost {
        #[serde(flatten)]
        why: Misplaced,
        /// The time of the board.
        now: i64,
    },
    HeldBack {
        reason: GuardReason,
        until: i64,
    },
    TooEarly {
        at: i64,
    },
    Wakes,
    /// Its parents are finished.
    Promoted,
    /// It is ready although a parent is open, and waits again.
    SentBack,
    /// Its live worker was not recorded.
    Adopted,
    /// Its claim expired while its worker is alive.
    ClaimExtended {
        until: i64,
    },
    /// Its claim expired.
    Reclaimed {
        ends_worker: bool,
    },
    /// Its worker sent no heartbeats.
    Silent {
        elapsed_seconds: i64,
    },
    /// Its worker exited without completing it.
    WorkerEnded {
        exit_code: Option<i32>,
        signal: Option<i32>,
    },
    TimedOut {
        elapsed_seconds: i64,
        limit_seconds: i64,
    },
    FailedTooOften,
    InProgress {
        lock: Option<String>,
        until: Option<i64>,
        /// The host of its worker, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// It is ready and yet claimed.
    ClaimLeft {
        lock: String,
    },
    WaitsFor {
        parents: Vec<TaskId>,
    },
    Parked {
        /// Until when; `None` until somebody unblocks it.
        until: Option<i64>,
    },
    Blocked {
        kind: Option<String>,
        failures: i64,
        last_error: Option<String>,
    },
    Triage,
    /// It is done or archived.
    Finished,
    /// A newer program gave it a status that this one does not know.
    UnknownStatus {
        status: String,
    },
}

impl Plan {
    /// What this plan does about a card, in order; empty if it does nothing.
    pub fn why(&self, id: &TaskId) -> Vec<Verdict> {
        let mut verdicts: Vec<Verdict> = Vec::new();
        for action in &self.actions {
            verdicts.extend(self.verdict_of(action, id));
        }
        verdicts.extend(self.reason_against(id));
        let delayed = self.report.delayed.iter().find(|row| row.task_id == *id);
        verdicts.extend(delayed.map(|row| Verdict::Delayed {
            problem: row.problem.to_string(),
        }));
        verdicts
    }

    fn verdict_of(&self, action: &Action, id: &TaskId) -> Option<Verdict> {
        match action {
            Action::Adopt { worker } if worker.task == *id => Some(Verdict::Adopted),
            Action::Extend { task, until, .. } if task == id => {
                Some(Verdict::ClaimExtended { until: *until })
            }
            Action::EndAttempt {
                task, end, worker, ..
            } if task == id => Some(why_ended(end, worker)),
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
        let mut reasons = self.reasons();
        reasons.find(|(card, _)| *card == id).map(|(_, why)| why)
    }

    /// Cards that could be worked on and get no worker, with the reasons. A card may be named more
    /// than once; the first reason counts.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&TaskId, Verdict)> {
        let report = &self.report;
        let blocked = report.auto_blocked.iter();
        let unassigned = report.skipped_unassigned.iter();
        let not_spawnable = report.skipped_nonspawnable.iter();
        let hampered = report.cannot_start.iter().map(|row| {
            let verdict = Verdict::CannotStart {
                assignee: row.assignee.clone(),
                problem: row.problem.to_string(),
                hint: row.hint.as_deref().map(str::to_owned),
            };
            (&row.task_id, verdict)
        });
        let busy = report.skipped_per_profile_capped.iter().map(|row| {
            let verdict = Verdict::ProfileBusy {
                assignee: row.assignee.clone(),
                current: row.current,
                all_boards: self.counts_other_boards,
            };
            (&row.task_id, verdict)
        });
        let capped = report.skipped_capped.iter().map(|row| {
            let (limit, current) = (row.limit, row.current);
            let verdict = match row.cap {
                HOST_CAP => Verdict::HostFull {
                    host: self.host.clone(),
                    limit,
                    current,
                },
                cap => Verdict::NoRoom {
                    cap,
                    limit,
                    current,
                },
            };
            (&row.task_id, verdict)
        });
        let elsewhere = report.skipped_placement.iter().map(|row| {
            let verdict = Verdict::OtherHost {
                why: row.why.clone(),
                now: self.made_at,
            };
            (&row.task_id, verdict)
        });
        let guarded = report.respawn_guarded.iter().map(|row| {
            let verdict = Verdict::HeldBack {
                reason: row.reason,
                until: row.until,
            };
            (&row.task_id, verdict)
        });
        let early = report.skipped_scheduled.iter();
        let early = early.map(|row| (&row.task_id, Verdict::TooEarly { at: row.at }));
        blocked
            .map(|id| (id, Verdict::FailedTooOften))
            .chain(unassigned.map(|id| (id, Verdict::Unassigned)))
            .chain(not_spawnable.map(|id| (id, Verdict::NotSpawnable)))
            .chain(hampered)
            .chain(busy)
            .chain(capped)
            .chain(elsewhere)
            .chain(guarded)
            .chain(early)
    }
}

fn why_ended(end: &AttemptEnd, worker: &EndWorker) -> Verdict {
    match *end {
        AttemptEnd::Expired { .. } => Verdict::Reclaimed {
            ends_worker: matches!(worker, EndWorker::Needed(_)),
        },
        AttemptEnd::Silent(silence) => Verdict::Silent {
            elapsed_seconds: silence.elapsed_seconds,
        },
        AttemptEnd::Exited { exit, .. } => {
            let (exit_code, signal) = match exit {
                WorkerExit::Code(code) => (Some(code), None),
                WorkerExit::Signal(signal) => (None, Some(signal)),
                WorkerExit::Unknown => (None, None),
            };
            Verdict::WorkerEnded { exit_code, signal }
        }
        AttemptEnd::TimedOut {
            elapsed_seconds,
            limit_seconds,
            ..
        } => Verdict::TimedOut {
            elapsed_seconds,
            limit_seconds,
        },
    }
}

/// Why a tick does nothing about a card that is not in the plan.
/// `host` is that of the attempt in progress.
pub fn why_resting(task: &Task, open_parents: &[TaskId], host: Option<String>) -> Verdict {
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
            host,
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
    /// The verdict as a sentence. `time` formats a time.
    pub fn sentence(&self, time: impl Fn(i64) -> String) -> String {
        match self {
            Self::Starts {
                assignee,
                review,
                ends_leftovers,
            } => {
                let what = if *review { "A review" } else { "A worker" };
                let first = if *ends_leftovers {
                    ", after what an earlier attempt left running has been terminated"
                } else {
                    ""
                };
                format!("{what} starts for {assignee}{first}.")
            }
            Self::AssignedByDefault { assignee } => {
                format!("It is assigned to {assignee}, as kanban.default_assignee says.")
            }
            Self::Unassigned => {
                "It has no assignee: assign it, or set kanban.default_assignee to an \
                 existing profile."
                    .to_owned()
            }
            Self::NotSpawnable => "Its assignee is not a profile: such cards are claimed by hand, \
                                   with `kanban claim`."
                .to_owned(),
            Self::CannotStart {
                assignee,
                problem,
                hint,
            } => cannot_run(assignee, problem, hint.as_deref()),
            Self::Delayed { problem } => format!("First, {problem}."),
            Self::ProfileBusy {
                assignee,
                current,
                all_boards,
            } => {
                let place = if *all_boards { " on all boards" } else { "" };
                format!(
                    "{assignee} is at its limit: {current} in progress{place}, the most that \
                     kanban.max_in_progress_per_profile allows."
                )
            }
            Self::NoRoom {
                cap,
                limit,
                current,
            } => format!("The limit is reached: {current} in progress, kanban.{cap} is {limit}."),
            Self::HeldBack { reason, until } => {
                format!(
                    "{} It is held back until {}.",
                    held_because(*reason),
                    time(*until)
                )
            }
            Self::TooEarly { at } => format!("It is scheduled for {}.", time(*at)),
            Self::Wakes => "Its scheduled time has come: it is free again.".to_owned(),
            Self::Promoted => "It waits for nothing any more: it becomes ready.".to_owned(),
            Self::SentBack => {
                "It is ready although a parent is open: it goes back to waiting.".to_owned()
            }
            Self::Adopted => {
                "Its worker is running but was never recorded: it is recorded now.".to_owned()
            }
            Self::ClaimExtended { until } => {
                format!(
                    "Its worker is alive: its claim is extended until {}.",
                    time(*until)
                )
            }
            Self::Reclaimed { ends_worker } => {
                let worker = if *ends_worker {
                    ", and its silent worker is terminated"
                } else {
                    ""
                };
                format!("Its claim expired{worker}: it becomes ready again.")
            }
            Self::Silent { elapsed_seconds } => format!(
                "Its worker has been running for {elapsed_seconds} s without a heartbeat: it is \
                 terminated, and the card becomes ready again."
            ),
            Self::WorkerEnded { exit_code, signal } => ended_how(*exit_code, *signal),
            Self::TimedOut {
                elapsed_seconds,
                limit_seconds,
            } => format!(
                "Its worker has been running for {elapsed_seconds} s, the limit is \
                 {limit_seconds} s: it is terminated."
            ),
            Self::FailedTooOften => {
                "It reached its failure limit: it is blocked until somebody unblocks it.".to_owned()
            }
            _ => self.sentence_at_rest(time),
        }
    }

    /// The same for cards that a dispatcher leaves alone.
    fn sentence_at_rest(&self, time: impl Fn(i64) -> String) -> String {
        match self {
            Self::InProgress { lock, until, host } => {
                let who = lock.as_deref().unwrap_or("somebody");
                let who = match host {
                    Some(host) => format!("{who} on host {host}"),
                    None => who.to_owned(),
                };
                match until {
                    Some(until) => format!(
                        "{who} is working on it; the claim lasts until {}.",
                        time(*until)
                    ),
                    None => format!("{who} is working on it."),
                }
            }
            Self::HostFull {
                host,
                limit,
                current,
            } => format!(
                "Host {host} has no free slot: {current} in progress, kanban.{HOST_CAP} is {limit}."
            ),
            Self::OtherHost { why, now } => why.sentence(*now),
            Self::ClaimLeft { lock } => {
                format!(
                    "It is ready, but {lock} still holds a claim: `kanban reclaim` releases it."
                )
            }
            Self::WaitsFor { parents } if parents.is_empty() => {
                "It waits for nothing any more; the next tick makes it ready.".to_owned()
            }
            Self::WaitsFor { parents } => {
                let names: Vec<&str> = parents.iter().map(TaskId::as_str).collect();
                format!("It waits for {}.", names.join(", "))
            }
            Self::Parked { until: Some(until) } => format!("It is scheduled for {}.", time(*until)),
            Self::Parked { until: None } => {
                "It is scheduled without a time; `kanban unblock` frees it.".to_owned()
            }
            Self::Blocked {
                kind,
                failures,
                last_error,
            } => blocked_because(kind.as_deref(), *failures, last_error.as_deref()),
            Self::Triage => "It needs to be specified: `kanban specify`.".to_owned(),
            Self::Finished => "It is finished.".to_owned(),
            Self::UnknownStatus { status } => {
                let shown = crate::shown(status, 40);
                format!("Its status '{shown}' comes from a newer program; it is left alone.")
            }
            // The other verdicts are handled above.
            _ => String::new(),
        }
    }
}

fn cannot_run(assignee: &str, problem: &str, hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!(" To change that: {hint}."));
    format!(
        "{assignee} cannot run: {problem}.{}",
        hint.unwrap_or_default()
    )
}

fn held_because(reason: GuardReason) -> &'static str {
    match reason {
        GuardReason::RateLimitCooldown => "Its last worker reached the quota of its provider.",
        GuardReason::BlockerAuth => "Its last failure was about quota or permission.",
        GuardReason::RecentSuccess => "It was completed recently and nobody asked for it again.",
        GuardReason::ActivePr => "A pull request was named on it within the last day.",
        GuardReason::PreviousWorkerAlive => "A worker of its last attempt is still running.",
    }
}

fn ended_how(exit_code: Option<i32>, signal: Option<i32>) -> String {
    match (exit_code, signal) {
        (Some(0), _) => "Its worker exited without completing or blocking it.".to_owned(),
        (Some(WorkerExit::QUOTA_WALL), _) => {
            "Its worker reached the quota of its provider; that is not a failure of the card."
                .to_owned()
        }
        (Some(code), _) => format!("Its worker exited with code {code}."),
        (None, Some(signal)) => format!("Its worker was killed by signal {signal}."),
        (None, None) => "Its worker is gone; how it exited is unknown.".to_owned(),
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
    format!("It is blocked{why}. `kanban unblock` frees it.")
}
