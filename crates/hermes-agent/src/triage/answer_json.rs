//! The JSON object in an answer, which may be surrounded by text.

use serde_json::{Map, Value};

/// The object between the first opening and the last closing brace.
pub(crate) fn object_in(answer: &str) -> Option<Map<String, Value>> {
    let first = answer.find('{')?;
    let last = answer.rfind('}')?;
    let inner = answer.get(first..=last)?;
    match serde_json::from_str(inner) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// A text field that is not empty.
pub(super) fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_is_found_in_fences_and_text() {
        for answer in [
            r#"{"a": "{x}"}"#,
            "```json\n{\"a\": \"{x}\"}\n```",
            "Here you are: {\"a\": \"{x}\"} — done.",
        ] {
            let object = object_in(answer).unwrap();
            assert_eq!(Value::Object(object), json!({"a": "{x}"}), "{answer}");
        }
        for answer in ["", "no", "}{", "{\"a\"", "[1]", "{a: 1}", "ü{ö}"] {
            assert_eq!(object_in(answer), None, "{answer}");
        }
    }
}
