//! Reading the settings of one server, as people write them: numbers as text, `yes` for true, one
//! word where a list is meant.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// What is wrong with the settings of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp_servers.{server}{}{key}: {problem}", if key.is_empty() { "" } else { "." })]
pub struct ConfigError {
    pub server: String,
    /// Below the server; empty if the server as a whole is meant.
    pub key: String,
    pub problem: String,
}

/// A mapping below `mcp_servers.<server>`.
pub(crate) struct Fields<'a> {
    server: &'a str,
    /// Where this mapping is below the server.
    section: &'a str,
    entries: Option<&'a Map<String, Value>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of_server(server: &'a str, entry: &'a Value) -> Result<Self, ConfigError> {
        let empty = Self {
            server,
            section: "",
            entries: None,
        };
        match entry {
            Value::Object(fields) => Ok(Self {
                entries: Some(fields),
                ..empty
            }),
            other => Err(empty.error("", format!("expected a mapping, got {}", kind(other)))),
        }
    }

    /// A mapping in this one; empty if there is none.
    pub(crate) fn section(&self, key: &'a str) -> Result<Self, ConfigError> {
        let fields = match self.get(key) {
            None => None,
            Some(Value::Object(fields)) => Some(fields),
            Some(other) => {
                let problem = format!("expected a mapping, got {}", kind(other));
                return Err(self.error(key, problem));
            }
        };
        Ok(Self {
            server: self.server,
            section: key,
            entries: fields,
        })
    }

    /// The value, unless it is null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.entries?.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.error(key, format!("expected text, got {}", kind(other)))),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        let value = match self.get(key) {
            None => return Ok(None),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" => Some(false),
                _ => None,
            },
            Some(Value::Number(number)) => match number.as_i64() {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
            Some(_) => None,
        };
        match value {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.error(key, "expected true or false".to_owned())),
        }
    }

    pub(crate) fn seconds(&self, key: &str) -> Result<Option<f64>, ConfigError> {
        let number = match self.get(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number.filter(|number| number.is_finite() && *number >= 0.0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(key, "expected a number that is not negative".to_owned())),
        }
    }

    /// A whole number, at least `least`.
    pub(crate) fn count(&self, key: &str, least: u32) -> Result<Option<u32>, ConfigError> {
        let number = match self.get(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| *number >= least) {
            Some(number) => Ok(Some(number)),
            None => {
                let problem = format!("expected a whole number, at least {least}");
                Err(self.error(key, problem))
            }
        }
    }

    /// A list of texts; one text is a list of one.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| match plain(item) {
                    Some(text) => Ok(text),
                    None => Err(self.error(key, format!("expected text, got {}", kind(item)))),
                });
                texts.collect()
            }
            Some(value) => match plain(value) {
                Some(text) => Ok(vec![text]),
                None => Err(self.error(key, format!("expected a list, got {}", kind(value)))),
            },
        }
    }

    /// A mapping of names to texts.
    pub(crate) fn map(&self, key: &str) -> Result<Vec<(String, String)>, ConfigError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Object(fields)) => {
                let texts = fields.iter().map(|(name, value)| match plain(value) {
                    Some(text) => Ok((name.clone(), text)),
                    None => Err(self.error(
                        &format!("{key}.{name}"),
                        format!("expected text, got {}", kind(value)),
                    )),
                });
                texts.collect()
            }
            Some(other) => {
                let problem = format!("expected a mapping of names to texts, got {}", kind(other));
                Err(self.error(key, problem))
            }
        }
    }

    /// A path that is not empty. Where it begins with `~`, the user's home is meant.
    pub(crate) fn file(&self, key: &str, text: &str) -> Result<PathBuf, ConfigError> {
        match text.trim() {
            "" => Err(self.error(key, "the path is empty".to_owned())),
            path => Ok(PathBuf::from(path)),
        }
    }

    pub(crate) fn error(&self, key: &str, problem: String) -> ConfigError {
        let dot = if self.section.is_empty() || key.is_empty() {
            ""
        } else {
            "."
        };
        ConfigError {
            server: self.server.to_owned(),
            key: format!("{}{dot}{key}", self.section),
            problem,
        }
    }
}

/// A single value as text: YAML reads `8080` and `true` as something else.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
