//! Bodies of requests, as the endpoints check them.

use serde_json::{Map, Value, json};

use Kind::{Flag, Number, Object, Text, Texts};

/// What a field holds; all but `Object` may be null instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    Texts,
    Object,
}

/// A field, and whether it must be there.
type Field = (&'static str, Kind, bool);

/// The schema of a body, and whether there must be one; `None` if the endpoint reads none.
pub(super) fn body(name: &str) -> Option<(Value, bool)> {
    let fields = fields(name)?;
    let is_required = fields.iter().any(|(_, _, is_required)| *is_required);
    // Without a field that must be there, only these take no body at all.
    let optional = [
        "board_task_reclaim",
        "board_task_reassign",
        "gateway_drain",
        "config_update",
    ];
    Some((schema(fields), is_required || !optional.contains(&name)))
}

fn schema(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, kind, is_required) in fields {
        let kinds = |kind: &str| {
            if *is_required {
                json!(kind)
            } else {
                json!([kind, "null"])
            }
        };
        let shape = match kind {
            Text => json!({"type": kinds("string")}),
            Number => json!({
                "type": kinds("integer"), "minimum": i64::MIN, "maximum": i64::MAX,
            }),
            Flag => json!({"type": kinds("boolean")}),
            Texts => json!({"type": kinds("array"), "items": {"type": "string"}}),
            Object => json!({"type": "object"}),
        };
        properties.insert((*name).to_owned(), shape);
        if *is_required {
            required.push(*name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn fields(name: &str) -> Option<&'static [Field]> {
    Some(match name {
        "session_update" => &[("title", Text, false), ("archived", Flag, false)],
        "sessions_bulk_delete" => &[("ids", Texts, true)],
        "config_update" => &[("config", Object, true)],
        "config_raw_update" => &[("yaml_text", Text, true)],
        "config_value" => &[
            ("key", Text, true),
            ("value", Text, true),
            ("was", Text, false),
        ],
        "model_set" => &[
            ("scope", Text, false),
            ("provider", Text, false),
            ("model", Text, false),
            ("task", Text, false),
        ],
        "profile_create" => &[
            ("name", Text, true),
            ("clone_from", Text, false),
            ("clone_from_default", Flag, false),
            ("clone_all", Flag, false),
            ("no_skills", Flag, false),
            ("description", Text, false),
        ],
        "profile_rename" => &[("new_name", Text, true)],
        "profile_soul_set" => &[("content", Text, true)],
        "provider_login_submit" => &[("session_id", Text, true), ("code", Text, true)],
        "skills_toggle" => &[("name", Text, true), ("enabled", Flag, true)],
        "theme_set" => &[("name", Text, true)],
        "gateway_drain" => &[
            ("action", Text, false),
            ("suppress_notification", Flag, false),
        ],
        "env_set" => &[("key", Text, true), ("value", Text, true)],
        "env_remove" | "env_reveal" => &[("key", Text, true)],
        "cron_job_create" => &[
            ("schedule", Text, true),
            ("prompt", Text, false),
            ("name", Text, false),
            ("deliver", Text, false),
            ("skills", Texts, false),
        ],
        "cron_job_update" => &[("updates", Object, true)],
        "board_task_create" => &[
            ("title", Text, true),
            ("body", Text, false),
            ("assignee", Text, false),
            ("tenant", Text, false),
            ("priority", Number, false),
            ("skills", Texts, false),
            ("parents", Texts, false),
            ("workspace_kind", Text, false),
            ("workspace_path", Text, false),
            ("triage", Flag, false),
            ("idempotency_key", Text, false),
            ("max_runtime_seconds", Number, false),
            ("goal_mode", Flag, false),
            ("goal_max_turns", Number, false),
        ],
        "board_task_update" => CARD,
        "board_tasks_bulk" => &[
            ("ids", Texts, true),
            ("archive", Flag, false),
            ("status", Text, false),
            ("assignee", Text, false),
            ("priority", Number, false),
        ],
        "board_task_comment" => &[("body", Text, true), ("author", Text, false)],
        "board_task_reclaim" => &[("reason", Text, false)],
        "board_task_reassign" => &[("profile", Text, false), ("reclaim_first", Flag, false)],
        "board_link" => &[("parent_id", Text, true), ("child_id", Text, true)],
        "board_orchestration_set" => &[
            ("orchestrator_profile", Text, false),
            ("default_assignee", Text, false),
            ("auto_decompose", Flag, false),
            ("auto_promote_children", Flag, false),
        ],
        "board_create" => &[
            ("slug", Text, true),
            ("name", Text, false),
            ("description", Text, false),
            ("icon", Text, false),
            ("color", Text, false),
            ("default_workdir", Text, false),
            ("switch", Flag, false),
        ],
        "board_update" => &[
            ("name", Text, false),
            ("description", Text, false),
            ("icon", Text, false),
            ("color", Text, false),
            ("default_workdir", Text, false),
        ],
        "chat_run_create" => &[("input", Text, true), ("session_id", Text, false)],
        "chat_run_approval" => &[("choice", Text, true), ("all", Flag, false)],
        _ => return None,
    })
}

/// What can be changed of a card.
const CARD: &[Field] = &[
    ("title", Text, false),
    ("body", Text, false),
    ("status", Text, false),
    ("assignee", Text, false),
    ("tenant", Text, false),
    ("priority", Number, false),
    ("result", Text, false),
    ("summary", Text, false),
    ("block_reason", Text, false),
];
