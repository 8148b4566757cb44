//! Tool schemas for servers that take fewer words than the standard has.

use serde_json::Value;

/// The schema without `pattern` and `format`, and without a `type` beside an `anyOf` that says it
/// better. Names of properties stay, whatever they are.
pub(crate) fn simplified(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let has_union = map.contains_key("anyOf");
            map.iter()
                .filter(|(key, value)| match key.as_str() {
                    "pattern" | "format" => !value.is_string(),
                    "type" => !has_union,
                    _ => true,
                })
                .map(|(key, value)| {
                    let value = match (key.as_str(), value) {
                        // Its keys are names, not words of the language.
                        ("properties" | "$defs" | "definitions", Value::Object(named)) => named
                            .iter()
                            .map(|(name, schema)| (name.clone(), simplified(schema)))
                            .collect(),
                        ("enum" | "const" | "default" | "examples" | "required", _) => {
                            value.clone()
                        }
                        _ => simplified(value),
                    };
                    (key.clone(), value)
                })
                .collect()
        }
        Value::Array(items) => items.iter().map(simplified).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_go_and_names_stay() {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "pattern": "^a", "format": "uri"},
                "x": {"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["pattern"],
        });
        assert_eq!(
            simplified(&schema),
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "x": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["pattern"],
            })
        );
    }
}
