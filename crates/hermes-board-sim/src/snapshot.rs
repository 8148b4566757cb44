//! Creating cards on the board in memory, and the snapshot of all of them.

use crate::board::{Card, SimulatedBoard};
use hermes_board::Result;
use hermes_board::model::{Status, TaskId};
use hermes_board::store::{Created, NewTask, RunningTask, Snapshot, StartIn};

impl SimulatedBoard {
    pub(crate) fn take_snapshot(&self, failure_limit: i64) -> Snapshot {
        let mut snapshot = Snapshot {
            taken_at: self.now,
            ..Snapshot::default()
        };
        for card in &self.cards {
            let free = card.lock.is_none();
            match card.status {
                Status::Ready if free => snapshot.ready.push(self.candidate(card)),
                Status::Review if free => snapshot.review.push(self.candidate(card)),
                Status::Running => {
                    snapshot.running.push(RunningTask {
                        card: self.candidate(card),
                        claim: card.seen(),
                        started_at: card.run_started_at,
                        last_heartbeat_at: card.heartbeat_at,
                        max_runtime_seconds: card.max_runtime,
                        identity: card.identity.clone(),
                        dispatcher: None,
                        host_id: card.host.clone(),
                        violation_streak: card.streak,
                    });
                }
                Status::Scheduled if card.scheduled_at.is_some_and(|at| at <= self.now) => {
                    snapshot.due.push(self.candidate(card));
                }
                _ if self.is_promotable(card, failure_limit) => {
                    snapshot.promotable.push(self.candidate(card));
                }
                _ => {}
            }
        }
        // Cards stand in the order of their names and ages already.
        snapshot.ready.sort_by_key(|card| -card.priority);
        snapshot.review.sort_by_key(|card| -card.priority);
        snapshot
    }

    pub(crate) fn create_card(&mut self, new: &NewTask) -> Result<Created> {
        self.write()?;
        let mut parents = Vec::new();
        for parent in &new.parents {
            parents.push(self.index(parent)?);
        }
        let id = TaskId::from_bits(u32::try_from(self.cards.len()).unwrap_or(u32::MAX));
        let mut card = Card {
            id,
            assignee: new.assignee.as_ref().map(|name| name.as_str().to_owned()),
            status: Status::Ready,
            priority: new.priority,
            created_at: self.now,
            parents,
            lock: None,
            host: None,
            expires: None,
            pid: None,
            identity: None,
            run: None,
            claimed_before: false,
            run_started_at: None,
            heartbeat_at: None,
            failures: 0,
            last_error: None,
            max_retries: new.max_retries,
            max_runtime: new.max_runtime_seconds,
            scheduled_at: None,
            last_run: None,
            completed_at: None,
            requeued_at: None,
            streak: 0,
            sticky: false,
            block_kind: None,
            block_recurrences: 0,
            checks: u32::try_from(new.checks.len()).unwrap_or(0),
            completions: 0,
            noted: None,
        };
        card.status = match new.start {
            StartIn::Work if self.has_open_parent(&card) => Status::Todo,
            StartIn::Work => Status::Ready,
            StartIn::Triage => Status::Triage,
            StartIn::Blocked => {
                card.sticky = true;
                Status::Blocked
            }
            StartIn::Scheduled(at) => {
                card.scheduled_at = Some(at);
                Status::Scheduled
            }
        };
        let task = card.task();
        self.cards.push(card);
        Ok(Created {
            task,
            existed: false,
        })
    }
}
