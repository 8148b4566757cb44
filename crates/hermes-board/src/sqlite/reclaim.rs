//! Taking cards back: claims that ran out, workers that fell silent, and by hand.

use std::collections::HashMap;

use hermes_store::rusqlite::params;
use serde_json::{Value, json};

use crate::model::event_body::EventBody;
use crate::model::{Outcome, Status, TaskId, Termination};
use crate::sqlite::SqliteBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::failure::object;
use crate::sqlite::runs::Ending;
use crate::sqlite::session::{Session, json_list};
use crate::store::{Applied, ClaimSeen, Guarded, Silence};
use crate::{Error, Result};

/// A reason for holding a card back is noted again after this time.
const GUARD_NOTE_SECONDS: i64 = 3600;

impl SqliteBoard {
    pub(super) fn prolong(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied> {
        self.write(|session| {
            if session.move_expiry(id, seen, until)? == Applied::LostRace {
                return Ok(Applied::LostRace);
            }
            let last_heartbeat_at = session.last_heartbeat(id)?;
            session.append(
                id,
                seen.run,
                &EventBody::ClaimExtended {
                    worker_pid: seen.pid.and_then(|pid| pid.try_into().ok()).unwrap_or(0),
                    lock: seen.lock.as_deref(),
                    expires_was: seen.expires.unwrap_or(0),
                    expires_now: until,
                    last_heartbeat_at,
                },
            )?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn defer(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|session| {
            if session.move_expiry(id, seen, until)? == Applied::LostRace {
                return Ok(Applied::LostRace);
            }
            session.append(
                id,
                seen.run,
                &EventBody::ReclaimDeferred {
                    reason,
                    lock: seen.lock.as_deref(),
                    expires_now: until,
                    termination,
                },
            )?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn expire(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        heartbeat_stale: bool,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|session| {
            let last_heartbeat_at = session.last_heartbeat(id)?;
            if !session.release_if_unchanged(id, seen)? {
                return Ok(Applied::LostRace);
            }
            let error = format!("stale_lock={}", seen.lock.as_deref().unwrap_or("none"));
            let report = termination.to_object();
            let ending = Ending::new(Outcome::Reclaimed)
                .error(&error)
                .metadata(Some(&report));
            let run = session.close_run(id, seen.run, &ending)?;
            session.append(
                id,
                run,
                &EventBody::ReclaimedExpired {
                    lock: seen.lock.as_deref(),
                    worker_pid: seen.pid,
                    claim_expires: seen.expires.unwrap_or(0),
                    last_heartbeat_at,
                    now: session.now,
                    host_local: termination.host_local,
                    heartbeat_stale,
                    termination,
                },
            )?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn silence(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        silence: &Silence,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|session| {
            if !session.release_if_unchanged(id, seen)? {
                return Ok(Applied::LostRace);
            }
            let mut payload = object(json!({
                "elapsed_seconds": silence.elapsed_seconds,
                "last_heartbeat_at": silence.last_heartbeat_at,
                "heartbeat_age_seconds": silence.heartbeat_age_seconds,
                "timeout_seconds": silence.timeout_seconds,
                "pid": seen.pid,
            }));
            payload.extend(termination.to_object());
            let since = match silence.heartbeat_age_seconds {
                Some(age) => format!("no heartbeat for {age} s"),
                None => "no heartbeat ever".to_owned(),
            };
            let error = format!("{since} after {} s running", silence.elapsed_seconds);
            let ending = Ending::new(Outcome::Stale)
                .error(&error)
                .metadata(Some(&payload));
            let run = session.close_run(id, seen.run, &ending)?;
            session.append(
                id,
                run,
                &EventBody::Ended {
                    kind: "stale",
                    payload: &payload,
                },
            )?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn take_back(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|session| {
            let standing = session.standing(id)?;
            let claimable = [Status::Running, Status::Ready, Status::Blocked];
            let held = standing.status == Status::Running || standing.lock.is_some();
            if !held || !claimable.contains(&standing.status) {
                return Err(Error::not_allowed(id, "reclaim", &standing.word));
            }
            if standing.lock.as_deref() != prev_lock {
                return Ok(Applied::LostRace);
            }
            session.free_claim(id)?;
            session.execute(
                "UPDATE tasks SET status = 'ready', consecutive_failures = 0,
                     last_failure_error = NULL WHERE id = ?1",
                [id.as_str()],
            )?;
            let error = match reason {
                Some(reason) => format!("manual_reclaim: {reason}"),
                None => format!("manual_reclaim lock={}", prev_lock.unwrap_or("none")),
            };
            let report = termination.to_object();
            let ending = Ending::new(Outcome::Reclaimed)
                .error(&error)
                .metadata(Some(&report));
            let run = session.close_run(id, standing.run, &ending)?;
            session.append(
                id,
                run,
                &EventBody::ReclaimedManually {
                    reason,
                    prev_lock,
                    termination,
                },
            )?;
            Ok(Applied::Yes)
        })
    }

    pub(super) fn note_held_back(&mut self, guarded: &[Guarded]) -> Result<usize> {
        if guarded.is_empty() {
            return Ok(0);
        }
        let fresh = self.read(|session| session.unnoted(guarded))?;
        if fresh.is_empty() {
            return Ok(0);
        }
        self.write(|session| {
            let fresh = session.unnoted(guarded)?;
            for held in &fresh {
                session.append(
                    &held.task,
                    None,
                    &EventBody::RespawnGuarded {
                        reason: held.reason,
                    },
                )?;
            }
            Ok(fresh.len())
        })
    }
}

impl Session<'_> {
    /// Takes the claim off a running card, if it is still the one that was seen, and makes the card
    /// ready. The attempt remains to be closed.
    pub(super) fn release_if_unchanged(&self, id: &TaskId, seen: &ClaimSeen) -> Result<bool> {
        let released = self.execute(
            "UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL,
                 worker_pid = NULL, last_heartbeat_at = NULL
             WHERE id = ?1 AND status = 'running' AND claim_lock IS ?2 AND claim_expires IS ?3
               AND worker_pid IS ?4 AND current_run_id IS ?5",
            params![
                id.as_str(),
                seen.lock,
                seen.expires,
                seen.pid,
                seen.run.map(|run| run.0)
            ],
        )?;
        Ok(released == 1)
    }

    /// Takes claim and worker off a card.
    pub(super) fn free_claim(&self, id: &TaskId) -> Result<()> {
        self.execute(
            "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL
             WHERE id = ?1",
            [id.as_str()],
        )?;
        Ok(())
    }

    /// Moves the end of a claim that is still the one that was seen.
    fn move_expiry(&self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied> {
        let moved = self.execute(
            "UPDATE tasks SET claim_expires = ?3
             WHERE id = ?1 AND status = 'running' AND claim_lock IS ?2 AND claim_expires IS ?4
               AND current_run_id IS ?5",
            params![
                id.as_str(),
                seen.lock,
                until,
                seen.expires,
                seen.run.map(|run| run.0)
            ],
        )?;
        if moved == 0 {
            return Ok(Applied::LostRace);
        }
        self.move_run_expiry(id, until)?;
        Ok(Applied::Yes)
    }

    fn last_heartbeat(&self, id: &TaskId) -> Result<Option<i64>> {
        Ok(self
            .one(
                "SELECT last_heartbeat_at FROM tasks WHERE id = ?1",
                [id.as_str()],
                |row| Cells::new(row).int_or_none(),
            )?
            .flatten())
    }

    /// Cards whose reason for being held back is news.
    fn unnoted(&self, guarded: &[Guarded]) -> Result<Vec<Guarded>> {
        let ids: Vec<TaskId> = guarded.iter().map(|held| held.task.clone()).collect();
        let noted: HashMap<String, (Option<Value>, i64)> = self
            .all(
                "SELECT e.task_id, e.payload, e.created_at FROM json_each(?1) j
                 JOIN task_events e ON e.id = (SELECT max(n.id) FROM task_events n
                     WHERE n.task_id = j.value AND n.kind = 'respawn_guarded')",
                [json_list(&ids)],
                |row| {
                    let mut cells = Cells::new(row);
                    Ok((cells.text()?, (cells.json()?, cells.int()?)))
                },
            )?
            .into_iter()
            .collect();
        let is_noted = |held: &&Guarded| {
            noted.get(held.task.as_str()).is_some_and(|(payload, at)| {
                let reason = payload
                    .as_ref()
                    .and_then(|payload| payload["reason"].as_str());
                reason == Some(held.reason) && self.now.saturating_sub(*at) < GUARD_NOTE_SECONDS
            })
        };
        Ok(guarded
            .iter()
            .filter(|held| !is_noted(held))
            .cloned()
            .collect())
    }
}
