//! The snapshot for the planner, in a fixed number of queries.
//!
//! Cards are sorted here, not by SQLite, so that every query can use the index on the status.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::Result;
use crate::model::{Object, Outcome, Placement, RunId, TaskId, WorkerIdentity};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::failure::{STREAK_LOOK, streak_of};
use crate::sqlite::fragments::{has_open_parent, is_sticky};
use crate::sqlite::rows::names;
use crate::sqlite::statements::{NONE, Row, params};
use crate::sqlite::transaction::{Transaction, json_list};
use crate::store::{Candidate, ClaimSeen, EndedRun, GuardFacts, RunningTask, Snapshot};

/// A completion counts as recent for this long.
const RECENT_SECONDS: i64 = 3600;
/// A pull request named in a comment counts for this long.
const PULL_REQUEST_SECONDS: i64 = 86_400;

/// Columns of [`candidate`].
macro_rules! candidate_columns {
    () => {
        concat!(
            "t.id, t.assignee, t.priority, t.created_at, t.consecutive_failures, t.max_retries, \
             t.scheduled_at, t.model_override, t.skills, t.host_labels, t.host_name, \
             t.last_failure_error, \
             t.started_at IS NOT NULL OR t.completed_at IS NOT NULL, ",
            has_open_parent!()
        )
    };
}

/// A card and whether it can have a history.
type Found = (Candidate, bool);

impl StoredBoard {
    /// The board without the other cards that wait for a worker.
    pub(crate) fn snapshot_of(&self, id: &TaskId, failure_limit: i64) -> Result<Snapshot> {
        self.read(|tx| tx.snapshot(failure_limit, Some(id)))
    }
}

impl Transaction<'_> {
    /// The board; of the cards that wait for a worker all, or this one.
    pub(super) fn snapshot(&self, failure_limit: i64, only: Option<&TaskId>) -> Result<Snapshot> {
        let mut ready = self.waiting_for_worker("ready", only)?;
        let mut review = self.waiting_for_worker("review", only)?;
        let mut running = self.running()?;
        let mut promotable = self.promotable(failure_limit)?;
        let mut due = self.due()?;
        let with_history: Vec<TaskId> = ready
            .iter()
            .chain(&review)
            .chain(running.iter().map(|(found, _)| found))
            .chain(&promotable)
            .chain(&due)
            .filter(|(_, has_history)| *has_history)
            .map(|(card, _)| card.id.clone())
            .collect();
        let facts = self.guard_facts(&with_history)?;
        let mut waiting = ready.iter().chain(&review).chain(&promotable).chain(&due);
        let hosts = if waiting.any(|(card, _)| !card.placement.is_anywhere()) {
            self.hosts()?
        } else {
            Vec::new()
        };
        let all = ready
            .iter_mut()
            .chain(&mut review)
            .chain(running.iter_mut().map(|(found, _)| found))
            .chain(&mut promotable)
            .chain(&mut due);
        for (card, _) in all {
            facts.add_to(card);
        }
        let mut running: Vec<RunningTask> = running
            .into_iter()
            .map(|((card, _), work)| RunningTask { card, ..work })
            .collect();
        running.sort_by(|a, b| order(&a.card).cmp(&order(&b.card)));
        self.add_streaks(&mut running)?;
        Ok(Snapshot {
            taken_at: self.now,
            ready: in_order(ready),
            review: in_order(review),
            running,
            promotable: in_order(promotable),
            due: in_order(due),
            hosts,
        })
    }

    fn waiting_for_worker(&self, status: &str, only: Option<&TaskId>) -> Result<Vec<Found>> {
        if let Some(id) = only {
            return self.all(
                concat!(
                    "SELECT ",
                    candidate_columns!(),
                    " FROM tasks t WHERE t.id = ?3 AND t.status = ?1 \
                     AND (t.claim_lock IS NULL OR t.claim_expires < ?2)"
                ),
                params![status, self.now, id.as_str()],
                |row| candidate(&mut Cells::new(row)),
            );
        }
        self.all(
            concat!(
                "SELECT ",
                candidate_columns!(),
                " FROM tasks t WHERE t.status = ?1 \
                 AND (t.claim_lock IS NULL OR t.claim_expires < ?2)"
            ),
            params![status, self.now],
            |row| candidate(&mut Cells::new(row)),
        )
    }

    fn running(&self) -> Result<Vec<(Found, RunningTask)>> {
        self.all(
            concat!(
                "SELECT ",
                candidate_columns!(),
                ", t.claim_lock, t.claim_expires, t.worker_pid, t.current_run_id, \
                 COALESCE(r.started_at, t.started_at), t.last_heartbeat_at, \
                 t.max_runtime_seconds, r.host_id, r.metadata \
                 FROM tasks t LEFT JOIN task_runs r ON r.id = t.current_run_id \
                 WHERE t.status = 'running'"
            ),
            NONE,
            running_task,
        )
    }

    fn promotable(&self, failure_limit: i64) -> Result<Vec<Found>> {
        self.all(
            concat!(
                "SELECT ",
                candidate_columns!(),
                " FROM tasks t WHERE t.status = 'todo' AND NOT ",
                has_open_parent!(),
                " UNION ALL SELECT ",
                candidate_columns!(),
                " FROM tasks t WHERE t.status = 'blocked' \
                 AND t.consecutive_failures < COALESCE(t.max_retries, ?1) AND NOT ",
                has_open_parent!(),
                " AND NOT ",
                is_sticky!()
            ),
            [failure_limit],
            |row| candidate(&mut Cells::new(row)),
        )
    }

    fn due(&self) -> Result<Vec<Found>> {
        self.all(
            concat!(
                "SELECT ",
                candidate_columns!(),
                " FROM tasks t WHERE t.status = 'scheduled' \
                 AND t.scheduled_at IS NOT NULL AND t.scheduled_at <= ?1"
            ),
            [self.now],
            |row| candidate(&mut Cells::new(row)),
        )
    }

    fn guard_facts(&self, with_history: &[TaskId]) -> Result<Facts> {
        let mut facts = Facts {
            pull_requests: self.pull_requests()?,
            ..Facts::default()
        };
        if with_history.is_empty() {
            return Ok(facts);
        }
        let ended = self.all(
            "SELECT r.task_id, r.outcome, r.ended_at, r.id
             FROM json_each(?1) j JOIN task_runs r ON r.task_id = j.value
             WHERE r.ended_at IS NOT NULL",
            [json_list(with_history)],
            |row| {
                let mut cells = Cells::new(row);
                let task = cells.text()?;
                let outcome = Outcome::parse(&cells.text()?);
                let ended_at = cells.int()?;
                Ok((task, outcome, ended_at, cells.int()?))
            },
        )?;
        for (task, outcome, ended_at, number) in ended {
            if outcome == Some(Outcome::Completed) && ended_at >= self.now - RECENT_SECONDS {
                let last = facts.completed.entry(task.clone()).or_insert(ended_at);
                *last = ended_at.max(*last);
            }
            let last = facts
                .last_runs
                .entry(task)
                .or_insert((ended_at, number, outcome));
            *last = (ended_at, number, outcome).max(*last);
        }
        facts.requeued = self.requeued(&facts.completed)?;
        Ok(facts)
    }

    /// When recently completed cards were last requeued.
    fn requeued(&self, completed: &HashMap<String, i64>) -> Result<HashMap<String, i64>> {
        if completed.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<TaskId> = completed
            .keys()
            .map(|id| TaskId::new(id.as_str()))
            .collect();
        let times = self.all(
            "SELECT e.task_id, max(e.created_at)
             FROM json_each(?1) j JOIN task_events e ON e.task_id = j.value
             WHERE e.kind IN ('status', 'promoted', 'unblocked', 'reclaimed')
             GROUP BY e.task_id",
            [json_list(&ids)],
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.text()?, cells.int()?))
            },
        )?;
        Ok(times.into_iter().collect())
    }

    /// Cards whose comments of the last day name a pull request.
    fn pull_requests(&self) -> Result<HashMap<String, i64>> {
        static ADDRESS: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"(?i)https?://github\.com/[^/\s]+/[^/\s]+/pull/\d+").ok());
        let comments = self.all(
            "SELECT task_id, created_at, body FROM task_comments
             WHERE created_at >= ?1 AND lower(body) LIKE '%github.com/%/pull/%'",
            [self.now - PULL_REQUEST_SECONDS],
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.text()?, cells.int()?, cells.text()?))
            },
        )?;
        let mut found = HashMap::new();
        for (task, at, body) in comments {
            if ADDRESS
                .as_ref()
                .is_some_and(|address| address.is_match(&body))
            {
                let last = found.entry(task).or_insert(at);
                *last = at.max(*last);
            }
        }
        Ok(found)
    }

    fn add_streaks(&self, running: &mut [RunningTask]) -> Result<()> {
        if running.is_empty() {
            return Ok(());
        }
        let ids: Vec<TaskId> = running.iter().map(|work| work.card.id.clone()).collect();
        let attempts = self.all(
            "SELECT task_id, outcome, error, metadata FROM (
                 SELECT r.task_id, r.outcome, r.error, r.metadata, r.id,
                     row_number() OVER (PARTITION BY r.task_id ORDER BY r.id DESC) AS place
                 FROM json_each(?1) j JOIN task_runs r ON r.task_id = j.value
                 WHERE r.ended_at IS NOT NULL) w
             WHERE place <= ?2 ORDER BY task_id, id DESC",
            params![json_list(&ids), STREAK_LOOK],
            |row| {
                let mut cells = Cells::new(row);
                Ok((
                    cells.text()?,
                    (cells.text()?, cells.text()?, cells.object()?),
                ))
            },
        )?;
        let mut by_task: HashMap<String, Vec<(String, String, Option<Object>)>> = HashMap::new();
        for (task, attempt) in attempts {
            by_task.entry(task).or_default().push(attempt);
        }
        for work in running {
            if let Some(attempts) = by_task.get(work.card.id.as_str()) {
                work.violation_streak =
                    streak_of(attempts.iter().map(|(outcome, error, metadata)| {
                        (outcome.as_str(), error.as_str(), metadata.as_ref())
                    }));
            }
        }
        Ok(())
    }
}

/// Facts about earlier attempts, by card.
#[derive(Default)]
struct Facts {
    last_runs: HashMap<String, (i64, i64, Option<Outcome>)>,
    completed: HashMap<String, i64>,
    requeued: HashMap<String, i64>,
    pull_requests: HashMap<String, i64>,
}

impl Facts {
    fn add_to(&self, card: &mut Candidate) {
        let id = card.id.as_str();
        let guard = &mut card.guard;
        guard.last_run = self
            .last_runs
            .get(id)
            .map(|(ended_at, _, outcome)| EndedRun {
                outcome: *outcome,
                ended_at: *ended_at,
            });
        guard.completed_at = self.completed.get(id).copied();
        guard.requeued_at = self.requeued.get(id).copied();
        guard.pull_request_at = self.pull_requests.get(id).copied();
    }
}

fn candidate(cells: &mut Cells<'_>) -> Result<Found> {
    let mut card = Candidate {
        id: TaskId::new(cells.text()?),
        assignee: cells
            .text_or_none()?
            .filter(|assignee| !assignee.trim().is_empty()),
        priority: cells.int()?,
        created_at: cells.int()?,
        consecutive_failures: cells.int()?,
        max_retries: cells.int_or_none()?,
        has_open_parent: false,
        not_before: cells.int_or_none()?,
        model: cells.filled_text()?,
        skills: cells.json()?.and_then(names).unwrap_or_default(),
        placement: Placement {
            labels: cells.json()?.and_then(names).unwrap_or_default(),
            host: cells.filled_text()?,
        },
        guard: GuardFacts {
            last_failure_error: cells.text_or_none()?,
            ..GuardFacts::default()
        },
    };
    let has_history = cells.int()? != 0;
    card.has_open_parent = cells.int()? != 0;
    Ok((card, has_history))
}

fn running_task(row: &dyn Row) -> Result<(Found, RunningTask)> {
    let mut cells = Cells::new(row);
    let found = candidate(&mut cells)?;
    let mut work = RunningTask {
        card: found.0.clone(),
        claim: ClaimSeen {
            lock: cells.text_or_none()?,
            expires: cells.int_or_none()?,
            pid: cells.int_or_none()?,
            run: cells.int_or_none()?.filter(|id| *id > 0).map(RunId),
        },
        started_at: cells.int_or_none()?,
        last_heartbeat_at: cells.int_or_none()?,
        max_runtime_seconds: cells.int_or_none()?,
        identity: None,
        dispatcher: None,
        host_id: cells.filled_text()?,
        violation_streak: 0,
    };
    if let Some(metadata) = cells.object()? {
        work.identity = WorkerIdentity::from_metadata(&metadata);
        work.dispatcher = WorkerIdentity::of_dispatcher(&metadata);
    }
    Ok((found, work))
}

fn order(card: &Candidate) -> (Reverse<i64>, i64, &TaskId) {
    (Reverse(card.priority), card.created_at, &card.id)
}

fn in_order(found: Vec<Found>) -> Vec<Candidate> {
    let mut cards: Vec<Candidate> = found.into_iter().map(|(card, _)| card).collect();
    cards.sort_by(|a, b| order(a).cmp(&order(b)));
    cards
}
