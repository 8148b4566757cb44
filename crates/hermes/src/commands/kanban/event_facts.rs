//! The few facts of an event that matter to whoever watches a board, short enough for one line.

use hermes_board::model::Event;
use serde_json::Value;

use crate::ui::one_line;

/// Most characters of all facts.
const MOST: usize = 100;

/// Facts of an event behind its line; nothing if its kind says it all.
pub(super) fn event_facts(event: &Event) -> String {
    let facts = facts_of(&event.kind);
    let payload = event.payload.as_ref();
    let known: Vec<String> = facts
        .iter()
        .filter_map(|(key, label)| fact(label, payload?.get(key)?))
        .collect();
    match known.as_slice() {
        [] => String::new(),
        known => format!(" {}", one_line(&known.join(", "), MOST)),
    }
}

/// The keys of a payload that are shown, each with what is written before its value.
fn facts_of(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "created" => &[("status", ""), ("by", "by ")],
        "commented" => &[("author", "by ")],
        "attached" | "attachment_removed" => &[("filename", "")],
        "linked" | "unlinked" => &[("parent", "parent ")],
        "claimed" => &[("run_id", "run "), ("source_status", "from ")],
        "spawned" => &[("pid", "pid ")],
        "completed" => &[("denied_commands", "denied commands: "), ("summary", "")],
        "blocked" | "dependency_wait" | "block_loop_detected" => &[("kind", ""), ("reason", "")],
        "scheduled" | "promoted_manual" | "claim_rejected" | "respawn_guarded" | "unblocked" => {
            &[("source", ""), ("reason", "")]
        }
        "reclaimed" => &[("reason", ""), ("sigkill", "killed: ")],
        "reclaim_deferred" | "claim_extended" => &[("reason", "")],
        "crashed" | "protocol_violation" | "rate_limited" => {
            &[("pid", "pid "), ("exit_code", "exit code ")]
        }
        "timed_out" => &[("elapsed_seconds", "seconds: "), ("error", "")],
        "stale" => &[("elapsed_seconds", "silent seconds: ")],
        "spawn_failed" | "gave_up" => &[("failures", "failures: "), ("error", "")],
        "preflight" => &[("problem", "")],
        "command_denied" => &[("reason", ""), ("command", "")],
        "specified" => &[("changed_fields", "")],
        "decomposed" => &[("child_ids", "")],
        "reprioritized" => &[("priority", "")],
        "status" => &[("status", "")],
        "review_commented" => &[("file", ""), ("by", "by ")],
        "review_replied" | "review_resolved" => &[("comment", "comment "), ("by", "by ")],
        "changes_requested" => &[("by", "by "), ("comments", "comments: "), ("text", "")],
        "approved" => &[("by", "by "), ("action", ""), ("branch", "")],
        _ => &[],
    }
}

fn fact(label: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Null | Value::Bool(false) | Value::Object(_) => return None,
        Value::String(text) if text.trim().is_empty() => return None,
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(" ")
        }
        Value::Bool(true) | Value::Number(_) => value.to_string(),
    };
    Some(format!("{label}{text}"))
}

#[cfg(test)]
mod tests {
    use hermes_board::model::TaskId;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn facts(kind: &str, payload: Value) -> String {
        event_facts(&Event {
            id: 1,
            task_id: TaskId::new("t_1"),
            run_id: None,
            kind: kind.to_owned(),
            payload: Some(payload),
            created_at: 0,
        })
    }

    #[test]
    fn facts_are_few_and_short() {
        let claimed = json!({"lock": "host:1", "expires": 99, "run_id": 7});
        assert_eq!(facts("claimed", claimed), " run 7");
        let spawned = json!({"pid": 12, "start": 3, "boot": "b"});
        assert_eq!(facts("spawned", spawned), " pid 12");
        assert_eq!(facts("promoted", Value::Null), "");
        let completed = json!({"result_len": 0, "summary": null});
        assert_eq!(facts("completed", completed), "");
        let gave_up = json!({"failures": 2, "error": "a\nb", "effective_limit": 2});
        assert_eq!(facts("gave_up", gave_up), " failures: 2, a b");
        let long = facts("blocked", json!({"reason": "x".repeat(500)}));
        assert!(long.chars().count() <= MOST + 2, "{long}");
    }
}
