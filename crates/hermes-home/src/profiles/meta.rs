//! `profile.yaml`: facts about a profile that are not settings of the agent.

use std::path::Path;

use hermes_config::yaml::{self, Document, EditError};
use serde_json::Value;

use crate::profiles::existing;
use crate::{Error, Location, ProfileName, Result};

/// A description and a port fit many times over.
const META_LIMIT: u64 = 256 * 1024;

/// What `profile.yaml` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileMeta {
    /// What the profile is for; empty if nobody said.
    pub description: String,
    /// Whether the description was generated.
    pub description_auto: bool,
    pub gateway_port: Option<u16>,
}

/// Reads `profile.yaml` of a home. A missing or broken file says nothing: it must not break a list.
pub fn load_meta(home: &Path) -> ProfileMeta {
    let Some(value) = load_mapping(&home.join("profile.yaml")) else {
        return ProfileMeta::default();
    };
    ProfileMeta {
        description: text_at(&value, "description").unwrap_or_default(),
        description_auto: value.get("description_auto") == Some(&Value::Bool(true)),
        gateway_port: value
            .get("gateway_port")
            .and_then(Value::as_u64)
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port > 0),
    }
}

/// Sets the description of a profile, by hand or by machine; an empty one is removed.
pub fn describe(location: &Location, name: &ProfileName, text: &str, auto: bool) -> Result<()> {
    let home = existing(location, name)?.home;
    write_description(&home, text, auto)
}

pub(crate) fn write_description(home: &Path, text: &str, auto: bool) -> Result<()> {
    edit(home, |current| {
        let path = |key: &str| [key.to_owned()];
        let text = text.trim();
        if text.is_empty() {
            let current = removed(current, &path("description"))?;
            return removed(&current, &path("description_auto"));
        }
        let current = yaml::set(current, &path("description"), &Value::from(text))?;
        yaml::set(&current, &path("description_auto"), &Value::from(auto))
    })
}

/// Sets the port of the gateway.
pub(crate) fn write_gateway_port(home: &Path, port: u16) -> Result<()> {
    edit(home, |current| {
        yaml::set(current, &["gateway_port".to_owned()], &Value::from(port))
    })
}

/// Forgets the port: a clone must not answer on the port of its source.
pub(crate) fn remove_gateway_port(home: &Path) -> Result<()> {
    edit(home, |current| {
        removed(current, &["gateway_port".to_owned()])
    })
}

fn removed(text: &str, path: &[String]) -> std::result::Result<String, EditError> {
    match yaml::remove(text, path) {
        Err(EditError::NotSet(_)) => Ok(text.to_owned()),
        other => other,
    }
}

fn edit(
    home: &Path,
    change: impl FnOnce(&str) -> std::result::Result<String, EditError>,
) -> Result<()> {
    let path = home.join("profile.yaml");
    let current = match hermes_fs::read_text_capped(&path, META_LIMIT) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error.into()),
    };
    let changed = change(&current).map_err(|source| Error::Yaml {
        path: path.clone(),
        source,
    })?;
    if changed == current {
        return Ok(());
    }
    Ok(hermes_fs::write_atomic(&path, changed.as_bytes(), 0o600)?)
}

/// A YAML mapping, or `None` for anything else.
pub(crate) fn load_mapping(path: &Path) -> Option<Value> {
    let text = hermes_fs::read_text_capped(path, 4 * META_LIMIT).ok()?;
    let document = Document::parse(&text).ok()?;
    Some(document.value().clone()).filter(Value::is_object)
}

/// A scalar as text; numbers are common where a version or a name is meant.
pub(crate) fn text_at(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
