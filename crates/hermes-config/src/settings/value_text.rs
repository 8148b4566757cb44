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
    let mut tree = value.clone();
    each_secret(&mut tree, &mut Vec::new(), &mut |secret| match secret {
        Value::String(text) => *text = hermes_secret::display_mask(text),
        other => *other = Value::String("***".to_owned()),
    });
    tree
}

/// Every secret text of a tree, so that it can be masked wherever it turns up.
pub(super) fn secret_values(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    each_secret(&mut value.clone(), &mut Vec::new(), &mut |secret| {
        found.extend(secret.as_str().map(str::to_owned));
    });
    found
}

/// Texts and numbers of a tree that must not be shown. A number that the schema knows is no secret,
/// nor is a reference to one.
fn each_secret(value: &mut Value, path: &mut Vec<String>, visit: &mut dyn FnMut(&mut Value)) {
    let is_secret = match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key.clone());
                each_secret(value, path, visit);
                path.pop();
            }
            return;
        }
        Value::Array(items) => {
            for item in items {
                each_secret(item, path, visit);
            }
            return;
        }
        Value::String(text) => {
            let is_reference = text.starts_with("${") && text.ends_with('}');
            !text.is_empty() && !is_reference && is_secret_path(path)
        }
        Value::Number(_) => is_secret_path(path) && schema::find(path).is_none(),
        Value::Null | Value::Bool(_) => false,
    };
    if is_secret {
        visit(value);
    }
}
