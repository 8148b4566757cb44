//! Token counts of any JSON type.

use serde_json::Value;

/// The count at a path, if it is one.
pub(crate) fn tokens_at(value: &Value, path: &[&str]) -> Option<u64> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    match found {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_read_from_numbers_and_text() {
        let value = json!({"a": 3, "b": 3.9, "c": "12", "d": -1, "e": null, "f": "x", "g": {"h": 1}, "i": 1e300});
        let at = |path: &[&str]| tokens_at(&value, path);
        assert_eq!(at(&["a"]), Some(3));
        assert_eq!(at(&["b"]), Some(3));
        assert_eq!(at(&["c"]), Some(12));
        assert_eq!(at(&["g", "h"]), Some(1));
        for key in ["d", "e", "f", "g", "i", "none"] {
            assert_eq!(at(&[key]), None, "{key}");
        }
    }
}
