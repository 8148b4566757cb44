//! Tokens and cost of an answer.

use serde_json::Value;

use crate::response::TokenUsage;

/// A token count of any JSON type.
pub(crate) fn tokens(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a small number that is not negative"
)]
fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && (0.0..1e15).contains(&number)).then_some(number as u64)
}

/// The counts of a `usage` object of the chat or the responses format; `None` if it has none.
pub(super) fn usage(value: &Value) -> Option<TokenUsage> {
    let input = tokens(&value["prompt_tokens"]).or_else(|| tokens(&value["input_tokens"]));
    let output = tokens(&value["completion_tokens"]).or_else(|| tokens(&value["output_tokens"]));
    if input.is_none() && output.is_none() {
        return None;
    }
    let detail = |of: [&str; 2], key: &str| of.into_iter().find_map(|of| tokens(&value[of][key]));
    let of_input = ["prompt_tokens_details", "input_tokens_details"];
    let of_output = ["completion_tokens_details", "output_tokens_details"];
    let cache_read = detail(of_input, "cached_tokens")
        .or_else(|| tokens(&value["cache_read_input_tokens"]))
        .unwrap_or(0);
    let cache_write = detail(of_input, "cache_write_tokens")
        .or_else(|| tokens(&value["cache_creation_input_tokens"]))
        .unwrap_or(0);
    let cached = cache_read.saturating_add(cache_write);
    Some(TokenUsage {
        input: input.unwrap_or(0).saturating_sub(cached),
        output: output.unwrap_or(0),
        cache_read,
        cache_write,
        reasoning: detail(of_output, "reasoning_tokens").unwrap_or(0),
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
    fn counts_are_read_from_numbers_and_text() {
        for (value, count) in [
            (json!(3), Some(3)),
            (json!(3.9), Some(3)),
            (json!("12"), Some(12)),
            (json!(-1), None),
            (json!(null), None),
            (json!("x"), None),
            (json!({"h": 1}), None),
            (json!(1e300), None),
        ] {
            assert_eq!(tokens(&value), count, "{value}");
        }
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
