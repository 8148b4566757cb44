//! `kanban_create`: a card for somebody.

use std::path::Path;

use hermes_board::model::{Assignee, SkillList, Task, WorkspaceKind};
use hermes_board::store::{BoardStore, NewTask, ProjectLink, StartIn};
use hermes_board::{ChatAddress, NewSubscription, SqliteBoard, find_project};
use hermes_config::{Environment, vars};
use serde_json::{Map, Value};

use super::desk::{KanbanDesk, named_tasks, texts};
use super::show::BOARD;
use super::verb::{Audience, Call, Refusal, Verb, facts};
use crate::argument::{Argument, Kind};
use crate::toolset::TOOLSET_NAMES;

pub(super) const CREATE: Verb = Verb {
    name: "kanban_create",
    description: "Files a card on the task board for another agent. It is worked on in a conversation \
                  of its own that knows nothing but the card: put everything needed into body. \
                  assignee must be a profile that exists. With parents it waits until they are done \
                  and reads what they handed over. Work that grows out of a card is filed this way \
                  instead of being done on the side.",
    arguments: &[
        Argument::required("title", Kind::Text, "What is to be achieved, in one line."),
        Argument::required("assignee", Kind::Text, "Profile that works on it."),
        Argument::optional("body", Kind::Text, "Everything the worker has to know."),
        Argument::optional("parents", Kind::Texts, "Cards it waits for."),
        Argument::optional("tenant", Kind::Text, "Namespace inside the board."),
        Argument::optional(
            "priority",
            Kind::Int {
                min: i64::MIN,
                max: i64::MAX,
            },
            "Higher goes first. Default 0.",
        ),
        Argument::optional(
            "workspace_kind",
            Kind::Choice(&["scratch", "dir", "worktree"]),
            "scratch: a directory of its own, removed afterwards. dir: the one in workspace_path. \
             worktree: a branch of a repository.",
        ),
        Argument::optional(
            "workspace_path",
            Kind::Text,
            "Absolute path, for dir and worktree.",
        ),
        Argument::optional("project", Kind::Text, "Project it belongs to."),
        Argument::optional(
            "triage",
            Kind::Flag,
            "It has to be specified before it is worked on.",
        ),
        Argument::optional(
            "idempotency_key",
            Kind::Text,
            "The same key again gives the card that has it instead of a second one.",
        ),
        Argument::optional(
            "max_runtime_seconds",
            Kind::Int {
                min: 1,
                max: i64::MAX,
            },
            "Longest time of an attempt.",
        ),
        Argument::optional(
            "initial_status",
            Kind::Choice(&["running", "blocked"]),
            "blocked: it waits until somebody unblocks it.",
        ),
        Argument::optional("skills", Kind::Texts, "Skills its worker loads."),
        Argument::optional(
            "goal_mode",
            Kind::Flag,
            "Its worker goes on until a judge finds the goal reached.",
        ),
        Argument::optional(
            "goal_max_turns",
            Kind::Int {
                min: 1,
                max: i64::MAX,
            },
            "Most turns with goal_mode.",
        ),
        BOARD,
    ],
    audience: Audience::All,
    run: create,
};

fn create(call: &Call<'_>) -> Result<Map<String, Value>, Refusal> {
    let desk = call.desk;
    let mut store = desk.open(call.args)?;
    let new = new_card(call, &store)?;
    let task = store.create(&new)?.task;
    let subscribed = desk
        .follower
        .as_ref()
        .is_some_and(|follower| follow(&mut store, &task, follower));
    Ok(facts! {
        "task_id": task.id,
        "status": task.status_word(),
        "subscribed": subscribed,
    })
}

/// A card is worth more than the news about it: nothing that goes wrong here undoes it.
fn follow(store: &mut SqliteBoard, task: &Task, follower: &NewSubscription) -> bool {
    let followed = store.subscribe(&task.id, follower);
    if let Err(error) = &followed {
        tracing::warn!(%error, card = task.id.as_str(), "nobody follows the new card");
    }
    followed.is_ok()
}

fn new_card(call: &Call<'_>, store: &SqliteBoard) -> Result<NewTask, Refusal> {
    let args = call.args;
    let desk = call.desk;
    let text = |name: &str| {
        let text = args[name].as_str().map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let title = call.words("title").ok_or("The title is empty.")?;
    let skills = texts(args, "skills");
    let place = place(desk, args, store)?;
    let blocked = text("initial_status") == Some("blocked");
    let triage = args["triage"] == Value::Bool(true);
    if blocked && triage {
        return Err(Refusal::from(
            "A card starts in one place: leave out triage, or initial_status.",
        ));
    }
    Ok(NewTask {
        body: call.words("body"),
        assignee: text("assignee").map(Assignee::parse).transpose()?,
        created_by: Some(desk.author.clone()),
        workspace: place.kind,
        workspace_path: place.path,
        project: place.project,
        tenant: text("tenant")
            .map(str::to_owned)
            .or_else(|| desk.tenant.clone()),
        priority: args["priority"].as_i64().unwrap_or(0),
        parents: named_tasks(args, "parents"),
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
                TOOLSET_NAMES,
            )?),
        },
        goal_mode: args["goal_mode"] == Value::Bool(true),
        goal_max_turns: args["goal_max_turns"].as_i64(),
        session_id: call.context.conversation.session_id.clone(),
        ..NewTask::titled(title)
    })
}

/// Where the card is worked on.
struct Place {
    kind: WorkspaceKind,
    path: Option<String>,
    project: Option<ProjectLink>,
}

/// As the call says; where it says nothing, as the worker's own card, whose follow-ups are usually
/// about the same files. A scratch workspace is never shared: it goes with its card.
fn place(desk: &KanbanDesk, args: &Value, store: &SqliteBoard) -> Result<Place, Refusal> {
    let named = args["project"].as_str();
    let project = named.and_then(|name| find_project(&desk.profile_home, name));
    let path = args["workspace_path"].as_str().map(str::trim);
    let path = path.filter(|path| !path.is_empty());
    let Some(kind) = args["workspace_kind"]
        .as_str()
        .and_then(WorkspaceKind::parse)
    else {
        if path.is_some() {
            return Err(Refusal::from(
                "workspace_path needs workspace_kind 'dir' or 'worktree'.",
            ));
        }
        return inherited(desk, store, project);
    };
    let path = match (kind, path) {
        (WorkspaceKind::Scratch, Some(_)) => {
            return Err(Refusal::from(
                "A scratch workspace takes no workspace_path.",
            ));
        }
        (_, Some(path)) => Some(absolute(desk, path)?),
        (_, None) => None,
    };
    Ok(Place {
        kind,
        path,
        project,
    })
}

fn inherited(
    desk: &KanbanDesk,
    store: &SqliteBoard,
    project: Option<ProjectLink>,
) -> Result<Place, Refusal> {
    let mut place = Place {
        kind: WorkspaceKind::Scratch,
        path: None,
        project,
    };
    let Some(worker) = &desk.worker else {
        return Ok(place);
    };
    let Some(own) = store.task(&worker.task)? else {
        return Ok(place);
    };
    if place.project.is_some() {
        return Ok(place);
    }
    place.project = own
        .project_id
        .as_deref()
        .and_then(|id| find_project(&desk.profile_home, id));
    if place.project.is_none()
        && let Some(kind @ (WorkspaceKind::Dir | WorkspaceKind::Worktree)) = own.workspace()
        && own.workspace_path.is_some()
    {
        place.kind = kind;
        place.path = own.workspace_path;
    }
    Ok(place)
}

fn absolute(desk: &KanbanDesk, path: &str) -> Result<String, Refusal> {
    let path = desk.home.expand(Path::new(path));
    if !path.is_absolute() {
        return Err(Refusal::from(format!(
            "workspace_path must be absolute, not '{}'.",
            path.display()
        )));
    }
    Ok(path.to_string_lossy().into_owned())
}

/// The chat that a process answers, as variables name it: one on a platform, else the terminal.
pub(super) fn follower(env: &Environment, profile: Option<&str>) -> Option<NewSubscription> {
    let text = |var: &vars::Var| env.text(var).map(str::to_owned);
    let chat = match (
        text(&vars::HERMES_SESSION_PLATFORM),
        text(&vars::HERMES_SESSION_CHAT_ID),
    ) {
        (Some(platform), Some(chat_id)) => ChatAddress {
            platform,
            chat_id,
            thread_id: text(&vars::HERMES_SESSION_THREAD_ID).unwrap_or_default(),
        },
        _ => ChatAddress {
            platform: "tui".to_owned(),
            chat_id: text(&vars::HERMES_SESSION_KEY)?,
            thread_id: String::new(),
        },
    };
    Some(NewSubscription {
        chat,
        user_id: text(&vars::HERMES_SESSION_USER_ID),
        notifier_profile: profile.map(str::to_owned),
    })
}
