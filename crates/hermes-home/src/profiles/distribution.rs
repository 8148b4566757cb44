//! `distribution.yaml`: where a profile came from, and what its author says about it.

use std::path::Path;

use hermes_config::yaml::{self, Document, EditError};
use serde_json::{Value, json};

use crate::profiles::existing;
use crate::profiles::meta::{load_mapping, text_at};
use crate::{Error, Location, ProfileName, Result};

/// Name of the manifest at the top of a distribution and of a profile made from one.
pub(crate) const MANIFEST: &str = "distribution.yaml";

/// A manifest is written by hand.
const MANIFEST_LIMIT: u64 = 1024 * 1024;

/// What lists show of a distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    pub name: String,
    pub version: Option<String>,
    pub source: Option<String>,
}

impl Distribution {
    /// Its part of the `--json` record of a profile.
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name, "version": self.version, "source": self.source })
    }
}

/// A variable a distribution wants the user to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableNeed {
    pub name: String,
    pub description: String,
    pub required: bool,
    pub default: Option<String>,
}

/// A parsed manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistributionManifest {
    pub distribution: Distribution,
    pub description: Option<String>,
    /// The version of Hermes it asks for, such as `>=0.12.0`.
    pub hermes_requires: Option<String>,
    pub author: Option<String>,
    pub license: Option<String>,
    pub installed_at: Option<String>,
    pub variables: Vec<VariableNeed>,
    pub(crate) text: String,
}

impl DistributionManifest {
    /// Reads the manifest at the top of a directory. `origin` names the directory in messages.
    pub(crate) fn load(directory: &Path, origin: &str) -> Result<Self> {
        let refuse = |reason: String| Error::NotADistribution {
            origin: origin.to_owned(),
            reason,
        };
        let path = directory.join(MANIFEST);
        let text = match hermes_fs::read_text_capped(&path, MANIFEST_LIMIT) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => {
                return Err(refuse(format!("it has no {MANIFEST}")));
            }
            Err(error) => return Err(error.into()),
        };
        let document =
            Document::parse(&text).map_err(|error| refuse(format!("{MANIFEST}: {error}")))?;
        let value = document.value();
        if !value.is_object() {
            return Err(refuse(format!("{MANIFEST} is not a mapping")));
        }
        let name =
            text_at(value, "name").ok_or_else(|| refuse(format!("{MANIFEST} has no name")))?;
        Ok(Self {
            distribution: Distribution {
                name,
                version: text_at(value, "version"),
                source: text_at(value, "source"),
            },
            description: text_at(value, "description"),
            hermes_requires: text_at(value, "hermes_requires"),
            author: text_at(value, "author"),
            license: text_at(value, "license"),
            installed_at: text_at(value, "installed_at"),
            variables: variables(value, &refuse)?,
            text,
        })
    }

    /// The text of the manifest as it is kept in the profile: with the name it has here, and where
    /// and when it was fetched. Everything else stays as its author wrote it.
    pub(crate) fn installed_text(
        &self,
        name: &ProfileName,
        source: &str,
        time: &str,
    ) -> std::result::Result<String, EditError> {
        let mut text = self.text.clone();
        for (key, value) in [
            ("name", name.as_str()),
            ("source", source),
            ("installed_at", time),
        ] {
            text = yaml::set(&text, &[key.to_owned()], &Value::from(value))?;
        }
        Ok(text)
    }

    /// A template for `.env` from the variables the manifest asks for; `None` if it asks for none.
    pub(crate) fn env_example(&self) -> Option<String> {
        if self.variables.is_empty() {
            return None;
        }
        let mut text = String::from(
            "# Variables this distribution asks for. Copy what you need to .env and fill it in.\n",
        );
        for variable in &self.variables {
            let need = if variable.required {
                "required"
            } else {
                "optional"
            };
            let lead = if variable.required { "" } else { "# " };
            let value = variable.default.as_deref().unwrap_or_default();
            let description = one_line(&variable.description);
            let note = if description.is_empty() {
                need.to_owned()
            } else {
                format!("{description} ({need})")
            };
            text.push_str(&format!(
                "\n# {note}\n{lead}{}={}\n",
                one_line(&variable.name),
                one_line(value)
            ));
        }
        Some(text)
    }
}

/// What a profile was installed from. A broken manifest tells nothing: it must not break a list.
pub fn distribution_of(home: &Path) -> Option<Distribution> {
    let value = load_mapping(&home.join(MANIFEST))?;
    Some(Distribution {
        name: text_at(&value, "name")?,
        version: text_at(&value, "version"),
        source: text_at(&value, "source"),
    })
}

/// The manifest of a profile that was installed from a distribution.
pub fn manifest_of(location: &Location, name: &ProfileName) -> Result<DistributionManifest> {
    let home = existing(location, name)?.home;
    if !hermes_fs::exists_no_follow(&home.join(MANIFEST)) {
        return Err(Error::NotInstalled { name: name.clone() });
    }
    DistributionManifest::load(&home, &format!("profile '{name}'"))
}

fn variables(manifest: &Value, refuse: &dyn Fn(String) -> Error) -> Result<Vec<VariableNeed>> {
    let entries = match manifest.get("env_requires") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(refuse("env_requires is not a list".to_owned())),
    };
    entries
        .iter()
        .map(|entry| {
            let name = text_at(entry, "name")
                .ok_or_else(|| refuse("an entry of env_requires has no name".to_owned()))?;
            Ok(VariableNeed {
                name,
                description: text_at(entry, "description").unwrap_or_default(),
                required: entry.get("required") != Some(&Value::Bool(false)),
                default: text_at(entry, "default"),
            })
        })
        .collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
