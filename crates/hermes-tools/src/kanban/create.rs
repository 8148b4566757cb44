//! `kanban_create`: a card for another agent.

use std::path::{Path, PathBuf};

use hermes_board::model::{Assignee, SkillList, Task, TaskId, WorkspaceKind};
use hermes_board::store::{BoardStore, NewTask, ProjectLink, StartIn};
use hermes_board::{NewSubscription, StoredBoard, find_project};
use serde_json::{Value, json};

use super::access::BoardAccess;
use super::tool::{BOARD, BoardAnswer, BoardCall, BoardRefusal, KANBAN};
use crate::argument::{ArgKind, Argument, text, texts};
use crate::tool::ToolSpec;
use crate::toolset::TOOLSET_NAMES;

pub(super) const CREATE: ToolSpec = ToolSpec {
    name: "kanban_create",
    description: "Creates a card on the task board for another agent. Its worker knows nothing but the \
                  card: put everything needed into body. assignee must be an existing profile. A \
                  card with parents waits until they are done, and its worker reads their results. \
                  Create a card for follow-up work instead of doing it on the side.",
    arguments: &[
        Argument::required("title", ArgKind::Text, "What to achieve, in one line."),
        Argument::required("assignee", ArgKind::Text, "Profile of the worker."),
        Argument::text("body", "Everything the worker needs to know."),
        Argument::texts("parents", "Cards that must be done first."),
        Argument::text("tenant", "Namespace inside the board."),
        Argument::optional(
            "priority",
            ArgKind::Int {
                min: i64::MIN,
                max: i64::MAX,
            },
            "Higher goes first. Default 0.",
        ),
        Argument::optional(
            "workspace_kind",
            ArgKind::Choice(&["scratch", "dir", "worktree"]),
            "scratch: a directory of its own, removed afterwards. dir: the directory workspace_path. \
             worktree: a git worktree on a branch of its own.",
        ),
        Argument::text("workspace_path", "Absolute path, for dir and worktree."),
        Argument::text("project", "Project of the card."),
        Argument::flag("triage", "Put the card into triage, to be specified first."),
        Argument::text(
            "idempotency_key",
            "A second call with the same key returns the existing card.",
        ),
        Argument::optional(
            "max_runtime_seconds",
            ArgKind::at_least(1),
            "Time limit of an attempt.",
        ),
        Argument::optional(
            "initial_status",
            ArgKind::Choice(&["running", "blocked"]),
            "blocked: the card waits until somebody unblocks it.",
        ),
        Argument::texts("skills", "Skills for the worker."),
        Argument::flag(
            "goal_mode",
            "The worker goes on until a judge finds the goal reached.",
        ),
        Argument::optional(
            "goal_max_turns",
            ArgKind::at_least(1),
            "Turn limit with goal_mode.",
        ),
        BOARD,
    ],
    ..KANBAN
};

pub(super) fn create(call: &BoardCall<'_>) -> BoardAnswer {
    let mut store = call.open()?;
    let new = new_card(call, &store)?;
    let task = store.create(&new)?.task;
    let subscribed = call
        .access
        .follower
        .as_ref()
        .is_some_and(|follower| follow(&mut store, &task, follower));
    let mut answer = json!({
        "task_id": task.id,
        "status": task.status_word(),
        "subscribed": subscribed,
    });
    let obstacle = call.access.workers.check_card(&mut store, &task, None)?;
    if let Some(obstacle) = obstacle.filter(|obstacle| obstacle.holds) {
        let problem = obstacle.problem;
        answer["warning"] = json!(format!("No worker can start for this card: {problem}."));
    }
    Ok(answer)
}

/// Subscribes the chat; a failure does not undo the card.
fn follow(store: &mut StoredBoard, task: &Task, follower: &NewSubscription) -> bool {
    let followed = store.subscribe(&task.id, follower);
    if let Err(error) = &followed {
        tracing::warn!(%error, card = task.id.as_str(), "could not subscribe to the new card");
    }
    followed.is_ok()
}

fn new_card(call: &BoardCall<'_>, store: &StoredBoard) -> Result<NewTask, BoardRefusal> {
    let args = call.args;
    let access = call.access;
    let text = |name: &str| text(args, name);
    let title = call.text("title").ok_or("The title is empty.")?;
    let skills = texts(args, "skills");
    let workspace = workspace(access, args, store)?;
    let blocked = text("initial_status") == Some("blocked");
    let triage = args["triage"] == Value::Bool(true);
    if blocked && triage {
        return Err("A card has one initial status: leave out triage or initial_status.".into());
    }
    let chosen = workspace.path.as_deref().map(Path::new);
    let rules = &access.workers.workspaces;
    let here = access.directory.as_deref();
    let caller = access.caller(store)?;
    Ok(NewTask {
        filed_within: caller.filed_within(store, rules, chosen, here)?,
        body: call.text("body"),
        assignee: text("assignee").map(Assignee::parse).transpose()?,
        created_by: Some(access.author.clone()),
        workspace: workspace.kind,
        workspace_path: workspace.path,
        project: workspace.project,
        tenant: text("tenant")
            .map(str::to_owned)
            .or_else(|| access.tenant.clone()),
        priority: args["priority"].as_i64().unwrap_or(0),
        parents: texts(args, "parents")
            .into_iter()
            .map(TaskId::new)
            .collect(),
        start: match (blocked, triage) {
            (true, _) => StartIn::Blocked,
            (false, true) => StartIn::Triage,
            (false, false) => StartIn::Work,
        },
        idempotency_key: text("idempotency_key").map(str::to_owned),
        max_runtime_seconds: args["max_runtime_seconds"].as_i64(),
        skills: match skills.as_slice() {
            [] => None,
            names => Some(SkillList::parse(
                names.iter().map(String::as_str),
                &TOOLSET_NAMES,
            )?),
        },
        goal_mode: args["goal_mode"] == Value::Bool(true),
        goal_max_turns: args["goal_max_turns"].as_i64(),
        session_id: call.context.conversation.session_id.clone(),
        ..NewTask::titled(title)
    })
}

struct NewWorkspace {
    kind: WorkspaceKind,
    path: Option<String>,
    project: Option<ProjectLink>,
}

/// The workspace that the call names, else that of the worker's own card, since follow-ups are
/// usually about the same files. A scratch workspace is never shared: it is removed with its card.
fn workspace(
    access: &BoardAccess,
    args: &Value,
    store: &StoredBoard,
) -> Result<NewWorkspace, BoardRefusal> {
    let named = args["project"].as_str();
    let project = named.and_then(|name| find_project(&access.profile_home, name));
    let path = text(args, "workspace_path");
    let Some(kind) = args["workspace_kind"]
        .as_str()
        .and_then(WorkspaceKind::parse)
    else {
        if path.is_some() {
            return Err("workspace_path needs workspace_kind 'dir' or 'worktree'.".into());
        }
        return inherited(access, store, project);
    };
    let path = match (kind, path) {
        (WorkspaceKind::Scratch, Some(_)) => {
            return Err("A scratch workspace takes no workspace_path.".into());
        }
        (_, Some(path)) => Some(absolute(access, store, path)?),
        (_, None) => None,
    };
    Ok(NewWorkspace {
        kind,
        path,
        project,
    })
}

fn inherited(
    access: &BoardAccess,
    store: &StoredBoard,
    project: Option<ProjectLink>,
) -> Result<NewWorkspace, BoardRefusal> {
    let mut workspace = NewWorkspace {
        kind: WorkspaceKind::Scratch,
        path: None,
        project,
    };
    let own = match access.worker() {
        Some(worker) if workspace.project.is_none() => store.task(&worker.task)?,
        _ => None,
    };
    let Some(own) = own else {
        return Ok(workspace);
    };
    workspace.project = own
        .project_id
        .as_deref()
        .and_then(|id| find_project(&access.profile_home, id));
    if workspace.project.is_none()
        && let Some(kind @ (WorkspaceKind::Dir | WorkspaceKind::Worktree)) = own.workspace()
        && own.workspace_path.is_some()
    {
        workspace.kind = kind;
        workspace.path = own.workspace_path;
    }
    Ok(workspace)
}

/// A directory in the worker's container as this machine knows it; `None` for any other.
fn on_host(
    access: &BoardAccess,
    store: &StoredBoard,
    path: &Path,
) -> Result<Option<PathBuf>, BoardRefusal> {
    let (Some(seen), Some(worker)) = (&access.context.workspace, access.worker()) else {
        return Ok(None);
    };
    let path = hermes_fs::without_dots(path);
    let Ok(below) = path.strip_prefix(seen) else {
        return Ok(None);
    };
    let card = store.task(&worker.task)?;
    let own = card.and_then(|card| card.workspace_path);
    Ok(own.map(|own| Path::new(&own).join(below)))
}

fn absolute(access: &BoardAccess, store: &StoredBoard, path: &str) -> Result<String, BoardRefusal> {
    let path = access.home.expand(Path::new(path));
    if !path.is_absolute() {
        return Err(format!("workspace_path must be absolute, not '{}'.", path.display()).into());
    }
    let path = on_host(access, store, &path)?.unwrap_or(path);
    Ok(path.to_string_lossy().into_owned())
}
