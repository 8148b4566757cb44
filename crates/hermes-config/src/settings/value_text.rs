//! Values for people: plain text, and masks over secrets.

use serde_json::Value;

use crate::schema;
use crate::yaml;

/// A value as `config get` prints it: scalars plain, lists and mappings as YAML.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => yaml::to_block_text(value),
    }
}

/// Whether the value of a path must not be shown.
pub fn is_secret_path<S: AsRef<str>>(path: &[S]) -> bool {
    schema::find(path).is_some_and(|key| key.secret)
        || path.last().is_some_and(|leaf| {
            let leaf = leaf.as_ref();
            leaf == "key" || leaf == "jwt" || hermes_secret::is_secret_name(leaf)
        })
}

/// A tree with every secret masked.
pub fn masked(value: &Value) -> Value {
    mask_below(value, &mut Vec::new())
}

fn mask_below(value: &Value, path: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| {
                    path.push(key.clone());
                    let masked = mask_below(value, path);
                    path.pop();
                    (key.clone(), masked)
                })
                .collect(),
        ),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| mask_below(item, path)).collect())
        }
        Value::String(text) if !text.is_empty() && is_secret_path(path) && !is_reference(text) => {
            Value::String(hermes_secret::display_mask(text))
        }
        Value::Number(_) if is_secret_path(path) && schema::find(path).is_none() => {
            Value::String("***".to_owned())
        }
        other => other.clone(),
    }
}

/// Every secret text of a tree, so that it can be masked wherever it turns up.
pub fn secret_values(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_secrets(value, &mut Vec::new(), &mut found);
    found
}

fn collect_secrets<'a>(value: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key);
                collect_secrets(value, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_secrets(item, path, found);
            }
        }
        Value::String(text) if !text.is_empty() && is_secret_path(path) && !is_reference(text) => {
            found.push(text.clone());
        }
        _ => {}
    }
}

fn is_reference(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}')
}
