//! Out of triage: specifying a card, or decomposing it into several.
//!
//! The proposal of a model has been parsed before it comes here; it is written whole or not at all.

use serde_json::{Value, json};

use crate::model::{Assignee, Status, Task, TaskId, WorkspaceKind};
use crate::sqlite::StoredBoard;
use crate::sqlite::block::filled;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::store::Decomposed;
use crate::{Error, Result};

/// Who decomposes if nobody is named.
const DECOMPOSER: &str = "decomposer";
/// Longest title of a card from a plan.
const TITLE_LENGTH: usize = 200;

/// A specification of a card in triage; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Specification {
    pub title: Option<String>,
    pub body: Option<String>,
    pub assignee: Option<Assignee>,
    /// Who specified it; named in a comment if something changed.
    pub author: Option<String>,
}

/// A plan that turns one card into several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposition {
    /// Assignee of the whole once the parts are done.
    pub root_assignee: Option<Assignee>,
    pub children: Vec<PlannedChild>,
    pub author: Option<String>,
    /// Whether parts that wait for nothing become ready at once.
    pub promote: bool,
}

/// One part of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChild {
    pub title: String,
    pub body: Option<String>,
    pub assignee: Option<Assignee>,
    /// Parts it waits for, by their position in the plan.
    pub parents: Vec<usize>,
    /// Workspace; that of the whole if not given.
    pub workspace: Option<(WorkspaceKind, Option<String>)>,
}

impl StoredBoard {
    /// Takes a card out of triage; returns it as it is now.
    pub fn specify(&mut self, id: &TaskId, specification: &Specification) -> Result<Task> {
        if specification
            .title
            .as_deref()
            .is_some_and(|title| title.trim().is_empty())
        {
            return Err(Error::Blank {
                what: "the title of a card",
            });
        }
        self.write(|tx| {
            let before = tx.known_task(id)?;
            if before.status() != Status::Triage {
                return Err(Error::not_allowed(id, "specify", before.status_word()));
            }
            let changed = tx.apply_specification(&before, specification)?;
            let author = filled(specification.author.as_deref());
            if let Some(author) = author
                && !changed.is_empty()
            {
                tx.insert_comment(
                    id,
                    author.trim(),
                    &format!("Specified: {} changed, out of triage.", changed.join(", ")),
                )?;
            }
            let payload = if changed.is_empty() {
                Value::Null
            } else {
                json!({"changed_fields": changed})
            };
            tx.append(id, None, "specified", payload)?;
            tx.promote_among(std::slice::from_ref(id))?;
            tx.known_task(id)
        })
    }

    /// Turns a card in triage into several, for all of which it then waits.
    pub fn decompose(&mut self, id: &TaskId, plan: &Decomposition) -> Result<Decomposed> {
        check(plan)?;
        self.write(|tx| {
            let root = tx.known_task(id)?;
            if root.status() != Status::Triage {
                return Err(Error::not_allowed(id, "decompose", root.status_word()));
            }
            let author = filled(plan.author.as_deref()).map(str::trim);
            let children = tx.create_children(&root, plan, author.unwrap_or(DECOMPOSER))?;
            tx.execute(
                "UPDATE tasks SET status = 'todo', assignee = COALESCE(?2, assignee) WHERE id = ?1",
                params![
                    id.as_str(),
                    plan.root_assignee.as_ref().map(Assignee::as_str)
                ],
            )?;
            if let Some(author) = author {
                let names: Vec<&str> = children.iter().map(TaskId::as_str).collect();
                tx.insert_comment(
                    id,
                    author,
                    &format!(
                        "Split into {}. This card wakes up when all of them are done.",
                        names.join(", ")
                    ),
                )?;
            }
            tx.append(
                id,
                None,
                "decomposed",
                json!({"child_ids": children, "root_assignee": plan.root_assignee.as_ref()}),
            )?;
            let promoted = if plan.promote {
                tx.promote_among(&children)?
            } else {
                Vec::new()
            };
            Ok(Decomposed { children, promoted })
        })
    }
}

impl Transaction<'_> {
    fn apply_specification(
        &self,
        before: &Task,
        specification: &Specification,
    ) -> Result<Vec<&'static str>> {
        let title = specification
            .title
            .as_deref()
            .map(str::trim)
            .filter(|title| *title != before.title);
        let body = specification
            .body
            .as_deref()
            .filter(|body| *body != before.body.as_deref().unwrap_or_default());
        let assignee = specification
            .assignee
            .as_ref()
            .map(Assignee::as_str)
            .filter(|assignee| Some(*assignee) != before.assignee.as_deref());
        self.execute(
            "UPDATE tasks SET status = 'todo', title = COALESCE(?2, title),
                 body = COALESCE(?3, body), assignee = COALESCE(?4, assignee)
             WHERE id = ?1",
            params![before.id.as_str(), title, body, assignee],
        )?;
        let changes = [
            ("title", title.is_some()),
            ("body", body.is_some()),
            ("assignee", assignee.is_some()),
        ];
        Ok(changes
            .into_iter()
            .filter_map(|(field, changed)| changed.then_some(field))
            .collect())
    }

    fn create_children(&self, root: &Task, plan: &Decomposition, by: &str) -> Result<Vec<TaskId>> {
        let mut children = Vec::with_capacity(plan.children.len());
        for child in &plan.children {
            let id = self.fresh_id()?;
            let (kind, path) = match &child.workspace {
                None => (root.workspace_kind.clone(), root.workspace_path.clone()),
                // The directory of the whole fits only a part of the same kind.
                Some((kind, None)) if kind.as_str() == root.workspace_kind => {
                    (root.workspace_kind.clone(), root.workspace_path.clone())
                }
                Some((kind, path)) => (kind.as_str().to_owned(), path.clone()),
            };
            // A part has a worktree of its own, from the same repository.
            let repository = root.repository.as_deref();
            let repository = repository.filter(|_| kind == root.workspace_kind);
            let path = path.filter(|_| repository.is_none());
            self.execute(
                "INSERT INTO tasks (id, title, body, assignee, status, workspace_kind,
                     workspace_path, tenant, created_at, created_by, filed_within,
                     repository)
                 VALUES (?1, ?2, ?3, ?4, 'todo', ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    id.as_str(),
                    hermes_text::cut(child.title.trim(), TITLE_LENGTH),
                    child.body,
                    child.assignee.as_ref().map(Assignee::as_str),
                    kind,
                    path,
                    root.tenant,
                    self.now,
                    by,
                    root.filed_within,
                    repository
                ],
            )?;
            let root = &root.id;
            self.append(
                &id,
                None,
                "created",
                json!({"by": by, "from_decompose_of": root}),
            )?;
            children.push(id);
        }
        for (child, planned) in children.iter().zip(&plan.children) {
            for parent in planned
                .parents
                .iter()
                .filter_map(|place| children.get(*place))
            {
                self.insert_link(parent, child)?;
                self.append(
                    child,
                    None,
                    "linked",
                    json!({"parent": parent, "child": child}),
                )?;
            }
            self.insert_link(child, &root.id)?;
        }
        Ok(children)
    }
}

fn check(plan: &Decomposition) -> Result<()> {
    if plan.children.is_empty() {
        return Err(Error::BadRequest(
            "a plan needs at least one card".to_owned(),
        ));
    }
    for (place, child) in plan.children.iter().enumerate() {
        if child.title.trim().is_empty() {
            return Err(Error::Blank {
                what: "the title of a card",
            });
        }
        let outside = child
            .parents
            .iter()
            .any(|parent| *parent >= plan.children.len() || *parent == place);
        if outside {
            return Err(Error::BadRequest(format!(
                "card {place} of the plan waits for a card outside the plan"
            )));
        }
    }
    if is_acyclic(plan) {
        Ok(())
    } else {
        Err(Error::BadRequest(
            "the cards of the plan depend on each other in a cycle".to_owned(),
        ))
    }
}

/// Removes parts that wait for nothing until none is left, or only a cycle.
fn is_acyclic(plan: &Decomposition) -> bool {
    let mut waiting: Vec<(usize, &PlannedChild)> = plan.children.iter().enumerate().collect();
    loop {
        let open: Vec<usize> = waiting.iter().map(|(place, _)| *place).collect();
        waiting.retain(|(_, child)| child.parents.iter().any(|parent| open.contains(parent)));
        if waiting.len() == open.len() {
            return waiting.is_empty();
        }
    }
}
