//! Creating cards.

use std::path::Path;

use serde_json::json;

use crate::model::{Assignee, SkillList, Status, TaskId, WorkspaceKind};
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::store::{Created, NewTask, StartIn};
use crate::{Error, RepositoryAddress, RepositoryError, Result};

/// Longest part of a title in the name of a branch.
const BRANCH_TITLE: usize = 40;
/// Names tried before something must be wrong with their source.
const ID_TRIES: usize = 8;

/// The workspace of a new card, once the card has a name.
struct NewWorkspace {
    kind: WorkspaceKind,
    path: Option<String>,
    branch: Option<String>,
}

impl Transaction<'_> {
    pub(super) fn create(&self, new: &NewTask, default_workdir: Option<&str>) -> Result<Created> {
        if let Some(key) = new.idempotency_key.as_deref()
            && let Some(known) = self
                .ids(
                    "SELECT id FROM tasks WHERE idempotency_key = ?1 AND status <> 'archived'
                 ORDER BY created_at DESC, rowid DESC LIMIT 1",
                    [key],
                )?
                .pop()
        {
            return Ok(Created {
                task: self.known_task(&known)?,
                existed: true,
            });
        }
        let parents = distinct(&new.parents);
        let missing = self.missing(&parents)?;
        if !missing.is_empty() {
            return Err(Error::UnknownParents { ids: missing });
        }
        let status = self.first_status(new, &parents)?;
        let id = self.fresh_id()?;
        let workspace = workspace(new, &id, default_workdir);
        self.insert_card(new, &id, status, &workspace)?;
        for parent in &parents {
            self.insert_link(parent, &id)?;
        }
        let skills = new.skills.as_ref().map(SkillList::names);
        self.append(
            &id,
            None,
            "created",
            json!({
                "assignee": new.assignee,
                "status": status,
                "parents": parents,
                "tenant": new.tenant,
                "branch_name": workspace.branch,
                "skills": skills.filter(|names| !names.is_empty()),
                "goal_mode": new.goal_mode.then_some(true),
            }),
        )?;
        match new.start {
            // Without this event the next tick would promote the card.
            StartIn::Blocked => {
                self.append(
                    &id,
                    None,
                    "blocked",
                    json!({
                        "reason": null,
                        "kind": null,
                        "recurrences": 0,
                        "source": "initial_status",
                    }),
                )?;
            }
            StartIn::Scheduled(at) => {
                self.append(&id, None, "scheduled", json!({"reason": null, "at": at}))?;
            }
            StartIn::Work | StartIn::Triage => {}
        }
        self.set_checks(&id, &new.checks)?;
        if let Some(action) = &new.on_approve {
            self.set_on_approve(&id, Some(action))?;
        }
        Ok(Created {
            task: self.known_task(&id)?,
            existed: false,
        })
    }

    fn first_status(&self, new: &NewTask, parents: &[TaskId]) -> Result<Status> {
        Ok(match new.start {
            StartIn::Blocked => Status::Blocked,
            StartIn::Triage => Status::Triage,
            StartIn::Scheduled(_) => Status::Scheduled,
            StartIn::Work => {
                let waits = self.holds(
                    "SELECT EXISTS (SELECT 1 FROM json_each(?1) j JOIN tasks p ON p.id = j.value
                     WHERE p.status NOT IN ('done', 'archived'))",
                    [super::transaction::json_list(parents)],
                )?;
                if waits { Status::Todo } else { Status::Ready }
            }
        })
    }

    /// A name that no card has.
    pub(super) fn fresh_id(&self) -> Result<TaskId> {
        for _ in 0..ID_TRIES {
            let id = self.ids.next_task();
            let taken = self.holds(
                "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1)",
                [id.as_str()],
            )?;
            if !taken {
                return Ok(id);
            }
        }
        Err(Error::BadRequest(
            "could not find a free id for the new card".to_owned(),
        ))
    }

    fn insert_card(
        &self,
        new: &NewTask,
        id: &TaskId,
        status: Status,
        workspace: &NewWorkspace,
    ) -> Result<()> {
        let scheduled_at = match new.start {
            StartIn::Scheduled(at) => Some(at),
            StartIn::Work | StartIn::Triage | StartIn::Blocked => None,
        };
        self.execute(
            "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by, created_at,
                 workspace_kind, workspace_path, branch_name, project_id, tenant, idempotency_key,
                 max_runtime_seconds, skills, max_retries, model_override, goal_mode,
                 goal_max_turns, session_id, scheduled_at, sandbox, filed_within, host_labels,
                 host_name, repository)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)",
            params![
                id.as_str(),
                new.title.trim(),
                new.body,
                new.assignee.as_ref().map(Assignee::as_str),
                status.as_str(),
                new.priority,
                new.created_by,
                self.now,
                workspace.kind.as_str(),
                workspace.path,
                workspace.branch,
                new.project.as_ref().map(|project| project.id.as_str()),
                new.tenant,
                new.idempotency_key,
                new.max_runtime_seconds,
                new.skills
                    .as_ref()
                    .map(|skills| json!(skills.names()).to_string()),
                new.max_retries,
                new.model_override,
                i64::from(new.goal_mode),
                new.goal_max_turns,
                new.session_id,
                scheduled_at,
                new.sandbox,
                new.filed_within,
                label_list(&new.placement.labels),
                new.placement.host,
                new.repository
            ],
        )?;
        Ok(())
    }
}

/// Labels as a column has them; none are no value.
pub(super) fn label_list(labels: &[String]) -> Option<String> {
    (!labels.is_empty()).then(|| json!(labels).to_string())
}

/// Refuses what is wrong with a request whatever is on the board.
pub(super) fn validate(new: &NewTask) -> Result<()> {
    if let Some(address) = &new.repository {
        RepositoryAddress::parse(address)?;
        if new.workspace != WorkspaceKind::Worktree || new.workspace_path.is_some() {
            return Err(RepositoryError::NoWorktree.into());
        }
    }
    if new.title.trim().is_empty() {
        return Err(Error::Blank {
            what: "the title of a card",
        });
    }
    if new.branch_name.is_some()
        && new.workspace != WorkspaceKind::Worktree
        && new.project.is_none()
    {
        return Err(Error::BranchWithoutWorktree);
    }
    if new
        .checks
        .iter()
        .any(|check| check.command.trim().is_empty())
    {
        return Err(Error::Blank {
            what: "the command of a check",
        });
    }
    if new.max_retries.is_some_and(|retries| retries < 1) {
        return Err(Error::BadRequest(
            "the number of retries must be at least 1".to_owned(),
        ));
    }
    Ok(())
}

fn workspace(new: &NewTask, id: &TaskId, default_workdir: Option<&str>) -> NewWorkspace {
    let repository = new
        .project
        .as_ref()
        .and_then(|project| project.repository.as_deref());
    let kind = match (new.workspace, repository) {
        (WorkspaceKind::Scratch, Some(_)) => WorkspaceKind::Worktree,
        (kind, _) => kind,
    };
    let own = new.workspace_path.clone();
    let (path, branch) = match (&new.project, kind) {
        (Some(project), WorkspaceKind::Worktree) => (
            own.or_else(|| repository.map(|repository| worktree_path(repository, id))),
            new.branch_name
                .clone()
                .or_else(|| Some(branch_name(&project.slug, id, &new.title))),
        ),
        _ => (own, new.branch_name.clone()),
    };
    NewWorkspace {
        kind,
        // One that is cloned has its place on each machine.
        path: path
            .filter(|_| new.repository.is_none())
            .or_else(|| default_workdir.map(str::to_owned)),
        branch,
    }
}

fn worktree_path(repository: &Path, id: &TaskId) -> String {
    repository
        .join(".worktrees")
        .join(id.as_str())
        .to_string_lossy()
        .into_owned()
}

/// `<project>/<card>-<title>`, the title reduced to what every file system and shell takes.
fn branch_name(project: &str, id: &TaskId, title: &str) -> String {
    let mut words = String::new();
    for char in title.chars().flat_map(char::to_lowercase) {
        if char.is_ascii_alphanumeric() {
            words.push(char);
        } else if !words.ends_with('-') && !words.is_empty() {
            words.push('-');
        }
    }
    let words = hermes_text::cut(&words, BRANCH_TITLE).trim_end_matches('-');
    if words.is_empty() {
        format!("{project}/{id}")
    } else {
        format!("{project}/{id}-{words}")
    }
}

/// Each name once, in the order given, blanks left out.
fn distinct(ids: &[TaskId]) -> Vec<TaskId> {
    let mut distinct: Vec<TaskId> = Vec::with_capacity(ids.len());
    for id in ids {
        if !id.as_str().is_empty() && !distinct.contains(id) {
            distinct.push(id.clone());
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn branches_are_named_after_project_card_and_title() {
        let id = TaskId::new("t_1");
        assert_eq!(
            branch_name("site", &id, "Fix: the Übermenü!"),
            "site/t_1-fix-the-bermen"
        );
        assert_eq!(branch_name("site", &id, "???"), "site/t_1");
        let long = branch_name("site", &id, &"word ".repeat(30));
        assert_eq!(long, "site/t_1-word-word-word-word-word-word-word-word");
    }
}
