//! What the page of the board needs to know about settings and profiles.

use hermes_config::settings::change_values;
use hermes_home::ProfileName;
use hermes_home::profiles::{existing, list as list_profiles};
use hermes_runtime::Context;
use serde_json::{Value, json};

use crate::call::{Answered, Call};
use crate::http::ApiError;

/// `GET /config`.
pub(crate) fn config(call: &Call) -> Answered {
    let context = call.context();
    let config = context.config();
    call.answer(json!({
        "default_tenant": config.text("dashboard.kanban.default_tenant"),
        "lane_by_profile": config.flag("dashboard.kanban.lane_by_profile"),
        "include_archived_by_default": config.flag("dashboard.kanban.include_archived_by_default"),
        "render_markdown": config.flag("dashboard.kanban.render_markdown"),
    }))
}

/// `GET /profiles`.
pub(crate) fn profiles(call: &Call) -> Answered {
    let context = call.context();
    let found = list_profiles(&context.location, context.current.as_ref())?;
    let rows: Vec<Value> = found
        .profiles
        .iter()
        .map(|profile| {
            json!({
                "name": profile.name.as_str(),
                "is_default": profile.name.is_default(),
                "model": profile.model.as_deref().unwrap_or_default(),
                "provider": profile.provider.as_deref().unwrap_or_default(),
                "description": profile.description,
                "description_auto": profile.description_auto,
                "skill_count": profile.skill_count(),
            })
        })
        .collect();
    call.answer(json!({ "profiles": rows }))
}

fn orchestration_of(context: &Context) -> Value {
    let config = context.config();
    let active = context
        .current
        .as_ref()
        .map_or("default", ProfileName::as_str);
    let exists = |name: &str| {
        let name = ProfileName::parse(name);
        name.is_ok_and(|name| existing(&context.location, &name).is_ok())
    };
    let resolved = |name: &str| {
        if exists(name) {
            name.to_owned()
        } else {
            active.to_owned()
        }
    };
    let orchestrator = config.text("kanban.orchestrator_profile").trim();
    let assignee = config.text("kanban.default_assignee").trim();
    json!({
        "orchestrator_profile": orchestrator,
        "default_assignee": assignee,
        "auto_decompose": config.flag("kanban.auto_decompose"),
        "auto_promote_children": config.flag("kanban.auto_promote_children"),
        "resolved_orchestrator_profile": resolved(orchestrator),
        "resolved_default_assignee": resolved(assignee),
        "active_profile": active,
    })
}

/// `GET /orchestration`.
pub(crate) fn orchestration(call: &Call) -> Answered {
    call.answer(orchestration_of(&call.context()))
}

/// `PUT /orchestration`: only what is given changes.
pub(crate) fn set_orchestration(call: &Call) -> Answered {
    let context = call.context();
    let mut changes = Vec::new();
    let mut change = |name: &str, value: Value| {
        changes.push((vec!["kanban".to_owned(), name.to_owned()], Some(value)));
    };
    for name in ["orchestrator_profile", "default_assignee"] {
        if let Some(profile) = call.text(name)?.map(str::trim) {
            if !profile.is_empty() {
                let parsed = ProfileName::parse(profile)?;
                existing(&context.location, &parsed)
                    .map_err(|error| ApiError::bad_request(error.to_string()))?;
            }
            change(name, json!(profile));
        }
    }
    for name in ["auto_decompose", "auto_promote_children"] {
        if let Some(on) = call.flag(name)? {
            change(name, json!(on));
        }
    }
    if !changes.is_empty() {
        context.ensure_home()?;
        change_values(&context.sources_to_write(), &changes)?;
    }
    call.answer(orchestration_of(&call.context()))
}
