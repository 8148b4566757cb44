//! Laying one tree of settings over another, with the schema looking on.

use serde_json::{Map, Value};

use super::expand::expand;
use super::file::SettingsFile;
use super::merged::Merged;
use super::normalise::{normalise, source_paths};
use super::problem::Problem;
use crate::schema::{self, Known};
use crate::yaml::{put, value_at};

/// Lays the content of a file over `base`.
pub(super) struct FileOverlay<'a, 'v> {
    pub(super) file: &'a SettingsFile,
    pub(super) lookup: &'a dyn Fn(&str) -> Option<&'v str>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl FileOverlay<'_, '_> {
    pub(super) fn apply(&mut self, merged: &mut Merged) {
        let Some(Value::Object(tree)) = self.file.document().map(|d| d.value().clone()) else {
            return;
        };
        let mut tree = tree;
        normalise(&mut tree);
        for (section, value) in tree {
            let base = merged.changeable(&section);
            self.entry(base, &mut vec![section], value);
        }
    }

    fn map(&mut self, base: &mut Value, path: &mut Vec<String>, tree: Map<String, Value>) {
        for (key, value) in tree {
            path.push(key);
            self.entry(base, path, value);
            path.pop();
        }
    }

    fn entry(&mut self, base: &mut Value, path: &mut Vec<String>, value: Value) {
        let known = schema::classify(path);
        let value = match known {
            Known::Key(key) => match self.fit(key, value) {
                Ok(fitting) => fitting,
                Err(found) => return self.wrong_type(path, key.kind.expected(), &found),
            },
            Known::Group if !value.is_object() && !value.is_null() => {
                return self.wrong_type(path, "a mapping".to_owned(), &value);
            }
            Known::Unknown => {
                self.unknown(path);
                self.expand_all(value)
            }
            Known::Group | Known::Free => value,
        };
        match value {
            // An empty section means its defaults, not their absence.
            Value::Null => {
                if value_at(base, path).is_none() {
                    put(base, path, Value::Null);
                }
            }
            Value::Object(map) if !matches!(known, Known::Unknown) => {
                if !value_at(base, path).is_some_and(Value::is_object) {
                    put(base, path, Value::Object(Map::new()));
                }
                self.map(base, path, map);
            }
            other => {
                let expanded = self.expand_all(other);
                put(base, path, expanded);
            }
        }
    }

    /// The value as the key wants it; a `${NAME}` may stand for a number or a list.
    fn fit(&self, key: &schema::Key, value: Value) -> Result<Value, Value> {
        if let Some(fitting) = key.kind.accept(&value) {
            return Ok(fitting);
        }
        match &value {
            Value::String(text) => expand(text, self.lookup)
                .and_then(|expanded| key.kind.from_text(&expanded))
                .ok_or(value),
            _ => Err(value),
        }
    }

    fn expand_all(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(expand(&text, self.lookup).unwrap_or(text)),
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.expand_all(item))
                    .collect(),
            ),
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(k, v)| (k, self.expand_all(v)))
                    .collect(),
            ),
            other => other,
        }
    }

    fn line(&self, path: &[String]) -> Option<usize> {
        source_paths(path)
            .iter()
            .find_map(|path| self.file.line_of(path))
    }

    fn wrong_type(&mut self, path: &[String], expected: String, found: &Value) {
        let problem = Problem::WrongType {
            file: self.file.path.clone(),
            line: self.line(path),
            key: path.join("."),
            expected,
            found: describe(found),
        };
        self.problems.push(problem);
    }

    fn unknown(&mut self, path: &[String]) {
        let key = path.join(".");
        let problem = Problem::UnknownKey {
            file: self.file.path.clone(),
            line: self.line(path),
            suggestion: suggestion(&key),
            key,
        };
        self.problems.push(problem);
    }
}

/// The known setting or section most like an unknown one.
pub(super) fn suggestion(key: &str) -> Option<String> {
    let paths: Vec<String> = schema::keys().map(|(path, _)| path).collect();
    let sections = schema::sections().map(|section| section.name);
    hermes_text::closest(key, paths.iter().map(String::as_str).chain(sections)).map(str::to_owned)
}

/// A value for a message: its type, and the value itself where it cannot be a secret.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text)
            if text.chars().count() <= 24 && !hermes_secret::is_secret_name(text) =>
        {
            format!("the text {text:?}")
        }
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}
