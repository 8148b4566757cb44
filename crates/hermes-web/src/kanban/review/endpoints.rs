//! `/api/plugins/kanban/tasks/{task_id}/review`: for programs and for the page. Approving and sending
//! back go through the command, which refuses agents and runs the card's checks.

use std::ffi::OsStr;
use std::time::Duration;

use hermes_board::DispatchFlags;
use hermes_board::model::{DiffSide, OnApprove, RepoPath, Review, Task, TaskId};
use hermes_board::review::{self, CommentRequest, Diff, DiffFile, ReviewedWork, chosen_action};
use hermes_runtime::{dispatch_settings, worker_setup};
use serde_json::{Value, json};

use super::bounds::{Bounds, bounded};
use crate::call::{Answered, Call, text_of};
use crate::http::ApiError;
use crate::kanban::cards::board_command;
use crate::kanban::opened::{OpenBoard, card_id};

/// Who reviews where nobody has logged in.
const REVIEWER: &str = "dashboard";
/// Checks of a card may take long, and a push as well.
const APPROVE_LIMIT: Duration = Duration::from_mins(15);
const SEND_BACK_LIMIT: Duration = Duration::from_mins(5);

/// The one who reviews.
fn reviewer(call: &Call) -> String {
    let name = call.visitor.identity().map(|who| who.display_name.trim());
    let name = name.filter(|name| !name.is_empty()).unwrap_or(REVIEWER);
    name.to_owned()
}

/// The work of a card.
fn work(open: &OpenBoard, task: &Task, review: &Review) -> hermes_board::Result<ReviewedWork> {
    let settings = dispatch_settings(&open.context, &DispatchFlags::default());
    let setup = worker_setup(&open.context, &open.home, &settings);
    ReviewedWork::open(open.store.board(), task, review, &setup)
}

/// `GET …/review`: the changes, as much as is read at once, and what was said about them; with `file`
/// one file in full.
pub(crate) fn show(call: &Call) -> Answered {
    let id = card_id(call)?;
    let open = OpenBoard::of(call)?;
    let task = open.task(&id)?;
    let mut said = open.store.review(&id)?;
    let seen = work(&open, &task, &said).and_then(|work| {
        review::locate(&mut said, &work)?;
        work.diff(&[])
    });
    let mut answer = json!({
        "task_id": id,
        "title": task.title,
        "status": task.status_word(),
        "on_approve": chosen_action(&open.store, &said),
        "review": said,
        "diff": null,
        "problem": null,
    });
    match seen {
        Ok(diff) => {
            let one = call.query("file");
            answer["diff"] = shown(&id, &diff, one.as_deref())?;
        }
        Err(error) => {
            answer["problem"] = json!({"message": error.to_string(), "hint": error.hint()});
        }
    }
    call.answer(answer)
}

fn shown(id: &TaskId, diff: &Diff, one: Option<&str>) -> Result<Value, ApiError> {
    let Some(name) = one else {
        let all: Vec<&DiffFile> = diff.files.iter().collect();
        return Ok(bounded(diff, &all, Bounds::OVERVIEW));
    };
    match diff.file(&RepoPath::parse(OsStr::new(name))) {
        Some(file) => Ok(bounded(diff, &[file], Bounds::FILE)),
        None => {
            let name = hermes_text::shown(name, 200);
            let message = format!("{name} is not part of the changes of {id}");
            Err(ApiError::not_found(message))
        }
    }
}

/// `POST …/review/comments`.
pub(crate) fn comment(call: &Call) -> Answered {
    let id = card_id(call)?;
    let file = RepoPath::parse(OsStr::new(call.required_text("file")?));
    let side = match call.text("side")? {
        None => DiffSide::New,
        Some(word) => DiffSide::parse(word)
            .ok_or_else(|| ApiError::invalid(&["body", "side"], "must be old or new", "enum"))?,
    };
    let first = line(call, "first_line")?
        .ok_or_else(|| ApiError::invalid(&["body", "first_line"], "is required", "missing"))?;
    let last = line(call, "last_line")?.unwrap_or(first);
    let body = call.required_text("body")?;
    let mut open = OpenBoard::of(call)?;
    let task = open.task(&id)?;
    let said = open.store.review(&id)?;
    let work = work(&open, &task, &said)?;
    let author = reviewer(call);
    let request = CommentRequest {
        file: &file,
        side,
        lines: (first, last),
        author: &author,
        body,
    };
    let number = review::comment(&mut open.store, &id, &work, &request)?;
    call.answer(json!({"task_id": id, "comment": number}))
}

fn line(call: &Call, name: &str) -> Result<Option<u32>, ApiError> {
    let wrong = || ApiError::invalid(&["body", name], "must be the number of a line", "int_type");
    let number = call.number(name)?;
    number
        .map(|number| {
            u32::try_from(number)
                .ok()
                .filter(|line| *line > 0)
                .ok_or_else(wrong)
        })
        .transpose()
}

/// The comment that the path names.
fn comment_number(call: &Call) -> Result<u32, ApiError> {
    let text = call.param("number");
    text.parse().map_err(|_| {
        let shown = hermes_text::shown(text, 40);
        ApiError::not_found(format!("there is no comment {shown}"))
    })
}

/// `POST …/review/comments/{number}/replies`.
pub(crate) fn reply(call: &Call) -> Answered {
    let (id, number) = (card_id(call)?, comment_number(call)?);
    let body = call.required_text("body")?;
    let mut open = OpenBoard::of(call)?;
    let author = reviewer(call);
    open.store.reply_to_review(&id, number, &author, body)?;
    call.answer(json!({"task_id": id, "comment": number}))
}

/// `POST …/review/comments/{number}/resolve`.
pub(crate) fn resolve(call: &Call) -> Answered {
    let (id, number) = (card_id(call)?, comment_number(call)?);
    let mut open = OpenBoard::of(call)?;
    let was_open = open.store.resolve_review(&id, number, &reviewer(call))?;
    call.answer(json!({"task_id": id, "comment": number, "was_open": was_open}))
}

/// `POST …/review/request-changes`: back to the worker, with the open comments.
pub(crate) fn request_changes(call: &Call) -> Answered {
    let id = card_id(call)?;
    let body = call.optional_object()?;
    let text = text_of(&body, "text")?.unwrap_or_default().trim();
    OpenBoard::of(call)?.task(&id)?;
    let author = format!("--author={}", reviewer(call));
    let mut words = vec!["review", "request-changes", id.as_str(), &author];
    if !text.is_empty() {
        words.extend(["--", text]);
    }
    verdict(call, &words, SEND_BACK_LIMIT)?;
    let task = OpenBoard::of(call)?.task(&id)?;
    call.answer(json!({"task_id": id, "status": task.status_word()}))
}

/// `POST …/review/approve`: `reviewed` is the fingerprint of what was looked at; `action` is none,
/// merge, push or push:REMOTE, instead of what the card says.
pub(crate) fn approve(call: &Call) -> Answered {
    let id = card_id(call)?;
    let body = call.optional_object()?;
    let reviewed = text_of(&body, "reviewed")?.filter(|text| !text.is_empty());
    let action = text_of(&body, "action")?.filter(|text| !text.is_empty());
    let action = action.map(|text| {
        OnApprove::parse(text).ok_or_else(|| {
            let message = "must be none, merge, push or push:REMOTE";
            ApiError::invalid(&["body", "action"], message, "enum")
        })
    });
    let flag = action.transpose()?.map(|action| match action {
        OnApprove::Keep => "--no-merge".to_owned(),
        OnApprove::Merge => "--merge".to_owned(),
        OnApprove::Push(None) => "--push".to_owned(),
        OnApprove::Push(Some(remote)) => format!("--push={remote}"),
    });
    OpenBoard::of(call)?.task(&id)?;
    let author = format!("--author={}", reviewer(call));
    let reviewed = reviewed.map(|text| format!("--reviewed={text}"));
    let mut words = vec!["review", "approve", id.as_str(), "--json", &author];
    words.extend(flag.as_deref());
    words.extend(reviewed.as_deref());
    let said = verdict(call, &words, APPROVE_LIMIT)?;
    let answer: Value = serde_json::from_str(&said).map_err(|error| {
        tracing::error!(%error, "the answer of `kanban review approve` cannot be read");
        ApiError::internal("the card was approved, but what was done with it cannot be told")
    })?;
    call.answer(answer)
}

/// Runs a command that judges. What it refuses is a conflict in its words.
fn verdict(call: &Call, words: &[&str], limit: Duration) -> Result<String, ApiError> {
    board_command(call, words, limit).map_err(|error| {
        ApiError::conflict(error.message().trim_start_matches("kanban: ").to_owned())
    })
}
