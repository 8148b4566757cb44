//! The hosts that share a board: registered by their dispatchers, with a heartbeat each.
//!
//! A board in a file serves one machine, so that a host is written once there; on a server its heartbeat
//! is, aside from the changes of the board: nobody is woken by it.

use std::collections::HashMap;

use hermes_store::Commit;
use serde::Serialize;
use serde_json::json;

use crate::host_error::{HostError, SharedHostId};
use crate::host_identity::HostOrigin;
use crate::model::{Host, Placement, Status, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::create::label_list;
use crate::sqlite::rows::names;
use crate::sqlite::statements::{NONE, Row, params};
use crate::sqlite::transaction::Transaction;
use crate::store::Applied;
use crate::{Error, Result};

/// Columns of [`host`].
macro_rules! host_columns {
    () => {
        "h.id, h.name, h.labels, h.slots, h.version, h.started_at, h.heartbeat_at, h.beat_seconds, \
         h.left_at, h.home"
    };
}

/// A host as its dispatcher registers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    pub id: String,
    pub name: String,
    pub labels: Vec<String>,
    /// Most cards in progress on it; `None` for no limit.
    pub slots: Option<usize>,
    pub version: String,
    /// Most seconds between two heartbeats.
    pub beat_seconds: i64,
    pub origin: HostOrigin,
}

/// A host with the cards that are in progress on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostUse {
    #[serde(flatten)]
    pub host: Host,
    pub running: Vec<TaskId>,
}

impl StoredBoard {
    /// Registers a host. `again` says that this process has done so before: an entry of another boot
    /// is then that of a copy. A copy of an installation that is alive elsewhere is refused.
    pub fn register_host(&mut self, entry: &HostEntry, again: bool) -> Result<()> {
        self.write_as(Commit::Logged, |tx| tx.register_host(entry, again))
    }

    /// Whether a host is registered exactly like this.
    pub fn knows_host(&self, entry: &HostEntry) -> Result<bool> {
        let found = self.look(|tx| tx.registered(&entry.id))?;
        Ok(found.is_some_and(|(host, origin)| {
            let slots = entry.slots.and_then(|slots| i64::try_from(slots).ok());
            origin == entry.origin
                && host.left_at.is_none()
                && (&host.name, &host.labels) == (&entry.name, &entry.labels)
                && (&host.version, host.slots) == (&entry.version, slots)
                && host.beat_seconds == entry.beat_seconds
        }))
    }

    /// The heartbeat of a registered host; loses if the entry is gone, or somebody else's.
    pub fn beat_host(&mut self, id: &str, origin: &HostOrigin) -> Result<Applied> {
        let beat = |tx: &Transaction<'_>| {
            let beaten = tx.execute(
                "UPDATE hermes_hosts SET heartbeat_at = ?4, left_at = NULL
                 WHERE id = ?1 AND boot_id = ?2 AND home_mark = ?3",
                params![id, origin.boot, origin.home_mark, tx.now],
            )?;
            Ok(super::claim::applied(beaten))
        };
        if self.is_on_server() {
            self.write_aside(Commit::Logged, beat)
        } else {
            self.write_as(Commit::Logged, beat)
        }
    }

    /// The dispatcher of a host ends in order.
    pub fn leave_host(&mut self, id: &str, origin: &HostOrigin) -> Result<()> {
        self.write_as(Commit::Logged, |tx| {
            tx.execute(
                "UPDATE hermes_hosts SET left_at = ?4
                 WHERE id = ?1 AND boot_id = ?2 AND home_mark = ?3",
                params![id, origin.boot, origin.home_mark, tx.now],
            )?;
            Ok(())
        })
    }

    /// All hosts by name, with the cards in progress on them.
    pub fn hosts(&self) -> Result<Vec<HostUse>> {
        self.read(|tx| {
            let mut running = tx.running_by_host()?;
            let used = |host: Host| HostUse {
                running: running.remove(&host.id).unwrap_or_default(),
                host,
            };
            Ok(tx.hosts()?.into_iter().map(used).collect())
        })
    }

    /// Forgets a host that is away and has no card in progress; `name` may be its id.
    pub fn forget_host(&mut self, name: &str) -> Result<Host> {
        self.write(|tx| tx.forget_host(name))
    }

    /// Sets which hosts may work on a card. An attempt in progress is left alone.
    pub fn set_placement(&mut self, id: &TaskId, placement: &Placement) -> Result<()> {
        self.write(|tx| {
            let state = tx.card_state(id)?;
            if matches!(state.status, Status::Done | Status::Archived) {
                return Err(Error::not_allowed(id, "choose the hosts of", &state.word));
            }
            tx.execute(
                "UPDATE tasks SET host_labels = ?2, host_name = ?3 WHERE id = ?1",
                params![id.as_str(), label_list(&placement.labels), placement.host],
            )?;
            let payload = json!({
                "fields": ["placement"],
                "host_labels": placement.labels,
                "host_name": placement.host,
            });
            tx.append(id, None, "edited", payload)
        })
    }
}

impl Transaction<'_> {
    pub(super) fn hosts(&self) -> Result<Vec<Host>> {
        self.all(
            concat!(
                "SELECT ",
                host_columns!(),
                " FROM hermes_hosts h ORDER BY h.name, h.id"
            ),
            NONE,
            host,
        )
    }

    fn registered(&self, id: &str) -> Result<Option<(Host, HostOrigin)>> {
        self.one(
            concat!(
                "SELECT ",
                host_columns!(),
                ", h.machine, h.boot_id, h.home_mark FROM hermes_hosts h WHERE h.id = ?1"
            ),
            [id],
            |row| {
                let known = host(row)?;
                let mut cells = Cells::skipping(row, 10);
                let origin = HostOrigin {
                    machine: cells.text()?,
                    boot: cells.text()?,
                    home_mark: cells.text()?,
                    home: known.home.clone(),
                };
                Ok((known, origin))
            },
        )
    }

    fn register_host(&self, entry: &HostEntry, again: bool) -> Result<()> {
        let origin = &entry.origin;
        let known = self.registered(&entry.id)?;
        if let Some((known, of)) = &known {
            let is_same = of.machine == origin.machine && of.home_mark == origin.home_mark;
            // A machine that was restarted, or its twin? If this process was registered before, the
            // restart was not ours.
            let is_twin = !is_same || (again && of.boot != origin.boot);
            if is_twin && known.away_since(self.now).is_none() {
                let shared = SharedHostId {
                    id: entry.id.clone(),
                    other: known.name.clone(),
                    other_home: known.home.clone(),
                    seen: self.now.saturating_sub(known.heartbeat_at).max(0),
                    own: entry.name.clone(),
                    own_home: origin.home.clone(),
                };
                return Err(HostError::from(Box::new(shared)).into());
            }
        }
        let started_at = known
            .filter(|_| again)
            .map_or(self.now, |(known, _)| known.started_at);
        self.execute(
            "INSERT INTO hermes_hosts (id, name, labels, slots, version, started_at, heartbeat_at,
                 beat_seconds, left_at, machine, boot_id, home, home_mark)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9, ?10, ?11, ?12)
             ON CONFLICT (id) DO UPDATE SET name = ?2, labels = ?3, slots = ?4, version = ?5,
                 started_at = ?6, heartbeat_at = ?7, beat_seconds = ?8, left_at = NULL,
                 machine = ?9, boot_id = ?10, home = ?11, home_mark = ?12",
            params![
                entry.id,
                entry.name,
                json!(entry.labels).to_string(),
                entry.slots.and_then(|slots| i64::try_from(slots).ok()),
                entry.version,
                started_at,
                self.now,
                entry.beat_seconds,
                origin.machine,
                origin.boot,
                origin.home,
                origin.home_mark
            ],
        )?;
        Ok(())
    }

    fn forget_host(&self, name: &str) -> Result<Host> {
        let all = self.hosts()?;
        let found: Vec<&Host> = all.iter().filter(|host| host.is_called(name)).collect();
        let host = match found.as_slice() {
            [host] => (*host).clone(),
            [] => {
                let known: Vec<&str> = all.iter().map(|host| host.name.as_str()).collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                let shown = crate::shown(name, 64);
                return Err(HostError::Unknown { shown, known }.into());
            }
            several => {
                return Err(HostError::Ambiguous {
                    name: crate::shown(name, 64),
                    ids: several.iter().map(|host| host.id.clone()).collect(),
                }
                .into());
            }
        };
        if let Some(tasks) = self.running_by_host()?.remove(&host.id) {
            return Err(HostError::Busy {
                name: host.name,
                tasks,
            }
            .into());
        }
        if host.away_since(self.now).is_none() {
            return Err(HostError::Up { name: host.name }.into());
        }
        self.execute("DELETE FROM hermes_hosts WHERE id = ?1", [host.id.as_str()])?;
        Ok(host)
    }

    /// Cards in progress, by the id of their host.
    fn running_by_host(&self) -> Result<HashMap<String, Vec<TaskId>>> {
        let rows = self.all(
            "SELECT r.host_id, t.id FROM tasks t JOIN task_runs r ON r.id = t.current_run_id
             WHERE t.status = 'running' AND r.host_id IS NOT NULL ORDER BY t.id",
            NONE,
            |row| {
                let mut cells = Cells::new(row);
                Ok((cells.text()?, TaskId::new(cells.text()?)))
            },
        )?;
        let mut by_host: HashMap<String, Vec<TaskId>> = HashMap::new();
        for (host, task) in rows {
            by_host.entry(host).or_default().push(task);
        }
        Ok(by_host)
    }
}

fn host(row: &dyn Row) -> Result<Host> {
    let mut cells = Cells::new(row);
    Ok(Host {
        id: cells.text()?,
        name: cells.text()?,
        labels: cells.json()?.and_then(names).unwrap_or_default(),
        slots: cells.int_or_none()?,
        version: cells.text()?,
        started_at: cells.int()?,
        heartbeat_at: cells.int()?,
        beat_seconds: cells.int()?,
        left_at: cells.int_or_none()?,
        home: cells.text()?,
    })
}
