//! The arguments of a tool: one table per tool gives the JSON schema for the model, the check of a
//! call, and the signatures scripts see.
//!
//! Models send numbers as text and single values instead of lists; such arguments are converted to
//! the declared type if only one reading exists, and refused with a sentence otherwise. Unknown
//! arguments are ignored.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    Text,
    /// The content of a file: text, or what is written as JSON.
    Document,
    /// A whole number within bounds.
    Int {
        min: i64,
        max: i64,
    },
    /// A whole number that is brought into the bounds when it is outside.
    ClampedInt {
        min: i64,
        max: i64,
    },
    /// `true` or `false`.
    Flag,
    Choice(&'static [&'static str]),
    Texts,
    /// An object with fields of the caller's choice.
    Object,
    /// A list of objects with these fields.
    Records(&'static [Argument]),
}

/// One argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    pub name: &'static str,
    pub kind: ArgKind,
    /// Whether a call without it is refused.
    pub required: bool,
    /// Whether models are told of it.
    pub listed: bool,
    /// For the model.
    pub doc: &'static str,
}

impl ArgKind {
    /// A whole number from `min` on.
    pub const fn at_least(min: i64) -> Self {
        let max = i64::MAX;
        Self::Int { min, max }
    }

    /// A whole number that is raised to `min` when it is smaller.
    pub const fn clamped_from(min: i64) -> Self {
        let max = i64::MAX;
        Self::ClampedInt { min, max }
    }
}

impl Argument {
    /// An argument every call has.
    pub const fn required(name: &'static str, kind: ArgKind, doc: &'static str) -> Self {
        Self {
            required: true,
            ..Self::optional(name, kind, doc)
        }
    }

    /// An argument with a default.
    pub const fn optional(name: &'static str, kind: ArgKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            listed: true,
            doc,
        }
    }

    /// A text with a default.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::optional(name, ArgKind::Text, doc)
    }

    /// A switch that is off by default.
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::optional(name, ArgKind::Flag, doc)
    }

    /// A list of texts that is empty by default.
    pub const fn texts(name: &'static str, doc: &'static str) -> Self {
        Self::optional(name, ArgKind::Texts, doc)
    }

    /// An argument that models are not told of: it has no effect yet.
    pub const fn unlisted(name: &'static str, kind: ArgKind, doc: &'static str) -> Self {
        Self {
            listed: false,
            ..Self::optional(name, kind, doc)
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ArgKind::Text | ArgKind::Document => json!({"type": "string"}),
            ArgKind::Int { min, max } | ArgKind::ClampedInt { min, max } => {
                let mut schema = json!({"type": "integer", "minimum": min});
                if max != i64::MAX {
                    schema["maximum"] = json!(max);
                }
                schema
            }
            ArgKind::Flag => json!({"type": "boolean"}),
            ArgKind::Choice(words) => json!({"type": "string", "enum": words}),
            ArgKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            // Some servers refuse an object without `properties`.
            ArgKind::Object => json!({"type": "object", "properties": {}}),
            ArgKind::Records(fields) => json!({"type": "array", "items": schema_of(fields)}),
        };
        schema["description"] = json!(self.doc);
        schema
    }

    fn expected(&self) -> String {
        match self.kind {
            ArgKind::Text | ArgKind::Document => "a string".to_owned(),
            ArgKind::ClampedInt { .. } => "a whole number".to_owned(),
            ArgKind::Int { min, max: i64::MAX } => format!("a whole number of at least {min}"),
            ArgKind::Int { min, max } => format!("a whole number from {min} to {max}"),
            ArgKind::Flag => "true or false".to_owned(),
            ArgKind::Choice(words) => format!("one of {}", words.join(", ")),
            ArgKind::Texts => "a list of strings".to_owned(),
            ArgKind::Object => "an object".to_owned(),
            ArgKind::Records(_) => "a list of objects".to_owned(),
        }
    }

    /// The value as the declared type, or what is wrong with it.
    fn coerced(&self, value: &Value) -> Result<Value, String> {
        let refusal = || {
            format!(
                "Invalid argument '{}': expected {}, got {}.",
                self.name,
                self.expected(),
                shown(value)
            )
        };
        let ArgKind::Records(fields) = self.kind else {
            return self.coerce(value).ok_or_else(refusal);
        };
        let parsed: Option<Value> = value
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let items = match parsed.as_ref().unwrap_or(value) {
            Value::Array(items) => items.as_slice(),
            single @ Value::Object(_) => std::slice::from_ref(single),
            _ => return Err(refusal()),
        };
        let records = items.iter().zip(1..).map(|(item, number)| {
            checked(fields, item)
                .map_err(|problem| format!("{}, item {number}: {problem}", self.name))
        });
        records.collect()
    }

    /// The value as the declared type, or `None` if no single reading exists.
    fn coerce(&self, value: &Value) -> Option<Value> {
        match (self.kind, value) {
            (ArgKind::Text | ArgKind::Document, Value::String(_))
            | (ArgKind::Flag, Value::Bool(_))
            | (ArgKind::Object, Value::Object(_)) => Some(value.clone()),
            (ArgKind::Document, Value::Object(_) | Value::Array(_)) => {
                // The alternate form has lines, as files have.
                Some(json!(format!("{value:#}\n")))
            }
            (ArgKind::Int { min, max }, _) => whole_number(value)
                .filter(|number| (min..=max).contains(number))
                .map(Value::from),
            (ArgKind::ClampedInt { min, max }, _) => {
                whole_number(value).map(|number| Value::from(number.clamp(min, max)))
            }
            (ArgKind::Flag, Value::String(text)) => {
                match text.trim().to_ascii_lowercase().as_str() {
                    "true" | "1" | "yes" | "on" => Some(json!(true)),
                    "false" | "0" | "no" | "off" => Some(json!(false)),
                    _ => None,
                }
            }
            (ArgKind::Choice(words), Value::String(text)) => {
                let text = text.trim();
                words.contains(&text).then(|| json!(text))
            }
            (ArgKind::Texts, Value::Array(items)) => items
                .iter()
                .all(Value::is_string)
                .then(|| Value::Array(items.clone())),
            (ArgKind::Texts, Value::String(text)) => {
                // A list written as JSON text is the list; any other text is its only element.
                let items = serde_json::from_str(text).unwrap_or_else(|_| vec![text.clone()]);
                Some(json!(items))
            }
            (ArgKind::Object, Value::String(text)) => {
                serde_json::from_str(text).ok().filter(Value::is_object)
            }
            _ => None,
        }
    }
}

fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole, and saturating beyond the range"
            )]
            Some(float as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The JSON schema of a table.
pub(crate) fn schema_of(arguments: &[Argument]) -> Value {
    let properties: Map<String, Value> = arguments
        .iter()
        .filter(|argument| argument.listed)
        .map(|argument| (argument.name.to_owned(), argument.schema()))
        .collect();
    let required: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.required)
        .map(|argument| argument.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The arguments as an object: none at all are an empty one.
pub(crate) fn object(given: &Value) -> Result<Cow<'_, Map<String, Value>>, String> {
    match given {
        Value::Null => Ok(Cow::Owned(Map::new())),
        Value::Object(given) => Ok(Cow::Borrowed(given)),
        // Some models send the object as text.
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(object)) => Ok(Cow::Owned(object)),
            _ => Err("Arguments must be a JSON object, got a string.".to_owned()),
        },
        other => Err(format!(
            "Arguments must be a JSON object, got {}.",
            type_name(other)
        )),
    }
}

/// The arguments of a call in their declared types, nulls left out; or what is wrong with them.
pub(crate) fn checked(arguments: &[Argument], given: &Value) -> Result<Value, String> {
    let given = &*object(given)?;
    let mut checked = Map::new();
    for argument in arguments {
        let value = given
            .get(argument.name)
            .filter(|value| !is_absent(value, argument));
        let Some(value) = value else {
            if argument.required {
                return Err(format!(
                    "Missing argument '{}': expected {}.{}",
                    argument.name,
                    argument.expected(),
                    unknown(arguments, given)
                ));
            }
            continue;
        };
        checked.insert(argument.name.to_owned(), argument.coerced(value)?);
    }
    Ok(Value::Object(checked))
}

/// A sentence about an unknown argument, which may be the misspelt missing one.
fn unknown(arguments: &[Argument], given: &Map<String, Value>) -> String {
    let is_known = |name: &String| arguments.iter().any(|argument| argument.name == name);
    match given.keys().find(|name| !is_known(name)) {
        Some(unknown) => {
            let names: Vec<&str> = arguments.iter().map(|argument| argument.name).collect();
            let unknown = hermes_text::cut(unknown, 60);
            format!(" Unknown: '{unknown}'. Known: {}.", names.join(", "))
        }
        None => String::new(),
    }
}

/// Null, or the word for it where text is not what is wanted.
fn is_absent(value: &Value, argument: &Argument) -> bool {
    let is_text = matches!(argument.kind, ArgKind::Text | ArgKind::Document);
    value.is_null() || (!is_text && value.as_str() == Some("null"))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let is_list = value.is_array() || value.is_object();
    if is_list || text.chars().nth(60).is_some() {
        return type_name(value).to_owned();
    }
    text
}

/// A text argument without blanks around it; a blank one counts as none.
pub(crate) fn text<'a>(args: &'a Value, name: &str) -> Option<&'a str> {
    let text = args[name].as_str().map(str::trim);
    text.filter(|text| !text.is_empty())
}

/// The texts of a list without blanks around them, blank ones left out.
pub(crate) fn texts(args: &Value, name: &str) -> Vec<String> {
    let items = args[name].as_array().into_iter().flatten();
    let texts = items.filter_map(Value::as_str).map(str::trim);
    texts
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The JSON type of a value, with its article.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    const TABLE: &[Argument] = &[
        Argument::required("path", ArgKind::Text, "Where."),
        Argument::optional("limit", ArgKind::Int { min: 1, max: 10 }, "How many."),
        Argument::optional("all", ArgKind::Flag, "Everything."),
        Argument::optional("mode", ArgKind::Choice(&["a", "b"]), "Which."),
        Argument::optional("urls", ArgKind::Texts, "Which ones."),
        Argument::optional("facts", ArgKind::Object, "Which facts."),
        Argument::optional(
            "items",
            ArgKind::Records(&[
                Argument::required("id", ArgKind::Text, "Its name."),
                Argument::optional("count", ArgKind::Int { min: 0, max: 9 }, "How many."),
            ]),
            "Which items.",
        ),
    ];

    #[test]
    fn what_models_write_for_a_type_is_read_as_that_type() {
        let given = json!({"path": "x", "limit": "7", "all": "true", "mode": " b ", "urls": "u"});
        let expected = json!({"path": "x", "limit": 7, "all": true, "mode": "b", "urls": ["u"]});
        assert_eq!(checked(TABLE, &given), Ok(expected));
        let given = json!({"path": "null", "limit": 7.0, "all": null, "mode": "null",
            "urls": "[\"u\", \"v\"]"});
        let expected = json!({"path": "null", "limit": 7, "urls": ["u", "v"]});
        assert_eq!(checked(TABLE, &given), Ok(expected.clone()));
        assert_eq!(checked(TABLE, &json!(given.to_string())), Ok(expected));
    }

    #[test]
    fn invalid_arguments_are_named_in_the_error() {
        let refused = |given: Value| checked(TABLE, &given).unwrap_err();
        assert_eq!(
            refused(json!({})),
            "Missing argument 'path': expected a string."
        );
        assert_eq!(
            refused(json!({"path": 5})),
            "Invalid argument 'path': expected a string, got 5."
        );
        assert_eq!(
            refused(json!({"path": "x", "limit": 11})),
            "Invalid argument 'limit': expected a whole number from 1 to 10, got 11."
        );
        assert_eq!(
            refused(json!({"path": "x", "urls": [1]})),
            "Invalid argument 'urls': expected a list of strings, got a list."
        );
        assert_eq!(
            refused(json!({"pth": "x"})),
            "Missing argument 'path': expected a string. Unknown: 'pth'. Known: path, limit, all, \
             mode, urls, facts, items."
        );
        assert_eq!(
            refused(json!([1])),
            "Arguments must be a JSON object, got a list."
        );
    }

    #[test]
    fn unknown_arguments_are_ignored() {
        let given = json!({"path": "x", "description": "why", "items": [{"id": "i", "note": 1}]});
        let expected = json!({"path": "x", "items": [{"id": "i"}]});
        assert_eq!(checked(TABLE, &given), Ok(expected));
    }

    #[test]
    fn a_document_may_come_as_what_it_holds() {
        const FILE: &[Argument] = &[Argument::required("content", ArgKind::Document, "What.")];
        let read = |content: Value| checked(FILE, &json!({"content": content}));
        assert_eq!(
            read(json!({"a": [1]})),
            Ok(json!({"content": "{\n  \"a\": [\n    1\n  ]\n}\n"}))
        );
        assert_eq!(read(json!("null")), Ok(json!({"content": "null"})));
        assert!(read(json!(5)).is_err() && read(Value::Null).is_err());
        assert_eq!(schema_of(FILE)["properties"]["content"]["type"], "string");
    }

    #[test]
    fn objects_and_lists_of_them_are_read_from_text_and_checked_inside() {
        let given =
            json!({"path": "x", "facts": "{\"a\": [1]}", "items": {"id": "i", "count": "3"}});
        let expected =
            json!({"path": "x", "facts": {"a": [1]}, "items": [{"id": "i", "count": 3}]});
        assert_eq!(checked(TABLE, &given), Ok(expected));
        let refused = |given: Value| checked(TABLE, &given).unwrap_err();
        assert_eq!(
            refused(json!({"path": "x", "facts": "[1]"})),
            "Invalid argument 'facts': expected an object, got \"[1]\"."
        );
        assert_eq!(
            refused(json!({"path": "x", "items": [{"id": "i"}, {"count": 1}]})),
            "items, item 2: Missing argument 'id': expected a string."
        );
        assert_eq!(
            refused(json!({"path": "x", "items": "many"})),
            "Invalid argument 'items': expected a list of objects, got \"many\"."
        );
    }

    #[test]
    fn the_schema_has_types_bounds_and_required_names() {
        let schema = schema_of(TABLE);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(
            schema["properties"]["limit"],
            json!({"type": "integer", "minimum": 1, "maximum": 10, "description": "How many."})
        );
        assert_eq!(
            schema["properties"]["items"]["items"]["required"],
            json!(["id"])
        );
    }

    proptest! {
        #[test]
        fn any_text_for_any_argument_is_an_answer(name in "[a-z]{0,6}", text in ".*") {
            // Neither a panic nor a message without the name.
            if let Err(message) = checked(TABLE, &json!({"path": "x", name: text})) {
                prop_assert!(message.contains('\''), "{message}");
            }
        }
    }
}
