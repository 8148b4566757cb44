//! `/api/dashboard`: themes of the front-end.

use hermes_config::settings::change_values;
use serde_json::{Value, json};

use crate::call::{Answered, Call, json as plain_answer};
use crate::http::ApiError;

/// Names and labels of the themes that front-ends know.
const THEMES: [(&str, &str); 7] = [
    ("default", "Hermes Teal"),
    ("default-large", "Hermes Teal (large)"),
    ("midnight", "Midnight"),
    ("ember", "Ember"),
    ("mono", "Mono"),
    ("cyberpunk", "Cyberpunk"),
    ("rose", "Rosé"),
];

/// `GET /api/dashboard/themes`.
pub(crate) fn themes(call: &Call) -> Answered {
    let context = call.context();
    let themes: Vec<Value> = THEMES
        .iter()
        .map(|(name, label)| json!({"name": name, "label": label, "description": ""}))
        .collect();
    plain_answer(&json!({"themes": themes, "active": context.config().text("dashboard.theme")}))
}

/// `PUT /api/dashboard/theme`.
pub(crate) fn set_theme(call: &Call) -> Answered {
    let name = call.required_text("name")?;
    if !THEMES.iter().any(|(known, _)| *known == name) {
        let known = THEMES.map(|(name, _)| name).join(", ");
        return Err(ApiError::bad_request(format!(
            "{} is no theme; there are {known}",
            hermes_text::shown(name, 80)
        )));
    }
    let context = call.context();
    context.ensure_home()?;
    let path = vec!["dashboard".to_owned(), "theme".to_owned()];
    change_values(&context.sources_to_write(), &[(path, Some(json!(name)))])?;
    call.answer(json!({"ok": true, "theme": name}))
}
