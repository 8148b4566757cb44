//! `/api/gateway` and `/api/actions`: commands that go on by themselves, with a log that can be looked
//! at.

use std::io::Write as _;
use std::sync::PoisonError;

use hermes_proc::{Child, Group, Streams};
use serde_json::json;

use super::program;
use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Names of the actions, and the commands that they run.
const ACTIONS: [(&str, &[&str]); 4] = [
    ("gateway-restart", &["gateway", "restart"]),
    ("gateway-start", &["gateway", "start"]),
    ("gateway-stop", &["gateway", "stop"]),
    ("hermes-update", &["update"]),
];
const MOST_LINES: i64 = 2_000;
const MAX_LOG: u64 = 4 << 20;

fn begin(call: &Call, name: &'static str) -> Answered {
    let known = ACTIONS.iter().find(|(known, _)| *known == name);
    let words = known.map_or(&[][..], |(_, words)| words);
    let context = call.context();
    let mut children = call
        .app
        .actions
        .children
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(child) = children.get(name).filter(|child| !child.has_ended()) {
        let message = format!("{name} is on its way already (PID {})", child.pid());
        return Err(ApiError::conflict(message));
    }
    let directory = context.location.home.join("logs");
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let mut log = hermes_fs::open_append(&directory.join(format!("{name}.log")), 0o600)?;
    let now = hermes_time::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
    log.write_all(format!("\n=== {name} started {now} ===\n").as_bytes())
        .map_err(|error| ApiError::unavailable(format!("the log of {name}: {error}")))?;
    let mut spec = program::command(&context, words);
    spec.streams = Streams::Given {
        input: None,
        output: Some(log.into()),
    };
    spec.group = Group::Session;
    spec.kill_on_drop = false;
    let child = spec
        .spawn()
        .map_err(|error| ApiError::unavailable(error.to_string()))?;
    let pid = child.pid();
    tracing::info!(name, pid, "an action was begun");
    children.insert(name, child);
    call.answer(json!({"ok": true, "pid": pid, "name": name}))
}

/// `POST /api/gateway/restart`.
pub(crate) fn gateway_restart(call: &Call) -> Answered {
    begin(call, "gateway-restart")
}

/// `POST /api/gateway/start`.
pub(crate) fn gateway_start(call: &Call) -> Answered {
    begin(call, "gateway-start")
}

/// `POST /api/gateway/stop`.
pub(crate) fn gateway_stop(call: &Call) -> Answered {
    begin(call, "gateway-stop")
}

/// `POST /api/hermes/update`.
pub(crate) fn update(call: &Call) -> Answered {
    begin(call, "hermes-update")
}

/// `GET /api/actions/{name}/status`.
pub(crate) fn status(call: &Call) -> Answered {
    let wanted = call.param("name");
    let Some((name, _)) = ACTIONS.iter().find(|(known, _)| *known == wanted) else {
        let shown = hermes_text::shown(wanted, 80);
        return Err(ApiError::not_found(format!("there is no action {shown}")));
    };
    let lines = call
        .query_number("lines", 200, 0..=1_000_000)?
        .min(MOST_LINES);
    let lines = usize::try_from(lines).unwrap_or(0);
    let path = call
        .context()
        .location
        .home
        .join(format!("logs/{name}.log"));
    let text = match hermes_fs::read_capped(&path, MAX_LOG) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error.into()),
    };
    let all: Vec<&str> = text.lines().collect();
    let tail = all.iter().skip(all.len().saturating_sub(lines));
    let children = call
        .app
        .actions
        .children
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let child = children.get(name);
    let status = child.and_then(Child::peek);
    call.answer(json!({
        "name": name,
        "running": child.is_some_and(|child| !child.has_ended()),
        "exit_code": status.map(|status| status.signed_code()),
        "pid": child.map(Child::pid),
        "lines": tail.collect::<Vec<_>>(),
    }))
}
