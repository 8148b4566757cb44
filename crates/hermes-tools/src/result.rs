//! Results of tools: their common shape, secrets masked, and a size that is bounded without breaking
//! the shape.

use std::time::Duration;

use hermes_secret::Redactor;
use serde_json::{Value, json};

/// Strings this short are never cut: names, states, messages.
const NEVER_CUT: usize = 400;

/// `{"error": …}`.
pub fn error(message: impl Into<String>) -> Value {
    json!({"error": message.into()})
}

/// Seconds as results show them.
pub(crate) fn two_decimals(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

/// Whether a result says that the tool did not do what was asked: a non-null `error`, `success:
/// false`, or a `status` of refusal. A command that ran and ended with another code than 0 is no
/// failure of the tool.
pub fn is_failure(result: &Value) -> bool {
    const REFUSALS: &[&str] = &[
        "error",
        "blocked",
        "disabled",
        "pending_approval",
        "not_found",
        "timeout",
        "interrupted",
    ];
    let status = result.get("status").and_then(Value::as_str);
    result.get("error").is_some_and(|error| !error.is_null())
        || result.get("success") == Some(&Value::Bool(false))
        || status.is_some_and(|status| REFUSALS.contains(&status))
}

/// The value with secrets masked in every string, names of fields included.
pub(crate) fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => match redactor.redact(&text) {
            std::borrow::Cow::Borrowed(_) => Value::String(text),
            std::borrow::Cow::Owned(masked) => Value::String(masked),
        },
        Value::Array(items) => items
            .into_iter()
            .map(|item| redacted(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let name = redactor.redact(&name).into_owned();
                (name, redacted(value, redactor))
            })
            .collect(),
        other => other,
    }
}

/// The value, cut so that its JSON text has at most `limit` characters: the longest strings lose their
/// middle, then the longest lists their end. A cut object says so in `result_truncated`.
pub(crate) fn capped(mut value: Value, limit: usize) -> Value {
    // Every round halves what is longest, so the count is logarithmic in the excess.
    let mut cut = false;
    for _ in 0..64 {
        let size = size_of(&value);
        if size <= limit {
            break;
        }
        let (mut longest_text, mut longest_list) = (0, 0);
        each(&mut value, &mut |part| match part {
            Value::String(text) => longest_text = longest_text.max(text.chars().count()),
            Value::Array(items) => longest_list = longest_list.max(items.len()),
            _ => {}
        });
        let (most_chars, most_items) = if longest_text > NEVER_CUT {
            // The excess taken from the longest one may be enough; never below half of it, so that
            // several long ones share the loss.
            let target = longest_text.saturating_sub(size - limit);
            let target = target.max(longest_text / 2).max(NEVER_CUT);
            (target.min(longest_text - 1), usize::MAX)
        } else if longest_list > 1 {
            (usize::MAX, longest_list / 2)
        } else {
            break;
        };
        each(&mut value, &mut |part| match part {
            Value::String(text) if text.chars().count() > most_chars => {
                *text = middle_cut(text, most_chars);
            }
            Value::Array(items) => items.truncate(most_items),
            _ => {}
        });
        cut = true;
    }
    if size_of(&value) > limit {
        // Thousands of short fields: nothing left to shorten that would keep the meaning.
        return error(format!(
            "The result is larger than {limit} characters and could not be shortened."
        ));
    }
    if cut && let Value::Object(fields) = &mut value {
        fields.insert("result_truncated".to_owned(), json!(true));
    }
    value
}

fn size_of(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// Calls `visit` with the value, then with everything in it.
fn each(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each(field, visit)),
        _ => {}
    }
}

/// Two fifths from the head, three from the tail, and between them how much is missing.
fn middle_cut(text: &str, target: usize) -> String {
    let total = text.chars().count();
    let room = target.saturating_sub(80);
    let head = room * 2 / 5;
    let tail = room - head;
    let start = hermes_text::cut(text, head);
    let end: String = text.chars().skip(total - tail).collect();
    let omitted = total - head - tail;
    format!("{start}\n… [{omitted} of {total} characters omitted] …\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_results_are_untouched() {
        let value = json!({"a": "x".repeat(90), "b": [1, 2]});
        assert_eq!(capped(value.clone(), 200), value);
    }

    #[test]
    fn a_long_string_loses_its_middle_and_nothing_else() {
        let text = format!("start{}end", "é\n".repeat(100_000));
        let value = capped(
            json!({"output": text, "exit_code": 0, "error": null}),
            10_000,
        );
        assert!(size_of(&value) <= 10_100, "{}", size_of(&value));
        let output = value["output"].as_str().unwrap();
        assert!(output.starts_with("start") && output.ends_with("end"));
        assert_eq!(value["exit_code"], json!(0));
        assert_eq!(value["result_truncated"], json!(true));
    }

    #[test]
    fn several_long_strings_share_the_loss() {
        let value = capped(
            json!({"a": "a".repeat(50_000), "b": "b".repeat(60_000)}),
            10_000,
        );
        assert!(size_of(&value) <= 10_100);
        assert!(value["a"].as_str().unwrap().len() > 2_000);
    }

    #[test]
    fn a_long_list_loses_its_end() {
        let items: Vec<Value> = (0..10_000).map(|n| json!({"path": n})).collect();
        let value = capped(json!({"matches": items, "total_count": 10_000}), 5_000);
        assert!(size_of(&value) <= 5_100);
        assert_eq!(value["matches"][0]["path"], json!(0));
        assert_eq!(value["total_count"], json!(10_000));
    }

    #[test]
    fn a_result_that_cannot_be_shortened_becomes_an_error() {
        let fields: serde_json::Map<String, Value> =
            (0..10_000).map(|n| (n.to_string(), json!(n))).collect();
        assert!(capped(Value::Object(fields), 5_000)["error"].is_string());
    }
}
