//! Lists: cards, their links and attempts.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use crate::model::text_enum::text_enum;
use crate::model::{
    Check, CheckMark, Comment, Event, LinkedTask, Run, RunId, Status, Task, TaskId,
};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::{run_columns, task_columns};
use crate::sqlite::rows;
use crate::sqlite::statements::{NONE, Param, Row, params};
use crate::sqlite::transaction::{Transaction, json_list};
use crate::{Error, Result};

text_enum! {
    /// Orders of a list.
    SortOrder {
        /// Oldest first.
        Created = "created",
        /// Newest first.
        CreatedDesc = "created-desc",
        /// Most urgent first, then oldest.
        Priority = "priority",
        /// Least urgent first, then oldest.
        PriorityDesc = "priority-desc",
        Status = "status",
        Assignee = "assignee",
        Title = "title",
        /// Last claimed first.
        Updated = "updated",
    }
}

/// So many archived cards are stepped over in a list; more are left out by the index of statuses.
const FEW_ARCHIVED: i64 = 1000;

impl SortOrder {
    const fn sql(self) -> &'static str {
        match self {
            Self::Created => " ORDER BY t.created_at, t.id",
            Self::CreatedDesc => " ORDER BY t.created_at DESC, t.id DESC",
            Self::Priority => " ORDER BY t.priority DESC, t.created_at, t.id",
            Self::PriorityDesc => " ORDER BY t.priority, t.created_at, t.id",
            Self::Status => " ORDER BY t.status, t.created_at, t.id",
            Self::Assignee => " ORDER BY t.assignee NULLS FIRST, t.created_at, t.id",
            Self::Title => " ORDER BY t.title, t.id",
            Self::Updated => " ORDER BY t.started_at DESC NULLS LAST, t.created_at DESC, t.id",
        }
    }
}

/// Which cards a list holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Of this assignee; compared in its canonical form.
    pub assignee: Option<String>,
    pub status: Option<Status>,
    pub tenant: Option<String>,
    pub session_id: Option<String>,
    pub workflow_template_id: Option<String>,
    pub step_key: Option<String>,
    pub include_archived: bool,
    /// Order; by priority if not given.
    pub sort: Option<SortOrder>,
    pub limit: Option<u32>,
    pub offset: u32,
}

/// Filter for attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunFilter {
    Status(String),
    Outcome(String),
}

/// Everything about one card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardDetail {
    pub task: LinkedTask,
    pub latest_summary: Option<String>,
    pub parents: Vec<TaskId>,
    pub children: Vec<TaskId>,
    pub comments: Vec<Comment>,
    pub events: Vec<Event>,
    pub runs: Vec<Run>,
    pub checks: Vec<Check>,
    pub checked: CheckMark,
}

/// Parents and children of a card.
type Neighbours = (Vec<TaskId>, Vec<TaskId>);

impl StoredBoard {
    /// Passes on the cards of a list one by one, with their links.
    pub fn each_task(
        &self,
        query: &ListQuery,
        take: &mut dyn FnMut(LinkedTask) -> Result<()>,
    ) -> Result<()> {
        self.read(|tx| {
            // A short list queries its own links, a long one all of them at once.
            let mut links = if query.limit.is_some() {
                let ids = tx.listed_ids(query)?;
                tx.links(Some(&ids))?
            } else {
                tx.links(None)?
            };
            tx.each_listed(query, task_columns!(), |row| {
                let task = rows::task(row)?;
                let (parents, children) = links.remove(task.id.as_str()).unwrap_or_default();
                take(LinkedTask {
                    task,
                    parents,
                    children,
                })
            })
        })
    }

    /// The cards of a list.
    pub fn list(&self, query: &ListQuery) -> Result<Vec<Task>> {
        self.read(|tx| {
            let mut tasks = Vec::new();
            tx.each_listed(query, task_columns!(), |row| {
                tasks.push(rows::task(row)?);
                Ok(())
            })?;
            Ok(tasks)
        })
    }

    /// Everything about one card, from one state of the board.
    pub fn show(&self, id: &TaskId, filter: Option<&RunFilter>) -> Result<CardDetail> {
        let checked = self.check_mark(id)?;
        self.read(|tx| {
            let task = tx.known_task(id)?;
            let parents = tx.parents(id)?;
            let children = tx.children(id)?;
            Ok(CardDetail {
                task: LinkedTask {
                    task,
                    parents: parents.clone(),
                    children: children.clone(),
                },
                latest_summary: tx.latest_summary(id)?,
                parents,
                children,
                comments: tx.comments(id)?,
                events: tx.events_of(id)?,
                runs: tx.runs(id, filter)?,
                checks: tx.checks(id)?,
                checked,
            })
        })
    }

    /// Cards a card waits for.
    pub fn parents(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.read(|tx| tx.parents(id))
    }

    /// Cards that wait for a card.
    pub fn children(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.read(|tx| tx.children(id))
    }

    /// The attempts at a card, oldest first.
    pub fn runs(&self, id: &TaskId, filter: Option<&RunFilter>) -> Result<Vec<Run>> {
        self.read(|tx| tx.runs(id, filter))
    }

    /// One attempt.
    pub fn run(&self, run: RunId) -> Result<Option<Run>> {
        self.read(|tx| {
            tx.one(
                concat!(
                    "SELECT ",
                    run_columns!(),
                    " FROM task_runs r WHERE r.id = ?1"
                ),
                [run.0],
                rows::run,
            )
        })
    }

    /// When the next scheduled card is due.
    pub fn next_scheduled(&self) -> Result<Option<i64>> {
        self.read(|tx| {
            tx.one(
                "SELECT scheduled_at FROM tasks
                 WHERE status = 'scheduled' AND scheduled_at IS NOT NULL
                 ORDER BY scheduled_at LIMIT 1",
                NONE,
                |row| Cells::new(row).int(),
            )
        })
    }

    /// The latest summary of each of these cards that has one.
    pub fn latest_summaries(&self, ids: &[TaskId]) -> Result<HashMap<TaskId, String>> {
        self.read(|tx| {
            let found = tx.all(
                "SELECT task_id, summary FROM (
                     SELECT r.task_id, r.summary, row_number() OVER (
                         PARTITION BY r.task_id
                         ORDER BY COALESCE(r.ended_at, r.started_at) DESC, r.id DESC) AS place
                     FROM json_each(?1) j JOIN task_runs r ON r.task_id = j.value
                     WHERE COALESCE(r.summary, '') <> '') w
                 WHERE place = 1",
                [json_list(ids)],
                |row| {
                    let mut cells = Cells::new(row);
                    Ok((TaskId::new(cells.text()?), cells.text()?))
                },
            )?;
            Ok(found.into_iter().collect())
        })
    }
}

impl Transaction<'_> {
    pub(super) fn parents(&self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.ids(
            "SELECT parent_id FROM task_links WHERE child_id = ?1 ORDER BY parent_id",
            [id.as_str()],
        )
    }

    pub(super) fn latest_summary(&self, id: &TaskId) -> Result<Option<String>> {
        self.one(
            "SELECT summary FROM task_runs WHERE task_id = ?1 AND COALESCE(summary, '') <> ''
             ORDER BY COALESCE(ended_at, started_at) DESC, +id DESC LIMIT 1",
            [id.as_str()],
            |row| Cells::new(row).text(),
        )
    }

    pub(super) fn runs(&self, id: &TaskId, filter: Option<&RunFilter>) -> Result<Vec<Run>> {
        let (status, outcome) = match filter {
            Some(RunFilter::Status(word)) => (Some(word), None),
            Some(RunFilter::Outcome(word)) => (None, Some(word)),
            None => (None, None),
        };
        self.all(
            concat!(
                "SELECT ",
                run_columns!(),
                " FROM task_runs r WHERE r.task_id = ?1 AND (?2 IS NULL OR r.status = ?2) \
                 AND (?3 IS NULL OR r.outcome = ?3) ORDER BY r.started_at, r.id"
            ),
            params![id.as_str(), status, outcome],
            rows::run,
        )
    }

    fn listed_ids(&self, query: &ListQuery) -> Result<Vec<TaskId>> {
        let mut ids = Vec::new();
        self.each_listed(query, "t.id", |row| {
            ids.push(TaskId::new(Cells::new(row).text()?));
            Ok(())
        })?;
        Ok(ids)
    }

    /// Runs a list query. Only the conditions that are asked for are part of it, so that SQLite can
    /// choose an index; texts of the user are always bound.
    fn each_listed(
        &self,
        query: &ListQuery,
        columns: &str,
        take: impl FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let mut sql = format!("SELECT {columns} FROM tasks t WHERE 1 = 1");
        let assignee = query
            .assignee
            .as_deref()
            .map(|name| name.trim().to_lowercase());
        let conditions = [
            ("t.assignee", assignee.as_deref()),
            ("t.status", query.status.map(Status::as_str)),
            ("t.tenant", query.tenant.as_deref()),
            ("t.session_id", query.session_id.as_deref()),
            (
                "t.workflow_template_id",
                query.workflow_template_id.as_deref(),
            ),
            ("t.current_step_key", query.step_key.as_deref()),
        ];
        let mut bound = Vec::new();
        for (column, value) in conditions {
            if let Some(value) = value {
                bound.push(Param::Text(value));
                sql.push_str(&format!(" AND {column} = ?{}", bound.len()));
            }
        }
        let mut order = Cow::Borrowed(query.sort.unwrap_or(SortOrder::Priority).sql());
        if !query.include_archived && query.status != Some(Status::Archived) {
            if query.status.is_none() && self.has_many_archived()? {
                sql.push_str(" AND (t.status < 'archived' OR t.status > 'archived')");
                // The plus keeps SQLite from walking past all the archived ones in this order.
                order = order.replace("t.priority", "+t.priority").into();
            } else {
                sql.push_str(" AND t.status <> 'archived'");
            }
        }
        sql.push_str(&order);
        if let Some(limit) = query.limit {
            bound.push(Param::Int(i64::from(limit)));
            sql.push_str(&format!(" LIMIT ?{}", bound.len()));
        }
        if query.offset > 0 {
            // SQLite has no OFFSET without a LIMIT.
            if query.limit.is_none() {
                bound.push(Param::Int(i64::MAX));
                sql.push_str(&format!(" LIMIT ?{}", bound.len()));
            }
            bound.push(Param::Int(i64::from(query.offset)));
            sql.push_str(&format!(" OFFSET ?{}", bound.len()));
        }
        self.each(&sql, &bound, take)
    }

    /// Whether stepping over the archived cards one by one would be slow.
    fn has_many_archived(&self) -> Result<bool> {
        self.holds(
            "SELECT EXISTS (SELECT 1 FROM tasks WHERE status = 'archived' LIMIT 1 OFFSET ?1)",
            [FEW_ARCHIVED],
        )
    }

    /// Parents and children of these cards, or of all.
    fn links(&self, within: Option<&[TaskId]>) -> Result<HashMap<String, Neighbours>> {
        let pairs = match within {
            None => self.all(
                "SELECT parent_id, child_id FROM task_links ORDER BY parent_id, child_id",
                NONE,
                pair,
            )?,
            Some(ids) => self.all(
                "SELECT l.parent_id, l.child_id FROM json_each(?1) j
                     JOIN task_links l ON l.parent_id = j.value
                 UNION
                 SELECT l.parent_id, l.child_id FROM json_each(?1) j
                     JOIN task_links l ON l.child_id = j.value",
                [json_list(ids)],
                pair,
            )?,
        };
        let mut links: HashMap<String, Neighbours> = HashMap::new();
        for (parent, child) in pairs {
            links
                .entry(parent.clone())
                .or_default()
                .1
                .push(TaskId::new(child.as_str()));
            links.entry(child).or_default().0.push(TaskId::new(parent));
        }
        Ok(links)
    }
}

fn pair(row: &dyn Row) -> Result<(String, String)> {
    let mut cells = Cells::new(row);
    Ok((cells.text()?, cells.text()?))
}

impl RunFilter {
    /// Reads the pair of flags `--state-type` and `--state-name`.
    pub fn parse(kind: &str, word: &str) -> Result<Self> {
        match kind {
            "status" => Ok(Self::Status(word.to_owned())),
            "outcome" => Ok(Self::Outcome(word.to_owned())),
            other => Err(Error::BadRequest(format!(
                "attempts can be filtered by status or outcome, not by '{}'",
                crate::shown(other, 32)
            ))),
        }
    }
}
