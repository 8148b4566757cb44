//! Cards: created, changed, moved, linked, commented on and deleted.

use std::time::Duration;

use hermes_board::model::{Assignee, LinkedTask, SkillList, Status, TaskId, WorkspaceKind};
use hermes_board::store::{
    BlockRequest, BoardStore as _, NewTask, PromoteRequest, ScheduleRequest, StartIn,
};
use hermes_home::{gateway_elsewhere, gateway_pid};
use hermes_tools::TOOLSET_NAMES;
use serde_json::{Map, Value, json};

use super::opened::{OpenBoard, card_id, parsed};
use super::view::card;
use crate::api::program;
use crate::call::{Answered, Call, missing, text_of};
use crate::http::ApiError;

/// Who creates and comments here.
const AUTHOR: &str = "dashboard";
/// Checks of a card may take long; a worker has some seconds to end.
const COMPLETE_LIMIT: Duration = Duration::from_mins(15);
const TIME_LIMIT: Duration = Duration::from_mins(2);
/// A model is asked.
const MODEL_LIMIT: Duration = Duration::from_mins(5);
/// Most cards that one request changes.
const MOST_CARDS: usize = 500;

fn shown(open: &OpenBoard, id: &TaskId) -> Result<Value, ApiError> {
    let linked = LinkedTask {
        task: open.task(id)?,
        parents: open.store.parents(id)?,
        children: open.store.children(id)?,
    };
    Ok(card(&linked, open.store.now()))
}

/// `POST /tasks`.
pub(crate) fn create(call: &Call) -> Answered {
    let title = call.required_text("title")?;
    let text = |name: &str| Ok::<_, ApiError>(call.text(name)?.map(str::to_owned));
    let skills = match call.texts("skills")?.filter(|names| !names.is_empty()) {
        Some(names) => Some(SkillList::parse(
            names.iter().map(String::as_str),
            &TOOLSET_NAMES,
        )?),
        None => None,
    };
    let path = text("workspace_path")?.filter(|path| !path.trim().is_empty());
    let workspace = match call.text("workspace_kind")?.unwrap_or("scratch") {
        "scratch" => WorkspaceKind::Scratch,
        "worktree" => WorkspaceKind::Worktree,
        "dir" => WorkspaceKind::Dir,
        _ => {
            let message = "must be scratch, worktree or dir";
            return Err(ApiError::invalid(
                &["body", "workspace_kind"],
                message,
                "enum",
            ));
        }
    };
    let parents = call.texts("parents")?.unwrap_or_default();
    let parents = parents
        .iter()
        .map(|id| parsed(id))
        .collect::<Result<_, _>>()?;
    let assignee = call
        .text("assignee")?
        .filter(|name| !name.trim().is_empty());
    let new = NewTask {
        body: text("body")?,
        assignee: assignee.map(Assignee::parse).transpose()?,
        created_by: Some(AUTHOR.to_owned()),
        workspace,
        workspace_path: path,
        tenant: text("tenant")?.filter(|name| !name.is_empty()),
        priority: call.number("priority")?.unwrap_or(0),
        parents,
        start: if call.flag("triage")?.unwrap_or(false) {
            StartIn::Triage
        } else {
            StartIn::Work
        },
        idempotency_key: text("idempotency_key")?.filter(|key| !key.is_empty()),
        max_runtime_seconds: call.number("max_runtime_seconds")?,
        skills,
        goal_mode: call.flag("goal_mode")?.unwrap_or(false),
        goal_max_turns: call.number("goal_max_turns")?,
        ..NewTask::titled(title)
    };
    let mut open = OpenBoard::of(call)?;
    let task = open.store.create(&new)?.task;
    let mut answer = json!({"task": shown(&open, &task.id)?});
    if task.status() == Status::Ready
        && task.assignee.is_some()
        && let Some(warning) = no_dispatcher(&open)?
    {
        answer["warning"] = json!(warning);
    }
    call.answer(answer)
}

/// What to say about a ready card that nobody will start a worker for.
fn no_dispatcher(open: &OpenBoard) -> Result<Option<&'static str>, ApiError> {
    let location = &open.context.location;
    let names = hermes_home::profiles::names(location)?;
    let homes = names.iter().map(|name| location.profile_home(name));
    let mut homes = homes.chain([location.home.clone()]);
    let has_gateway =
        homes.any(|home| gateway_pid(&home).is_some() || gateway_elsewhere(&home).is_some());
    let has_own = hermes_fs::FileLock::is_held(&open.home.dispatcher_lock()).unwrap_or(false);
    Ok(if !has_gateway && !has_own {
        Some("no dispatcher is running, so no worker is started for this card yet")
    } else if has_gateway && !has_own && !open.settings.dispatch_in_gateway {
        Some("kanban.dispatch_in_gateway is off, so the gateway starts no worker for this card")
    } else {
        None
    })
}

/// `PATCH /tasks/{task_id}`.
pub(crate) fn update(call: &Call) -> Answered {
    let id = card_id(call)?;
    let body = call.object()?.clone();
    let mut open = OpenBoard::of(call)?;
    open.task(&id)?;
    change(call, &mut open, &id, &body)?;
    call.answer(json!({"task": shown(&open, &id)?}))
}

fn number_of(body: &Map<String, Value>, name: &str) -> Result<Option<i64>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| {
            ApiError::invalid(&["body", name], "must be a whole number", "int_type")
        }),
    }
}

/// Changes one card as a body says.
fn change(
    call: &Call,
    open: &mut OpenBoard,
    id: &TaskId,
    body: &Map<String, Value>,
) -> Result<(), ApiError> {
    if let Some(name) = text_of(body, "assignee")? {
        let assignee = match name.trim() {
            "" => None,
            name => Some(Assignee::parse(name)?),
        };
        if body.get("reclaim_first") == Some(&Value::Bool(true)) {
            let to = assignee.as_ref().map_or("none", Assignee::as_str);
            refuse_flag(to)?;
            board_command(
                call,
                &["reassign", id.as_str(), to, "--reclaim"],
                TIME_LIMIT,
            )?;
        } else {
            open.store.assign(id, assignee.as_ref())?;
        }
    }
    if let Some(status) = text_of(body, "status")? {
        set_status(call, open, id, (status, body))?;
    }
    if let Some(priority) = number_of(body, "priority")? {
        let before = open.task(id)?.priority;
        open.store.prioritize(id, priority.saturating_sub(before))?;
    }
    let (title, text) = (text_of(body, "title")?, text_of(body, "body")?);
    if title.is_some() || text.is_some() {
        open.store.edit_text(id, title, text)?;
    }
    Ok(())
}

/// Moves a card to a column, by the way that leads there.
fn set_status(
    call: &Call,
    open: &mut OpenBoard,
    id: &TaskId,
    (wanted, body): (&str, &Map<String, Value>),
) -> Result<(), ApiError> {
    let task = open.task(id)?;
    if task.status_word() == wanted {
        return Ok(());
    }
    let reason = text_of(body, "block_reason")?.map(str::to_owned);
    match (wanted, task.status()) {
        ("done", _) => complete(call, id, body)?,
        ("archived", _) => {
            open.store.archive(id)?;
        }
        ("blocked", _) => {
            open.store.block(&BlockRequest {
                task: id.clone(),
                reason,
                kind: None,
                expected_run: None,
            })?;
        }
        ("scheduled", _) => open.store.schedule(&ScheduleRequest {
            task: id.clone(),
            reason,
            at: number_of(body, "scheduled_at")?,
            expected_run: None,
        })?,
        ("ready" | "todo", Status::Blocked | Status::Scheduled) => {
            open.store.unblock(id)?;
        }
        ("ready", Status::Running) => {
            board_command(call, &["reclaim", id.as_str()], TIME_LIMIT)?;
        }
        ("ready", Status::Todo) => open.store.promote(&PromoteRequest {
            task: id.clone(),
            actor: AUTHOR.to_owned(),
            reason: None,
            force: false,
            dry_run: false,
        })?,
        ("running", _) => {
            let message = "a card runs when a worker or a person claims it, not by being moved";
            return Err(ApiError::bad_request(message));
        }
        ("review", status) => {
            let message = format!("a card that is {} cannot become review", status.as_str());
            return Err(ApiError::conflict(message));
        }
        ("triage" | "todo" | "ready", status) => {
            if status == Status::Running {
                // Its worker ends first.
                board_command(call, &["reclaim", id.as_str()], TIME_LIMIT)?;
            }
            let to = match wanted {
                "triage" => Status::Triage,
                "todo" => Status::Todo,
                _ => Status::Ready,
            };
            open.store.move_to(id, to)?;
        }
        (other, _) => {
            let shown = hermes_text::shown(other, 40);
            return Err(ApiError::bad_request(format!("there is no status {shown}")));
        }
    }
    Ok(())
}

/// Completes a card with its checks.
fn complete(call: &Call, id: &TaskId, body: &Map<String, Value>) -> Result<(), ApiError> {
    let mut words = vec!["complete".to_owned(), id.to_string()];
    for (field, flag) in [("result", "--result"), ("summary", "--summary")] {
        if let Some(text) = text_of(body, field)?.filter(|text| !text.is_empty()) {
            words.push(format!("{flag}={text}"));
        }
    }
    if let Some(Value::Object(metadata)) = body.get("metadata") {
        words.push(format!("--metadata={}", Value::Object(metadata.clone())));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    board_command(call, &words, COMPLETE_LIMIT).map_err(|error| {
        ApiError::conflict(error.message().trim_start_matches("kanban: ").to_owned())
    })?;
    Ok(())
}

/// A name that a command would take for one of its flags.
fn refuse_flag(name: &str) -> Result<(), ApiError> {
    if name.starts_with('-') {
        let shown = hermes_text::shown(name, 80);
        return Err(ApiError::bad_request(format!("{shown} cannot be assigned")));
    }
    Ok(())
}

/// Runs a command of the board in question.
pub(super) fn board_command(
    call: &Call,
    words: &[&str],
    limit: Duration,
) -> Result<String, ApiError> {
    let context = call.context();
    let home = super::opened::board_home(&context);
    let board = super::opened::chosen(call, &home)?;
    let mut all = vec!["kanban", "--board", board.slug.as_str()];
    all.extend(words);
    program::run(&context, &all, limit)
}

/// `POST /tasks/bulk`: the same change for many cards; each has its own result.
pub(crate) fn bulk(call: &Call) -> Answered {
    let ids = call.texts("ids")?.unwrap_or_default();
    if ids.is_empty() {
        return Err(missing("ids"));
    }
    if ids.len() > MOST_CARDS {
        let message = format!("at most {MOST_CARDS} cards are changed at once");
        return Err(ApiError::bad_request(message));
    }
    let mut body = call.object()?.clone();
    if body.get("archive") == Some(&Value::Bool(true)) {
        body.insert("status".to_owned(), json!("archived"));
    }
    let mut open = OpenBoard::of(call)?;
    let mut results = Vec::new();
    for text in &ids {
        let changed = parsed(text).and_then(|id| {
            open.task(&id)?;
            change(call, &mut open, &id, &body)
        });
        results.push(match changed {
            Ok(()) => json!({"id": text, "ok": true}),
            Err(error) => json!({"id": text, "ok": false, "error": error.message()}),
        });
    }
    call.answer(json!({ "results": results }))
}

/// `DELETE /tasks/{task_id}`: with everything that belongs to it.
pub(crate) fn delete(call: &Call) -> Answered {
    let id = card_id(call)?;
    let mut open = OpenBoard::of(call)?;
    if open.task(&id)?.status() != Status::Archived {
        open.store.archive(&id)?;
    }
    open.store.purge(&id)?;
    hermes_board::files::discard_card_files(open.store.board(), &id)?;
    call.answer(json!({"deleted": true, "task_id": id}))
}

/// `POST /tasks/{task_id}/comments`.
pub(crate) fn comment(call: &Call) -> Answered {
    let body = call.required_text("body")?;
    let author = call.text("author")?.filter(|name| !name.trim().is_empty());
    let id = card_id(call)?;
    let mut open = OpenBoard::of(call)?;
    open.store
        .add_comment(&id, author.unwrap_or(AUTHOR), body)?;
    call.answer(json!({"ok": true}))
}

/// `POST /links`.
pub(crate) fn link(call: &Call) -> Answered {
    let parent = parsed(call.required_text("parent_id")?)?;
    let child = parsed(call.required_text("child_id")?)?;
    OpenBoard::of(call)?.store.link(&parent, &child)?;
    call.answer(json!({"ok": true}))
}

/// `DELETE /links`.
pub(crate) fn unlink(call: &Call) -> Answered {
    let id = |name: &str| {
        let text = call.query(name);
        let text =
            text.ok_or_else(|| ApiError::invalid(&["query", name], "is required", "missing"))?;
        parsed(&text)
    };
    let (parent, child) = (id("parent_id")?, id("child_id")?);
    let removed = OpenBoard::of(call)?.store.unlink(&parent, &child)?;
    call.answer(json!({"ok": removed.is_some()}))
}

/// `POST /tasks/{task_id}/reclaim`: ends the worker of a card.
pub(crate) fn reclaim(call: &Call) -> Answered {
    let id = card_id(call)?;
    let body = call.optional_object()?;
    OpenBoard::of(call)?.task(&id)?;
    let reason = text_of(&body, "reason")?.filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!("--reason={reason}"));
    let mut words = vec!["reclaim", id.as_str()];
    words.extend(reason.as_deref());
    board_command(call, &words, TIME_LIMIT)
        .map_err(|error| ApiError::conflict(error.message().to_owned()))?;
    call.answer(json!({"ok": true, "task_id": id}))
}

/// `POST /tasks/{task_id}/reassign`.
pub(crate) fn reassign(call: &Call) -> Answered {
    let id = card_id(call)?;
    let body = call.optional_object()?;
    OpenBoard::of(call)?.task(&id)?;
    let profile = text_of(&body, "profile")?
        .map(str::trim)
        .unwrap_or_default();
    let to = if profile.is_empty() {
        "none".to_owned()
    } else {
        Assignee::parse(profile)?.as_str().to_owned()
    };
    refuse_flag(&to)?;
    let mut words = vec!["reassign", id.as_str(), &to];
    if body.get("reclaim_first") == Some(&Value::Bool(true)) {
        words.push("--reclaim");
    }
    board_command(call, &words, TIME_LIMIT)
        .map_err(|error| ApiError::conflict(error.message().to_owned()))?;
    let assignee = (!profile.is_empty()).then_some(profile);
    call.answer(json!({"ok": true, "task_id": id, "assignee": assignee}))
}

/// `POST /tasks/{task_id}/specify`: a model writes down what a card means. That it cannot is an answer,
/// not a failure of the request.
pub(crate) fn specify(call: &Call) -> Answered {
    asked_model(call, "specify")
}

/// `POST /tasks/{task_id}/decompose`: a model splits a card.
pub(crate) fn decompose(call: &Call) -> Answered {
    asked_model(call, "decompose")
}

fn asked_model(call: &Call, verb: &str) -> Answered {
    let id = card_id(call)?;
    OpenBoard::of(call)?.task(&id)?;
    let done = board_command(call, &[verb, id.as_str()], MODEL_LIMIT);
    let after = OpenBoard::of(call)?.task(&id)?;
    call.answer(json!({
        "ok": done.is_ok(),
        "task_id": id,
        "reason": done.err().map(|error| error.message().to_owned()),
        "new_title": after.title,
    }))
}
