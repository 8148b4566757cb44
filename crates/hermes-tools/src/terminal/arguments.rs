//! Arguments of tools, as models send them: mostly right.

use serde_json::{Map, Value};

/// What a value is, in the words of JSON.
pub(super) fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(&'a Value);

impl<'a> Arguments<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self(value)
    }

    /// The value; `null` counts as not given.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A yes or no; words and numbers for it are understood.
    pub(super) fn flag(self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(yes)) => *yes,
            Some(Value::String(text)) => hermes_config::is_truthy(text),
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            _ => false,
        }
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A whole number; texts of one are understood.
    pub(super) fn whole(self, name: &str) -> Result<Option<i64>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_i64().or_else(|| whole_float(number.as_f64()?)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number
            .map(Some)
            .ok_or_else(|| format!("{name} must be a whole number"))
    }

    /// A whole number of at least one.
    pub(super) fn positive(self, name: &str) -> Result<Option<u64>, String> {
        match self.whole(name)? {
            None => Ok(None),
            Some(number) => u64::try_from(number)
                .ok()
                .filter(|number| *number > 0)
                .map(Some)
                .ok_or_else(|| format!("{name} must be at least 1")),
        }
    }

    /// A list of texts; a single text counts as a list of one.
    pub(super) fn texts(self, name: &str) -> Vec<String> {
        match self.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .filter(|text| !text.is_empty())
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn whole_float(number: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and far inside the range"
    )]
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

/// A result object with fields in order.
#[derive(Debug, Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn numbers_and_flags_are_understood_in_other_clothes() {
        let value =
            json!({"a": 5, "b": "7", "c": 2.0, "d": 2.5, "e": 0, "f": null, "g": "yes", "h": [1]});
        let arguments = Arguments::new(&value);
        assert_eq!(arguments.positive("a"), Ok(Some(5)));
        assert_eq!(arguments.positive("b"), Ok(Some(7)));
        assert_eq!(arguments.positive("c"), Ok(Some(2)));
        assert!(arguments.positive("d").is_err());
        assert!(arguments.positive("e").is_err());
        assert_eq!(arguments.positive("f"), Ok(None));
        assert!(arguments.positive("h").is_err());
        assert!(arguments.flag("g") && !arguments.flag("e") && !arguments.flag("x"));
        assert!(arguments.texts("h").is_empty());
    }
}
