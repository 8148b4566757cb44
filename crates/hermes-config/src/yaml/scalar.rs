//! What a plain scalar means, by the rules of PyYAML's safe loader (YAML 1.1).

use serde_json::{Number, Value};

/// Resolves an unquoted scalar. Dates stay text: no setting of ours is one.
pub fn resolve_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    // Most scalars are words; numbers start with one of these.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return Value::String(text.to_owned());
    }
    if let Some(int) = integer(text) {
        return Value::Number(int.into());
    }
    float(text)
        .and_then(Number::from_f64)
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// Resolves a scalar that is tagged `!!int`, `!!float`, `!!bool` or `!!null`; `None` if its text is
/// no such value.
pub(super) fn resolve_tagged(kind: &str, text: &str) -> Option<Value> {
    match kind {
        "null" => Some(Value::Null),
        "bool" => match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "on" => Some(Value::Bool(true)),
            "no" | "false" | "off" => Some(Value::Bool(false)),
            _ => None,
        },
        "int" => integer(text).map(|int| Value::Number(int.into())),
        _ => {
            let plain = || text.replace('_', "").parse().ok();
            let number = float(text).or_else(plain).filter(|n: &f64| n.is_finite())?;
            Number::from_f64(number).map(Value::Number)
        }
    }
}

fn split_sign(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(text: &str) -> Option<i64> {
    let (sign, body) = split_sign(text);
    let radix_value = |digits: &str, radix: u32| -> Option<i64> {
        let clean: String = digits.chars().filter(|c| *c != '_').collect();
        i64::from_str_radix(&clean, radix).ok()?.checked_mul(sign)
    };
    if let Some(digits) = body.strip_prefix("0b") {
        return radix_value(digits, 2);
    }
    if let Some(digits) = body.strip_prefix("0x") {
        return radix_value(digits, 16);
    }
    if body == "0" {
        return Some(0);
    }
    if let Some(digits) = body.strip_prefix('0') {
        return radix_value(digits, 8);
    }
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if body.contains(':') {
        return sexagesimal(body).and_then(|n| n.checked_mul(sign));
    }
    if body.chars().all(|c| c.is_ascii_digit() || c == '_') {
        radix_value(body, 10)
    } else {
        None
    }
}

/// `1:30` is ninety in YAML 1.1; a port mapping written without quotes meets this.
fn sexagesimal(body: &str) -> Option<i64> {
    let mut total: i64 = 0;
    for (index, part) in body.split(':').enumerate() {
        let digits: String = part.chars().filter(|c| *c != '_').collect();
        let value: i64 = digits.parse().ok()?;
        let in_range = index == 0 || (part.len() <= 2 && value < 60);
        if !in_range || part.starts_with(['+', '-']) {
            return None;
        }
        total = total.checked_mul(60)?.checked_add(value)?;
    }
    Some(total)
}

/// A float needs a dot; `1e5` without one is text in YAML 1.1, as is an exponent without sign.
fn float(text: &str) -> Option<f64> {
    let (sign, body) = split_sign(text);
    if let Some((whole, last)) = body.rsplit_once(':') {
        return fractional_sexagesimal(whole, last).map(|n| if sign < 0 { -n } else { n });
    }
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (body, None),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit() || c == '_');
    let whole_ok = whole.is_empty() || whole.starts_with(|c: char| c.is_ascii_digit());
    let some_digit = mantissa.chars().any(|c| c.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|e| {
        e.strip_prefix(['+', '-'])
            .is_some_and(|d| !d.is_empty() && digits(d) && !d.contains('_'))
    });
    if !(whole_ok && digits(whole) && digits(fraction) && some_digit && exponent_ok) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// `1:30.5` is 90.5.
fn fractional_sexagesimal(whole: &str, last: &str) -> Option<f64> {
    let (seconds, fraction) = last.split_once('.')?;
    let minutes = sexagesimal(whole)?;
    let seconds = sexagesimal(&format!("0:{seconds}"))?;
    let fraction = fraction.replace('_', "");
    if !fraction.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let whole = minutes.checked_mul(60)?.checked_add(seconds)?;
    format!("{whole}.{fraction}").parse().ok()
}

/// Whether PyYAML would take this plain text for something other than a string.
pub(super) fn looks_typed(text: &str) -> bool {
    !matches!(resolve_plain(text), Value::String(_))
        || matches!(text, "=" | "<<")
        // Other readers are more generous with numbers (1e5, 0o7, .inf) and dates than PyYAML, and
        // PyYAML takes `2026-01-01` for a date: quote whatever starts like a number.
        || text.starts_with(|c: char| c.is_ascii_digit())
        || (text.starts_with(['-', '+', '.'])
            && text.chars().nth(1).is_none_or(|c| {
                c.is_ascii_digit() || c == '.' || c == 'i' || c == 'I' || c == 'n' || c == 'N'
            }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_mean_what_pyyaml_says() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("on", json!(true)),
            ("Off", json!(false)),
            ("y", json!("y")),
            ("12", json!(12)),
            ("-12", json!(-12)),
            ("1_000", json!(1000)),
            ("010", json!(8)),
            ("0x1F", json!(31)),
            ("0b11", json!(3)),
            ("0o7", json!("0o7")),
            ("08", json!("08")),
            ("1:30", json!(90)),
            ("8642:8642", json!("8642:8642")),
            ("1:30.5", json!(90.5)),
            ("-1:00:00.25", json!(-3600.25)),
            ("0:30.", json!(30.0)),
            ("1:60.5", json!("1:60.5")),
            ("1:2.5:3", json!("1:2.5:3")),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1.", json!(1.0)),
            ("1e5", json!("1e5")),
            ("1.0e5", json!("1.0e5")),
            ("1.0e+5", json!(100_000.0)),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
            (".", json!(".")),
            ("2026-01-01", json!("2026-01-01")),
            ("99999999999999999999", json!("99999999999999999999")),
        ] {
            assert_eq!(resolve_plain(text), value, "{text:?}");
        }
    }
}
