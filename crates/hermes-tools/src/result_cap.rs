//! ResultToSave a result below a number of characters without breaking its shape: the longest strings
//! lose their middle, then the longest lists their end.

use serde_json::{Value, json};

/// Strings this short are never cut: names, states, messages.
const NEVER_CUT: usize = 400;

/// The value, cut so that its JSON text has at most `limit` characters. A cut object says so in
/// `result_truncated`.
pub(crate) fn capped(mut value: Value, limit: usize) -> Value {
    // Every round halves what is longest, so the count is logarithmic in the excess.
    let mut cut = false;
    for _ in 0..64 {
        let size = size_of(&value);
        if size <= limit {
            break;
        }
        let longest = longest_string(&value);
        let shortened = if longest > NEVER_CUT {
            // The excess taken from the longest one may be enough; never below half of it, so that
            // several long ones share the loss.
            let target = longest.saturating_sub(size - limit).max(longest / 2);
            shorten_strings(&mut value, target.max(NEVER_CUT).min(longest - 1))
        } else {
            halve_longest_list(&mut value)
        };
        if !shortened {
            break;
        }
        cut = true;
    }
    if size_of(&value) > limit {
        // Thousands of short fields: nothing left to shorten that would keep the meaning.
        return json!({"error": format!(
            "The result is larger than {limit} characters and could not be shortened."
        )});
    }
    if cut && let Value::Object(fields) = &mut value {
        fields.insert("result_truncated".to_owned(), json!(true));
    }
    value
}

fn size_of(value: &Value) -> usize {
    value.to_string().chars().count()
}

fn longest_string(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.iter().map(longest_string).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_string).max().unwrap_or(0),
        _ => 0,
    }
}

fn shorten_strings(value: &mut Value, target: usize) -> bool {
    let mut any = false;
    match value {
        Value::String(text) if text.chars().count() > target => {
            *text = middle_cut(text, target);
            any = true;
        }
        Value::Array(items) => {
            for item in items {
                any |= shorten_strings(item, target);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                any |= shorten_strings(field, target);
            }
        }
        _ => {}
    }
    any
}

/// Two fifths from the head, three from the tail, and between them how much is missing.
fn middle_cut(text: &str, target: usize) -> String {
    let total = text.chars().count();
    let room = target.saturating_sub(80);
    let head = room * 2 / 5;
    let tail = room - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let omitted = total - head - tail;
    format!("{start}\n… [{omitted} of {total} characters omitted] …\n{end}")
}

fn halve_longest_list(value: &mut Value) -> bool {
    let longest = longest_list(value);
    longest > 1 && cut_lists(value, longest / 2)
}

fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items
            .iter()
            .map(longest_list)
            .chain([items.len()])
            .max()
            .unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_list).max().unwrap_or(0),
        _ => 0,
    }
}

fn cut_lists(value: &mut Value, keep: usize) -> bool {
    let mut any = false;
    match value {
        Value::Array(items) => {
            any = items.len() > keep;
            items.truncate(keep);
            for item in items {
                any |= cut_lists(item, keep);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                any |= cut_lists(field, keep);
            }
        }
        _ => {}
    }
    any
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
