//! Tokens of a chat completion.

use serde_json::Value;

use crate::response::TokenUsage;
use crate::wire::tokens_at;

/// The counts of a `usage` object; `None` if it has none.
pub(super) fn usage(value: &Value) -> Option<TokenUsage> {
    let prompt = tokens_at(value, &["prompt_tokens"]);
    let output = tokens_at(value, &["completion_tokens"]);
    if prompt.is_none() && output.is_none() {
        return None;
    }
    let first = |paths: [&[&str]; 2]| paths.iter().find_map(|path| tokens_at(value, path));
    let cache_read = first([
        &["prompt_tokens_details", "cached_tokens"],
        &["cache_read_input_tokens"],
    ]);
    let cache_write = first([
        &["prompt_tokens_details", "cache_write_tokens"],
        &["cache_creation_input_tokens"],
    ]);
    let cached = cache_read
        .unwrap_or(0)
        .saturating_add(cache_write.unwrap_or(0));
    Some(TokenUsage {
        input: prompt.unwrap_or(0).saturating_sub(cached),
        output: output.unwrap_or(0),
        cache_read: cache_read.unwrap_or(0),
        cache_write: cache_write.unwrap_or(0),
        reasoning: tokens_at(value, &["completion_tokens_details", "reasoning_tokens"])
            .unwrap_or(0),
    })
}

/// The cost in dollars, if stated, as by OpenRouter.
pub(super) fn stated_cost(value: &Value) -> Option<f64> {
    let stated = match &value["cost"] {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    stated.filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stated_cost_is_a_number_of_dollars() {
        let of = |cost: Value| stated_cost(&json!({"prompt_tokens": 1, "cost": cost}));
        assert_eq!(of(json!(0.0125)), Some(0.0125));
        assert_eq!(of(json!(0)), Some(0.0));
        assert_eq!(of(json!("0.5")), Some(0.5));
        for none in [
            json!(null),
            json!(-1),
            json!("NaN"),
            json!("much"),
            json!({"usd": 1}),
        ] {
            assert_eq!(of(none.clone()), None, "{none}");
        }
        assert_eq!(stated_cost(&json!(null)), None);
    }

    #[test]
    fn cached_tokens_are_not_counted_twice() {
        let value = json!({
            "prompt_tokens": 100, "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 5},
        });
        let expected = TokenUsage {
            input: 30,
            output: 20,
            cache_read: 60,
            cache_write: 10,
            reasoning: 5,
        };
        assert_eq!(usage(&value), Some(expected));
        let top_level = json!({"prompt_tokens": 5, "cache_read_input_tokens": 9});
        let read = usage(&top_level).unwrap();
        assert_eq!((read.input, read.cache_read), (0, 9));
        assert_eq!(usage(&json!({"prompt_tokens": null})), None);
        assert_eq!(usage(&json!("many")), None);
    }
}
