//! JSON with `NaN` and `Infinity`, as Python servers write it.

use serde_json::Value;

/// Parses JSON, reading `NaN` and `Infinity` as null.
pub(crate) fn parse_lenient(text: &str) -> Option<Value> {
    serde_json::from_str(text)
        .ok()
        .or_else(|| serde_json::from_str(&without_odd_numbers(text)?).ok())
}

/// The text with `NaN`, `Infinity` and `-Infinity` outside of strings replaced; `None` if there were
/// none.
fn without_odd_numbers(text: &str) -> Option<String> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return None;
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(next) = rest.chars().next() {
        if in_string {
            let skipped = if next == '\\' { 2 } else { 1 };
            let taken: String = rest.chars().take(skipped).collect();
            in_string = next != '"';
            rest = rest.get(taken.len()..).unwrap_or_default();
            result.push_str(&taken);
            continue;
        }
        let word = ["NaN", "-Infinity", "Infinity"]
            .into_iter()
            .find_map(|word| rest.strip_prefix(word));
        if let Some(after) = word {
            result.push_str("null");
            rest = after;
            continue;
        }
        in_string = next == '"';
        result.push(next);
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nan_and_infinity_are_null_outside_of_strings() {
        let text = r#"{"a": NaN, "b": -Infinity, "c": "NaN \" Infinity", "d": [Infinity, 1]}"#;
        let expected = json!({"a": null, "b": null, "c": "NaN \" Infinity", "d": [null, 1]});
        assert_eq!(parse_lenient(text), Some(expected));
        assert_eq!(parse_lenient("<html>NaN"), None);
        assert_eq!(parse_lenient(""), None);
    }
}
