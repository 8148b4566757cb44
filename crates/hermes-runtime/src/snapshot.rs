//! A conversation as one JSON file beside the store (`sessions.write_json_snapshots`), for programs
//! that read it there. The store stays the truth; a file that cannot be written is logged.

use hermes_agent::Agent;
use serde_json::{Value, json};

use crate::context::Context;

/// Writes the conversation so far, if the settings ask for snapshots.
pub(crate) fn write(agent: &Agent, context: &Context) {
    if !context.config().flag("sessions.write_json_snapshots") || !agent.is_stored() {
        return;
    }
    if let Err(error) = try_write(agent, context) {
        tracing::warn!(%error, "the snapshot of the session was not written");
    }
}

fn try_write(agent: &Agent, context: &Context) -> crate::error::Result<()> {
    let Some(session) = agent.stored_session()? else {
        return Ok(());
    };
    let route = agent.provider().route();
    let messages: Vec<Value> = agent
        .messages()
        .map(|message| {
            let mut value = json!({"role": message.role.as_str(), "content": message.text()});
            for (name, field) in [
                ("tool_calls", message.tool_calls.clone()),
                (
                    "tool_call_id",
                    message.tool_call_id.clone().map(Value::from),
                ),
                ("name", message.tool_name.clone().map(Value::from)),
                ("reasoning", message.reasoning.clone().map(Value::from)),
            ] {
                if let Some(field) = field {
                    value[name] = field;
                }
            }
            value
        })
        .collect();
    let now = jiff::Timestamp::now();
    let began =
        jiff::Timestamp::from_duration(jiff::SignedDuration::from_secs_f64(session.started_at));
    let snapshot = json!({
        "session_id": session.id.as_str(),
        "model": route.model,
        "base_url": route.base_url,
        "platform": session.source,
        "session_start": began.map_or(Value::Null, |at| json!(at.to_string())),
        "last_updated": now.to_string(),
        "system_prompt": session.system_prompt,
        "tools": agent.tool_names(),
        "message_count": messages.len(),
        "messages": messages,
    });
    let directory = context.location.home.join("sessions");
    hermes_fs::create_dir_all(&directory, 0o700)?;
    let path = directory.join(format!("session_{}.json", session.id));
    let text = format!("{snapshot:#}\n");
    Ok(hermes_fs::write_atomic_exact(
        &path,
        text.as_bytes(),
        0o600,
    )?)
}
