//! What a skill declares at the top of its `SKILL.md`, between two lines `---`.
//!
//! Anybody may have written it. It is read with a bound; what is no YAML is read line by line, as
//! the reference does; what has an unexpected type counts as not declared.

use std::collections::BTreeSet;

use hermes_config::yaml::Document;
use serde_json::{Map, Value};

/// Largest declaration that is parsed.
const MAX_BYTES: usize = 64 * 1024;
/// Items of a list that are used.
const MAX_ITEMS: usize = 100;
/// Characters of one text.
const MAX_TEXT: usize = 1_024;

/// A variable that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredVariable {
    pub name: String,
    pub prompt: String,
    pub help: Option<String>,
    pub required_for: Option<String>,
    pub is_optional: bool,
}

/// The declarations of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillHead {
    fields: Map<String, Value>,
    /// Why they could not be read whole.
    pub problem: Option<String>,
}

/// The declarations of a text, and the rest. A text without any is all body.
pub fn split(text: &str) -> (SkillHead, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.starts_with("---") {
        return (SkillHead::default(), text);
    }
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        if number > 0 && line.trim_end() == "---" {
            let head = text.get(3..start).unwrap_or_default();
            return (SkillHead::parse(head), text.get(at..).unwrap_or_default());
        }
    }
    (SkillHead::default(), text)
}

impl SkillHead {
    fn parse(text: &str) -> Self {
        if text.len() > MAX_BYTES {
            return Self {
                fields: plain_lines(text),
                problem: Some(format!(
                    "its declarations are longer than {} KiB",
                    MAX_BYTES >> 10
                )),
            };
        }
        match Document::parse(text) {
            Ok(document) => match document.value() {
                Value::Object(fields) => Self {
                    fields: fields.clone(),
                    problem: None,
                },
                Value::Null => Self::default(),
                _ => Self {
                    fields: Map::new(),
                    problem: Some("its declarations are not a mapping".to_owned()),
                },
            },
            Err(error) => Self {
                fields: plain_lines(text),
                problem: Some(format!(
                    "its declarations are not valid YAML: {}",
                    hermes_text::one_line(&error.to_string(), 120)
                )),
            },
        }
    }

    /// The declared name.
    pub fn name(&self) -> Option<String> {
        self.text("name")
            .filter(|name| !name.is_empty())
            .map(|name| cut(&name, 64))
    }

    /// The description; empty without one.
    pub fn description(&self) -> String {
        self.text("description").unwrap_or_default()
    }

    /// A text of the outermost level, without blanks around it.
    pub fn text(&self, key: &str) -> Option<String> {
        text_of(self.fields.get(key)?)
    }

    /// A list of texts of the outermost level; a single one counts as a list.
    pub fn texts(&self, key: &str) -> Vec<String> {
        texts_of(self.fields.get(key))
    }

    /// A list of texts below `metadata.hermes`, or else of the outermost level.
    pub fn hermes_texts(&self, key: &str) -> Vec<String> {
        let own = texts_of(self.hermes().and_then(|hermes| hermes.get(key)));
        if own.is_empty() { self.texts(key) } else { own }
    }

    /// The mapping `metadata`.
    pub fn metadata(&self) -> Option<&Value> {
        self.fields
            .get("metadata")
            .filter(|value| value.is_object())
    }

    fn hermes(&self) -> Option<&Map<String, Value>> {
        self.metadata()?.get("hermes")?.as_object()
    }

    /// Settings the skill reads, as key and default: `metadata.hermes.config`.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let declared = self.hermes().and_then(|hermes| hermes.get("config"));
        let mut found: Vec<(String, Value)> = Vec::new();
        for item in items(declared) {
            let Some(key) = item.get("key").and_then(text_of) else {
                continue;
            };
            let is_known = found.iter().any(|(known, _)| *known == key);
            if !key.is_empty() && !is_known {
                let default = item.get("default").cloned().unwrap_or(Value::Null);
                found.push((key, default));
            }
        }
        found
    }

    /// Credential files the skill needs, relative to the home: a path, or a mapping with `path`.
    pub fn credential_files(&self) -> Vec<String> {
        let paths = items(self.fields.get("required_credential_files")).filter_map(|item| {
            let path = item.get("path").or_else(|| item.get("name"));
            text_of(path.unwrap_or(item)).filter(|path| !path.is_empty())
        });
        paths.collect()
    }

    /// Variables the skill needs, each once, of all three ways to declare them.
    pub fn variables(&self) -> Vec<RequiredVariable> {
        let mut found: Vec<RequiredVariable> = Vec::new();
        let mut seen = BTreeSet::new();
        let setup = self.fields.get("setup");
        let help = setup.and_then(|setup| setup.get("help")).and_then(text_of);
        let mut add = |item: &Value, key: &str| {
            let name = match item {
                Value::String(name) => name.trim().to_owned(),
                other => other.get(key).and_then(text_of).unwrap_or_default(),
            };
            if !is_variable_name(&name) || !seen.insert(name.clone()) {
                return;
            }
            let text = |field: &str| item.get(field).and_then(text_of).filter(|t| !t.is_empty());
            found.push(RequiredVariable {
                prompt: text("prompt").unwrap_or_else(|| format!("Value of {name}")),
                help: text("help")
                    .or_else(|| text("provider_url"))
                    .or_else(|| text("url"))
                    .or_else(|| help.clone()),
                required_for: text("required_for"),
                is_optional: item.get("optional").and_then(Value::as_bool) == Some(true),
                name,
            });
        };
        for item in items(self.fields.get("required_environment_variables")) {
            add(
                item,
                if item.get("name").is_some() {
                    "name"
                } else {
                    "env_var"
                },
            );
        }
        for item in items(setup.and_then(|setup| setup.get("collect_secrets"))) {
            add(item, "env_var");
        }
        let legacy = self
            .fields
            .get("prerequisites")
            .and_then(|all| all.get("env_vars"));
        for item in items(legacy) {
            add(item, "name");
        }
        found
    }

    /// Programs the skill needs.
    pub fn commands(&self) -> Vec<String> {
        let legacy = self
            .fields
            .get("prerequisites")
            .and_then(|all| all.get("commands"));
        texts_of(legacy)
    }
}

/// The list a value is; a single value that is not empty is a list of one.
fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let items: Vec<&Value> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().take(MAX_ITEMS).collect(),
        Some(single) => vec![single],
    };
    items.into_iter()
}

fn texts_of(value: Option<&Value>) -> Vec<String> {
    let texts: Vec<String> = match value {
        // `[a, b]` in quotes, or `a, b`.
        Some(Value::String(text)) => {
            let text = text.trim();
            let inner = text
                .strip_prefix('[')
                .and_then(|text| text.strip_suffix(']'));
            let parts = inner.unwrap_or(text).split(',').take(MAX_ITEMS);
            parts
                .map(|part| cut(part.trim().trim_matches(['"', '\'']), MAX_TEXT))
                .collect()
        }
        other => items(other).filter_map(text_of).collect(),
    };
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(cut(text.trim(), MAX_TEXT)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn cut(text: &str, most: usize) -> String {
    hermes_text::cut(text, most).to_owned()
}

fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    name.len() <= 128
        && first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `key: value` lines of something that is no YAML, such as a description with a colon in it.
fn plain_lines(text: &str) -> Map<String, Value> {
    let lines = text
        .lines()
        .take(MAX_ITEMS)
        .filter_map(|line| line.split_once(':'));
    let lines = lines.filter(|(key, _)| !key.is_empty() && !key.starts_with([' ', '\t', '#', '-']));
    lines
        .map(|(key, value)| {
            let value = value.trim().trim_matches(['"', '\'']);
            (key.trim().to_owned(), Value::from(cut(value, MAX_TEXT)))
        })
        .collect()
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
