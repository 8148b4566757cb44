//! `/api/skills`: what agents of this profile can load, and which of it is switched off.

use std::collections::BTreeSet;

use hermes_config::settings::change_values;
use hermes_runtime::own_skills;
use hermes_skills::{Absence, Catalog, IndexedSkill};
use serde_json::{Value, json};

use crate::call::{Answered, Call, missing};
use crate::http::ApiError;

/// `GET /api/skills`.
pub(crate) fn list(call: &Call) -> Answered {
    let context = call.context();
    let skills = own_skills(&context);
    let catalog = Catalog::load(&skills.roots, None);
    let row = |skill: &IndexedSkill| {
        json!({
            "name": skill.name,
            "description": skill.description,
            "category": skill.category,
            "enabled": !skills.disabled.contains(&skill.name),
            "path": skill.directory.display().to_string(),
            "problem": skill.problem,
        })
    };
    let rows: Vec<Value> = catalog.first_of_each_name().into_iter().map(row).collect();
    call.answer(Value::Array(rows))
}

/// `PUT /api/skills/toggle`.
pub(crate) fn toggle(call: &Call) -> Answered {
    let name = call.required_text("name")?;
    let enabled = call.flag("enabled")?.ok_or_else(|| missing("enabled"))?;
    let context = call.context();
    let found = own_skills(&context).find(name);
    if matches!(found, Err(Absence::Unknown | Absence::UnsafeName)) {
        let shown = hermes_text::shown(name, 80);
        return Err(ApiError::not_found(format!("there is no skill {shown}")));
    }
    let known = context.config().texts("skills.disabled");
    let mut disabled: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
    let is_changed = if enabled {
        disabled.remove(name)
    } else {
        disabled.insert(name.to_owned())
    };
    if is_changed {
        context.ensure_home()?;
        let path = vec!["skills".to_owned(), "disabled".to_owned()];
        change_values(
            &context.sources_to_write(),
            &[(path, Some(json!(disabled)))],
        )?;
    }
    call.answer(json!({"ok": true, "name": name, "enabled": enabled}))
}
