//! Changing settings: one writer at a time, the file parsed before and after, nothing else touched.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use serde_json::Value;

use super::config::Sources;
use super::file::{BrokenFile, MAX_BYTES, SettingsFile, keep_corrupt_copy, parse};
use super::overlay::suggestion;
use super::value_text::plain_text;
use crate::dotenv::{self, DotEnv, DotEnvError, SetVariableError, belongs_in_dotenv};
use crate::schema::{self, Kind, Known};
use crate::yaml::{self, Document, EditError, value_at};

/// A change of settings that was not made.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error("{}; it is not changed", reason.sentence(path))]
    Broken { path: PathBuf, reason: BrokenFile },
    #[error("{0}")]
    Edit(#[from] EditError),
    #[error("{key}: expected {expected}, got '{given}'")]
    WrongType {
        key: String,
        expected: String,
        given: String,
    },
    #[error("{key} is set by the administrator in {}", path.display())]
    Managed {
        key: String,
        /// The administrator's file.
        path: PathBuf,
    },
    #[error("{0}")]
    Variable(#[from] SetVariableError),
    #[error("{} is not changed: {reason}", path.display())]
    DotEnv { path: PathBuf, reason: String },
    #[error("{0} is not set")]
    NotSet(String),
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Broken { reason, .. } => reason.hint(),
            Self::Edit(EditError::Unfaithful(_)) => {
                Some("change it with `hermes config edit`".into())
            }
            Self::Edit(EditError::EmptySegment(_)) => {
                Some("write the key as words joined by single dots".into())
            }
            Self::Edit(_) | Self::NotSet(_) => None,
            Self::WrongType { expected, .. } if expected.contains("list") => {
                Some("write a list as '[\"a\", \"b\"]'".into())
            }
            Self::WrongType { .. } => Some("--force saves it anyway".into()),
            Self::Managed { .. } => Some("ask the administrator".into()),
            Self::Variable(_) => Some("behaviour belongs in config.yaml".into()),
            Self::DotEnv { .. } => Some("save the file as UTF-8".into()),
        }
    }
}

/// What to set.
#[derive(Debug, Clone, Copy)]
pub struct SetRequest<'a> {
    /// Dotted key, or the name of a variable.
    pub key: &'a str,
    pub value: &'a str,
    /// Save even what the schema would refuse, without a word.
    pub force: bool,
}

/// Which file a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Settings,
    DotEnv,
}

/// What was set.
#[derive(Debug, Clone)]
pub struct SetOutcome {
    pub target: Target,
    pub path: PathBuf,
    pub key: String,
    /// The value as written. May be a secret.
    pub value: Value,
    /// The key is no setting we know; the nearest one, if any.
    pub unknown: Option<Option<String>>,
    /// Positions of characters dropped from a key or token.
    pub dropped_positions: Vec<usize>,
    /// A line of `.env` that shadowed the setting in the reference and was brought along.
    pub mirrored: Option<String>,
}

/// Sets a setting, or a variable in `.env`.
pub fn set(sources: &Sources, request: &SetRequest<'_>) -> Result<SetOutcome, ConfigError> {
    if belongs_in_dotenv(request.key) {
        return set_variable(sources, &request.key.to_ascii_uppercase(), request.value);
    }
    let path = split_key(request.key)?;
    refuse_managed(sources, &path)?;
    let known = schema::classify(&path);
    let value = match (known, request.force) {
        (Known::Key(key), false) => fitting_value(key.kind, request)?,
        (Known::Key(key), true) => {
            typed_value(key.kind, request.value).unwrap_or_else(|| coerce(request.value))
        }
        (Known::Group | Known::Free | Known::Unknown, _) => coerce(request.value),
    };
    let file = sources.config_path();
    edit_settings(sources, |text| {
        let text = keep_model_name(text, &path)?;
        Ok(yaml::set(&text, &path, &value)?)
    })?;
    let unknown = matches!(known, Known::Unknown) && !request.force;
    Ok(SetOutcome {
        target: Target::Settings,
        path: file,
        key: request.key.to_owned(),
        mirrored: update_mirror(sources, &path, &value)?,
        unknown: unknown.then(|| suggestion(request.key)),
        value,
        dropped_positions: Vec::new(),
    })
}

/// Whether a change of this setting or variable may widen what an agent may do; `None` stands for
/// its removal. Lines of `.env` are keys, or override settings.
pub fn changes_security(key: &str, value: Option<&str>) -> bool {
    if belongs_in_dotenv(key) {
        return true;
    }
    let replaces_below = value.is_none_or(|value| coerce_collection(value).is_object());
    // What is no key is refused where it is set.
    split_key(key).is_ok_and(|path| schema::is_security(&path, replaces_below))
}

/// Adds a text to the end of a list in `config.yaml`, under the file's lock, unless it is there.
/// Comments, order and every other byte stay.
pub fn append_to_list(sources: &Sources, key: &str, item: &str) -> Result<(), ConfigError> {
    append_value(sources, key, &Value::String(item.to_owned()))
}

/// The same for an element of any kind.
pub fn append_value(sources: &Sources, key: &str, item: &Value) -> Result<(), ConfigError> {
    let path = split_key(key)?;
    refuse_managed(sources, &path)?;
    edit_settings(sources, |text| Ok(yaml::append(text, &path, item)?))
}

/// Changes `config.yaml`. A file without a single setting is begun with the current version of the
/// schema, so that no later migration takes it for an old one.
pub(super) fn edit_settings(
    sources: &Sources,
    change: impl FnOnce(&str) -> Result<String, ConfigError>,
) -> Result<(), ConfigError> {
    edit_text_file(&sources.config_path(), "config.yaml", |text| {
        let document = Document::parse(text).map_err(EditError::from)?;
        let is_empty = match document.value() {
            Value::Object(map) => map.is_empty(),
            _ => document.value().is_null(),
        };
        if !is_empty {
            return change(text);
        }
        let changed = change(text)?;
        let version = Value::from(schema::CONFIG_VERSION);
        Ok(yaml::set(
            &changed,
            &["_config_version".to_owned()],
            &version,
        )?)
    })
}

/// Takes an element out of a list in `config.yaml`, under the file's lock; the first that is equal.
pub fn remove_value(sources: &Sources, key: &str, item: &Value) -> Result<(), ConfigError> {
    let mut path = split_key(key)?;
    refuse_managed(sources, &path)?;
    let file = sources.config_path();
    edit_text_file(&file, "config.yaml", |text| {
        let document = Document::parse(text).map_err(EditError::from)?;
        let listed = value_at(document.value(), &path).and_then(Value::as_array);
        let position = listed.and_then(|items| items.iter().position(|one| one == item));
        let Some(position) = position else {
            return Err(ConfigError::NotSet(format!(
                "that entry of {key} in {}",
                file.display()
            )));
        };
        path.push(position.to_string());
        Ok(yaml::remove(text, &path)?)
    })
}

/// Removes a setting, or a variable from `.env`.
pub fn unset(sources: &Sources, key: &str) -> Result<(Target, PathBuf), ConfigError> {
    if belongs_in_dotenv(key) {
        let name = key.to_ascii_uppercase();
        let path = sources.dotenv_path();
        let removed = edit_dotenv(sources, |env| Ok(dotenv::unset_variable(env, &name)))?;
        return if removed {
            Ok((Target::DotEnv, path))
        } else {
            Err(ConfigError::NotSet(format!("{name} in {}", path.display())))
        };
    }
    let path = split_key(key)?;
    refuse_managed(sources, &path)?;
    let file = sources.config_path();
    edit_text_file(&file, "config.yaml", |text| {
        match yaml::remove(text, &path) {
            Err(EditError::NotSet(key)) => {
                Err(ConfigError::NotSet(format!("{key} in {}", file.display())))
            }
            other => Ok(other?),
        }
    })?;
    if let Some(var) = schema::find(&path).and_then(|key| key.var) {
        let dotenv = sources.dotenv_path();
        if DotEnv::load(&dotenv).is_ok_and(|env| env.get(var).is_some()) {
            edit_dotenv(sources, |env| Ok(dotenv::unset_variable(env, var)))?;
        }
    }
    Ok((Target::Settings, file))
}

/// Removes a key at the root of `config.yaml` that is spelled like a variable.
pub fn remove_root_key(sources: &Sources, name: &str) -> Result<(), ConfigError> {
    edit_text_file(&sources.config_path(), "config.yaml", |text| {
        Ok(yaml::remove(text, &[name.to_owned()])?)
    })
}

/// Changes a YAML settings file under its lock: read, parse, change, parse, replace.
///
/// A file that cannot be understood is left as it is; one copy of it is kept aside.
pub fn edit_text_file(
    path: &Path,
    what: &str,
    change: impl FnOnce(&str) -> Result<String, ConfigError>,
) -> Result<(), ConfigError> {
    let _lock = FileLock::acquire(&path.with_added_extension("lock"), &LockOptions::new(what))?;
    let text = read_parsable(path).inspect_err(|error| {
        if let ConfigError::Broken { .. } = error {
            // The refusal is the news; a copy that could not be made changes nothing about it.
            drop(keep_corrupt_copy(path));
        }
    })?;
    let changed = change(&text)?;
    if changed != text {
        hermes_fs::write_atomic(path, changed.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// The text of a settings file that can be understood; empty without a file. Touches nothing.
pub(super) fn read_parsable(path: &Path) -> Result<String, ConfigError> {
    let broken = |reason| ConfigError::Broken {
        path: path.to_owned(),
        reason,
    };
    let text = match hermes_fs::read_text_capped(path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => String::new(),
        Err(error @ hermes_fs::Error::NotUtf8 { .. }) => {
            return Err(broken(BrokenFile::unreadable(&error)));
        }
        Err(error) => return Err(error.into()),
    };
    parse(&text).map_err(broken)?;
    Ok(text)
}

/// Changes `.env` under its lock, mending lines that ran together on the way.
pub(super) fn edit_dotenv<T>(
    sources: &Sources,
    change: impl FnOnce(&mut DotEnv) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let path = &sources.dotenv_path();
    let _lock = FileLock::acquire(
        &path.with_added_extension("lock"),
        &LockOptions::new(".env"),
    )?;
    let mut env = DotEnv::load(path).map_err(|error| match error {
        DotEnvError::File(error) => ConfigError::File(error),
        DotEnvError::Encoding(_) => ConfigError::DotEnv {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    })?;
    let before = env.clone();
    dotenv::repair(&mut env);
    let result = change(&mut env)?;
    if env != before {
        let write = if sources.tighten_dotenv {
            hermes_fs::write_atomic_exact
        } else {
            hermes_fs::write_atomic
        };
        write(path, env.to_text().as_bytes(), 0o600)?;
    }
    Ok(result)
}

/// Sets a variable in `.env`, whatever it is called.
pub fn set_variable(sources: &Sources, name: &str, value: &str) -> Result<SetOutcome, ConfigError> {
    let path = sources.dotenv_path();
    let dropped = edit_dotenv(sources, |env| Ok(dotenv::set_variable(env, name, value)?))?;
    Ok(SetOutcome {
        target: Target::DotEnv,
        path,
        key: name.to_owned(),
        value: Value::String(value.to_owned()),
        unknown: None,
        dropped_positions: dropped,
        mirrored: None,
    })
}

fn split_key(key: &str) -> Result<Vec<String>, ConfigError> {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(EditError::EmptySegment(key.to_owned()).into());
    }
    // The reference knows the address of a model by two names and reads one.
    Ok(if path == ["model", "api_base"] {
        vec!["model".to_owned(), "base_url".to_owned()]
    } else {
        path
    })
}

/// Whether the administrator's file holds this very key, or something below or above it.
pub(super) fn refuse_managed(sources: &Sources, path: &[String]) -> Result<(), ConfigError> {
    let Some(managed) = sources.managed_path() else {
        return Ok(());
    };
    let file = SettingsFile::load(&managed);
    let Some(document) = file.document() else {
        return Ok(());
    };
    let pinned = (1..=path.len()).any(|length| {
        let prefix = path.get(..length).unwrap_or_default();
        value_at(document.value(), prefix)
            .is_some_and(|value| length == path.len() || !value.is_object())
    });
    if pinned {
        return Err(ConfigError::Managed {
            key: path.join("."),
            path: managed,
        });
    }
    Ok(())
}

fn fitting_value(kind: Kind, request: &SetRequest<'_>) -> Result<Value, ConfigError> {
    let wrong = || ConfigError::WrongType {
        key: request.key.to_owned(),
        expected: kind.expected(),
        given: request.value.to_owned(),
    };
    // `${NAME}` may stand for anything; it is looked up when the setting is read.
    if request.value.contains("${") {
        return Ok(Value::String(request.value.to_owned()));
    }
    typed_value(kind, request.value).ok_or_else(wrong)
}

/// The typed text as a value of this kind. A text stays a text: `approvals.mode off` is a word.
fn typed_value(kind: Kind, raw: &str) -> Option<Value> {
    match kind {
        Kind::Text => Some(Value::String(raw.to_owned())),
        Kind::Any => Some(coerce(raw)),
        Kind::TextOrMap | Kind::List | Kind::Map | Kind::ListOrMap => {
            kind.accept(&coerce_collection(raw))
        }
        Kind::Bool
        | Kind::Switch
        | Kind::Int
        | Kind::Positive
        | Kind::Number
        | Kind::Choice(_)
        | Kind::BoolOr(_)
        | Kind::IntOr(_) => kind.from_text(raw),
    }
}

fn coerce_collection(raw: &str) -> Value {
    let trimmed = raw.trim();
    let bracketed = (trimmed.starts_with('[') && trimmed.ends_with(']'))
        || (trimmed.starts_with('{') && trimmed.ends_with('}'));
    let parsed = bracketed.then(|| Document::parse(trimmed).ok()).flatten();
    match parsed.map(|document| document.value().clone()) {
        Some(value @ (Value::Array(_) | Value::Object(_))) => value,
        _ => Value::String(raw.to_owned()),
    }
}

/// What an untyped value means, as the reference has it, and lists and mappings besides.
fn coerce(raw: &str) -> Value {
    let lower = raw.to_ascii_lowercase();
    match lower.as_str() {
        "true" | "yes" | "on" => return Value::Bool(true),
        "false" | "no" | "off" => return Value::Bool(false),
        _ => {}
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(raw) {
        return raw
            .parse::<i64>()
            .map_or_else(|_| Value::String(raw.to_owned()), Value::from);
    }
    let one_dot = raw.split_once('.').is_some_and(|(whole, fraction)| {
        (digits(whole) && (digits(fraction) || fraction.is_empty()))
            || (whole.is_empty() && digits(fraction))
    });
    match raw.parse::<f64>() {
        Ok(float) if one_dot => return Value::from(float),
        _ => {}
    }
    coerce_collection(raw)
}

/// `model: name` keeps the name when a setting below `model` is added.
fn keep_model_name(text: &str, path: &[String]) -> Result<String, ConfigError> {
    if path.len() < 2 || path.first().is_none_or(|first| first != "model") {
        return Ok(text.to_owned());
    }
    let document = Document::parse(text).map_err(EditError::from)?;
    match document.value().get("model") {
        Some(Value::String(name)) if !name.is_empty() => {
            let map = serde_json::json!({ "default": name });
            Ok(yaml::set(text, &["model".to_owned()], &map)?)
        }
        _ => Ok(text.to_owned()),
    }
}

/// The reference mirrors `terminal.*` into `.env`. We add no such line, but one that exists is kept
/// in step, so that going back finds the same value.
fn update_mirror(
    sources: &Sources,
    path: &[String],
    value: &Value,
) -> Result<Option<String>, ConfigError> {
    let Some(var) = schema::find(path).and_then(|key| key.var) else {
        return Ok(None);
    };
    let file = sources.dotenv_path();
    if !DotEnv::load(&file).is_ok_and(|env| env.get(var).is_some()) {
        return Ok(None);
    }
    let text = match value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => plain_text(other),
    };
    edit_dotenv(sources, |env| Ok(dotenv::set_variable(env, var, &text)?))?;
    Ok(Some(var.to_owned()))
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
