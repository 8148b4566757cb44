//! `personalities` and `display.personality`: manners in which the model answers.

use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Names and texts of the personalities of the settings.
pub(crate) fn all(context: &Context) -> Vec<(String, String)> {
    let personalities = context
        .config()
        .get("personalities")
        .and_then(Value::as_object);
    let personalities = personalities.into_iter().flatten();
    personalities
        .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
        .collect()
}

/// A text, or a mapping with `system_prompt`, `tone` and `style`.
fn text(value: &Value) -> Option<String> {
    let part = |key: &str, before: &str| {
        let text = value[key]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())?;
        Some(format!("{before}{text}"))
    };
    let whole = value.as_str().map(str::to_owned).or_else(|| {
        let parts = [
            part("system_prompt", ""),
            part("tone", "Tone: "),
            part("style", "Style: "),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    });
    whole.filter(|text| !text.trim().is_empty())
}

/// The text of the personality that new conversations begin with.
pub(crate) fn configured(context: &Context, person: &dyn Person) -> Option<String> {
    let name = context.config().text("display.personality").trim();
    if name.is_empty() || ["none", "default", "neutral"].contains(&name) {
        return None;
    }
    let found = all(context).into_iter().find(|(known, _)| known == name);
    if found.is_none() {
        person.warn(
            &format!("display.personality: there is no personality '{name}'"),
            Some("`personalities` in config.yaml has them by name"),
        );
    }
    found.map(|(_, text)| text)
}
