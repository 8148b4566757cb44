//! Secrets in answers: masked in every text.

use hermes_secret::Redactor;
use serde_json::Value;

/// Masks secrets in every text of a value; names of fields are not looked at.
pub(crate) fn redact(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(masked) = redactor.redact(text) {
                *text = masked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(redactor, item)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| redact(redactor, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
