//! `config.yaml` as a whole, for editors that people use elsewhere: shown with masks over secrets, and
//! taken back without losing what is under them; and several changed values at once.

use serde_json::Value;

use super::config::Sources;
use super::value_text::is_secret_path;
use super::write::{ConfigError, edit_settings, edit_text_file, refuse_managed};
use crate::schema::{self, Known};
use crate::yaml::{self, Document, EditError, value_at};

/// The text with a mask over every secret.
pub fn masked_text(text: &str) -> Result<String, EditError> {
    let document = Document::parse(text)?;
    let mut masked = text.to_owned();
    for (path, secret) in secrets(document.value()) {
        masked = yaml::set(&masked, &path, &Value::String(mask(&secret)))?;
    }
    Ok(masked)
}

/// Why a whole file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum WholeFileError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0} holds a mask, and there is no secret in the file that it could stand for")]
    LoneMask(String),
    /// Somebody else was faster.
    #[error("config.yaml was changed by somebody else in the meantime")]
    Changed,
}

/// Replaces `config.yaml`. Where a secret was shown masked and the mask came back, the secret stays.
/// With `base`, only if the file, masked, is still that text.
pub fn replace_file(
    sources: &Sources,
    text: &str,
    base: Option<&dyn Fn(&str) -> bool>,
) -> Result<(), WholeFileError> {
    let new = Document::parse(text).map_err(|error| ConfigError::from(EditError::from(error)))?;
    if !new.value().is_object() && !new.value().is_null() {
        return Err(ConfigError::from(EditError::NotAMapping).into());
    }
    let mut refusal = None;
    let edited = edit_text_file(&sources.config_path(), "config.yaml", |old| {
        if base.is_some_and(|is_base| !is_base(old)) {
            refusal = Some(WholeFileError::Changed);
            return Ok(old.to_owned());
        }
        match with_secrets(text, new.value(), old) {
            Ok(text) => Ok(text),
            Err(WholeFileError::Config(error)) => Err(error),
            Err(other) => {
                refusal = Some(other);
                Ok(old.to_owned())
            }
        }
    });
    edited?;
    refusal.map_or(Ok(()), Err)
}

/// The new text with the secrets of the old one under its masks.
fn with_secrets(text: &str, new: &Value, old: &str) -> Result<String, WholeFileError> {
    let old = Document::parse(old).map_err(|error| ConfigError::from(EditError::from(error)))?;
    let known = secrets(old.value());
    let mut filled = text.to_owned();
    for (path, shown) in secrets(new) {
        let Some(shown) = shown.as_str() else {
            continue;
        };
        let before = value_at(old.value(), &path);
        if before.is_some_and(|before| before.as_str() == Some(shown)) {
            continue;
        }
        let is_of = |secret: &Value| mask(secret) == shown;
        // A list may have been put into another order.
        let kept = before.filter(|before| is_of(before)).or_else(|| {
            let mut fitting = known
                .iter()
                .map(|(_, secret)| secret)
                .filter(|one| is_of(one));
            let first = fitting.next()?;
            fitting.all(|other| other == first).then_some(first)
        });
        match kept {
            Some(secret) => {
                filled = yaml::set(&filled, &path, secret).map_err(ConfigError::from)?;
            }
            None if hermes_secret::is_display_mask(shown) => {
                return Err(WholeFileError::LoneMask(path.join(".")));
            }
            None => {}
        }
    }
    Ok(filled)
}

/// Sets and removes settings, all or none. A value that does not fit its setting is refused.
pub fn change_values(
    sources: &Sources,
    changes: &[(Vec<String>, Option<Value>)],
) -> Result<(), ConfigError> {
    for (path, value) in changes {
        refuse_managed(sources, path)?;
        if let (Known::Key(key), Some(value)) = (schema::classify(path), value) {
            let is_reference = value.as_str().is_some_and(|text| text.contains("${"));
            if !is_reference && key.kind.accept(value).is_none() {
                let shown = if is_secret_path(path) {
                    "***".to_owned()
                } else {
                    hermes_text::shown(&value.to_string(), 80)
                };
                return Err(ConfigError::WrongType {
                    key: path.join("."),
                    expected: key.kind.expected(),
                    given: shown,
                });
            }
        }
    }
    edit_settings(sources, |text| {
        let mut text = text.to_owned();
        for (path, value) in changes {
            text = match value {
                Some(value) => yaml::set(&text, path, value)?,
                None => match yaml::remove(&text, path) {
                    Err(EditError::NotSet(_)) => text,
                    removed => removed?,
                },
            };
        }
        Ok(text)
    })
}

fn mask(secret: &Value) -> String {
    match secret {
        Value::String(text) => hermes_secret::display_mask(text),
        other => hermes_secret::display_mask(&other.to_string()),
    }
}

/// Texts and numbers that must not be shown, with where they are.
fn secrets(root: &Value) -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    collect(root, &mut Vec::new(), &mut Vec::new(), &mut found);
    found
}

/// `names` is the path without the numbers of list elements.
fn collect(
    value: &Value,
    path: &mut Vec<String>,
    names: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, Value)>,
) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key.clone());
                names.push(key.clone());
                collect(value, path, names, found);
                names.pop();
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                collect(item, path, names, found);
                path.pop();
            }
        }
        Value::String(text) => {
            let is_reference = text.starts_with("${") && text.ends_with('}');
            if !text.is_empty() && !is_reference && is_secret_path(names) {
                found.push((path.clone(), value.clone()));
            }
        }
        Value::Number(_) if is_secret_path(names) && schema::find(names).is_none() => {
            found.push((path.clone(), value.clone()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "whole_file_tests.rs"]
mod tests;
