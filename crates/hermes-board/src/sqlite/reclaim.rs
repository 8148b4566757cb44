//! Reclaiming cards: expired claims, workers without heartbeats, and by hand.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::model::{Outcome, Status, TaskId, Termination, object};
use crate::sqlite::cells::Cells;
use crate::sqlite::runs::Ending;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::{Transaction, json_list};
use crate::store::{Applied, ClaimSeen, Silence, WaitNote};
use crate::{Error, Result};

/// A reason of the respawn guard is noted again after this time.
const GUARD_NOTE_SECONDS: i64 = 3600;

impl Transaction<'_> {
    pub(super) fn note_waiting(&self, notes: &[WaitNote]) -> Result<usize> {
        let fresh = self.unnoted(notes)?;
        for note in &fresh {
            let reason = &note.reason;
            self.append(&note.task, None, reason.event(), reason.payload())?;
        }
        Ok(fresh.len())
    }

    pub(super) fn extend_claim(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
    ) -> Result<Applied> {
        if self.move_expiry(id, seen, until)? == Applied::LostRace {
            return Ok(Applied::LostRace);
        }
        let last_heartbeat_at = self.last_heartbeat(id)?;
        self.append(
            id,
            seen.run,
            "claim_extended",
            json!({
                "reason": "pid_alive",
                "worker_pid": seen.pid.unwrap_or(0),
                "claim_lock": seen.lock.as_deref(),
                "claim_expires_was": seen.expires.unwrap_or(0),
                "claim_expires_now": until,
                "last_heartbeat_at": last_heartbeat_at,
            }),
        )?;
        Ok(Applied::Yes)
    }

    pub(super) fn defer_reclaim(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied> {
        if self.move_expiry(id, seen, until)? == Applied::LostRace {
            return Ok(Applied::LostRace);
        }
        self.append(
            id,
            seen.run,
            "reclaim_deferred",
            with_termination(
                json!({"reason": reason, "claim_lock": seen.lock, "claim_expires_now": until}),
                termination,
            ),
        )?;
        Ok(Applied::Yes)
    }

    /// Ends the attempt of a card whose claim expired, which is ready now.
    pub(super) fn close_expired(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        heartbeat_stale: bool,
        last_heartbeat_at: Option<i64>,
        termination: Termination,
    ) -> Result<()> {
        let error = format!("stale_lock={}", seen.lock.as_deref().unwrap_or("none"));
        let report = termination.to_object();
        let ending = Ending::failed(Outcome::Reclaimed, &error, &report);
        let run = self.close_run(id, seen.run, &ending)?;
        self.append(
            id,
            run,
            "reclaimed",
            with_termination(
                json!({
                    "stale_lock": seen.lock,
                    "worker_pid": seen.pid,
                    "claim_expires": seen.expires.unwrap_or(0),
                    "last_heartbeat_at": last_heartbeat_at,
                    "now": self.now,
                    "host_local": termination.host_local,
                    "heartbeat_stale": heartbeat_stale,
                }),
                termination,
            ),
        )
    }

    /// Ends the attempt of a silent worker, whose card is ready now.
    pub(super) fn close_silent(
        &self,
        id: &TaskId,
        seen: &ClaimSeen,
        silence: &Silence,
        termination: Termination,
    ) -> Result<()> {
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
        let ending = Ending::failed(Outcome::Stale, &error, &payload);
        let run = self.close_run(id, seen.run, &ending)?;
        self.append(id, run, "stale", payload.clone().into())
    }

    pub(super) fn reclaim(
        &self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied> {
        let state = self.card_state(id)?;
        let claimable = [Status::Running, Status::Ready, Status::Blocked];
        let held = state.status == Status::Running || state.lock.is_some();
        if !held || !claimable.contains(&state.status) {
            return Err(Error::not_allowed(id, "reclaim", &state.word));
        }
        if state.lock.as_deref() != prev_lock {
            return Ok(Applied::LostRace);
        }
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = 'ready', consecutive_failures = 0,
                 last_failure_error = NULL WHERE id = ?1",
            [id.as_str()],
        )?;
        let error = match reason {
            Some(reason) => format!("manual_reclaim: {reason}"),
            None => format!("manual_reclaim lock={}", prev_lock.unwrap_or("none")),
        };
        let report = termination.to_object();
        let ending = Ending::failed(Outcome::Reclaimed, &error, &report);
        let run = self.close_run(id, state.run, &ending)?;
        self.append(
            id,
            run,
            "reclaimed",
            with_termination(
                json!({"manual": true, "reason": reason, "prev_lock": prev_lock}),
                termination,
            ),
        )?;
        Ok(Applied::Yes)
    }

    /// Removes the claim of a running card, if it is still the one that was seen, and makes the card
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

    /// Removes claim and worker of a card.
    pub(super) fn free_claim(&self, id: &TaskId) -> Result<()> {
        self.execute(
            "UPDATE tasks SET claim_lock = NULL, claim_expires = NULL, worker_pid = NULL
             WHERE id = ?1",
            [id.as_str()],
        )?;
        Ok(())
    }

    /// Moves the expiry of a claim that is still the one that was seen.
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

    pub(super) fn last_heartbeat(&self, id: &TaskId) -> Result<Option<i64>> {
        Ok(self
            .one(
                "SELECT last_heartbeat_at FROM tasks WHERE id = ?1",
                [id.as_str()],
                |row| Cells::new(row).int_or_none(),
            )?
            .flatten())
    }

    /// Notes that have not been made lately.
    pub(super) fn unnoted(&self, notes: &[WaitNote]) -> Result<Vec<WaitNote>> {
        let ids: Vec<TaskId> = notes.iter().map(|note| note.task.clone()).collect();
        let noted: HashMap<(String, String), (Option<Value>, i64)> = self
            .all(
                "SELECT e.task_id, e.kind, e.payload, e.created_at FROM json_each(?1) j
                 JOIN task_events e ON e.id IN (SELECT max(n.id) FROM task_events n
                     WHERE n.task_id = j.value AND n.kind IN ('respawn_guarded', 'preflight')
                     GROUP BY n.kind)",
                [json_list(&ids)],
                |row| {
                    let mut cells = Cells::new(row);
                    let key = (cells.text()?, cells.text()?);
                    Ok((key, (cells.json()?, cells.int()?)))
                },
            )?
            .into_iter()
            .collect();
        let is_noted = |note: &&WaitNote| {
            let key = (note.task.to_string(), note.reason.event().to_owned());
            noted.get(&key).is_some_and(|(payload, at)| {
                payload.as_ref() == Some(&note.reason.payload())
                    && self.now.saturating_sub(*at) < GUARD_NOTE_SECONDS
            })
        };
        Ok(notes
            .iter()
            .filter(|note| !is_noted(note))
            .cloned()
            .collect())
    }
}

fn with_termination(payload: Value, termination: Termination) -> Value {
    let mut payload = object(payload);
    payload.extend(termination.to_object());
    payload.into()
}
