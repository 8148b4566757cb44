//! Tool schemas, simplified for servers that support only a part of JSON Schema.

use serde_json::Value;

use crate::request::{ModelRequest, ToolSchema};
use crate::route::Route;
use crate::server_limits::ServerLimits;

/// The tools of a request, each encoded with its parameter schema; `None` if there are none.
pub(super) fn encode_tools(
    route: &Route,
    request: &ModelRequest,
    limits: ServerLimits,
    encode: impl Fn(&ToolSchema, Value) -> Value,
) -> Option<Value> {
    let plain = limits.plain_schemas || route.plain_schemas;
    let tools = request.tools.iter().map(|tool| {
        let parameters = if plain {
            simplified(&tool.parameters)
        } else {
            tool.parameters.clone()
        };
        encode(tool, parameters)
    });
    (!request.tools.is_empty()).then(|| tools.collect())
}

/// The schema without `pattern` and `format`, and without a `type` beside an `anyOf`. Names of
/// properties are kept.
fn simplified(schema: &Value) -> Value {
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
                        // The keys are property names, not keywords.
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
    fn keywords_are_removed_and_property_names_kept() {
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
