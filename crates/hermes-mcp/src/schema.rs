//! Schemas of servers as every provider accepts them: references, nullable unions and objects in the
//! one form that all of them read.

use serde_json::{Map, Value, json};

/// Schemas deeper than this are cut: no tool needs it, and some are made to hurt.
const MAX_DEPTH: usize = 40;

/// The schema of a tool's arguments, always an object with properties.
pub(crate) fn normalised(schema: &Value) -> Value {
    match repaired(schema, 0) {
        Value::Object(mut fields) if is_object(&fields) => {
            fields.entry("properties").or_insert_with(|| json!({}));
            Value::Object(fields)
        }
        Value::Object(mut fields) if !fields.contains_key("type") => {
            fields.insert("type".to_owned(), json!("object"));
            fields.entry("properties").or_insert_with(|| json!({}));
            Value::Object(fields)
        }
        _ => json!({"type": "object", "properties": {}}),
    }
}

fn is_object(fields: &Map<String, Value>) -> bool {
    fields.get("type").and_then(Value::as_str) == Some("object")
}

fn repaired(value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return json!({});
    }
    match value {
        Value::Array(items) => items.iter().map(|item| repaired(item, depth + 1)).collect(),
        Value::Object(fields) => {
            let mut fields = without_null_branch(renamed(fields, depth));
            complete_object(&mut fields);
            Value::Object(fields)
        }
        other => other.clone(),
    }
}

/// `definitions` is called `$defs` today, and references follow. Names of properties are the
/// server's own and stay.
fn renamed(fields: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mut out = Map::with_capacity(fields.len());
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, schema)| (name.clone(), repaired(schema, depth + 1)))
                .collect(),
            ("$ref", Value::String(target)) => {
                let moved = target.strip_prefix("#/definitions/");
                moved.map_or_else(|| value.clone(), |rest| json!(format!("#/$defs/{rest}")))
            }
            // Values, not schemas.
            ("enum" | "const" | "default" | "examples" | "required", _) => value.clone(),
            _ => repaired(value, depth + 1),
        };
        let name = if name == "definitions" { "$defs" } else { name };
        out.insert(name.to_owned(), value);
    }
    out
}

/// `anyOf: [X, null]` and `type: [x, null]` become X: whether an argument may be left out is said by
/// `required`, and some providers refuse null.
fn without_null_branch(mut fields: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(types)) = fields.get("type") {
        let mut named = types.iter().filter(|kind| *kind != "null");
        if let (Some(only), None) = (named.next().cloned(), named.next()) {
            fields.insert("type".to_owned(), only);
        }
    }
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = fields.get(union) else {
            continue;
        };
        let is_null = |branch: &Value| branch.get("type").is_some_and(|kind| kind == "null");
        let mut real = branches.iter().filter(|branch| !is_null(branch));
        if !branches.iter().any(is_null) {
            continue;
        }
        if let (Some(Value::Object(only)), None) = (real.next().cloned(), real.next()) {
            fields.remove(union);
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
    fields
}

/// An object says so, has properties, and requires only those.
fn complete_object(fields: &mut Map<String, Value>) {
    let has_no_type = fields.get("type").is_none_or(Value::is_null);
    let looks_like_one = fields.get("properties").is_some_and(Value::is_object)
        || fields.get("required").is_some_and(Value::is_array);
    if has_no_type && looks_like_one {
        fields.insert("type".to_owned(), json!("object"));
    }
    if !is_object(fields) {
        return;
    }
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    let known = |name: &Value| {
        let properties = fields.get("properties").and_then(Value::as_object);
        let name = name.as_str();
        name.zip(properties)
            .is_some_and(|(name, properties)| properties.contains_key(name))
    };
    if let Some(Value::Array(required)) = fields.get("required") {
        let required: Vec<Value> = required
            .iter()
            .filter(|name| known(name))
            .cloned()
            .collect();
        if required.is_empty() {
            fields.remove("required");
        } else {
            fields.insert("required".to_owned(), Value::Array(required));
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn nothing_becomes_an_object_without_properties() {
        let empty = json!({"type": "object", "properties": {}});
        for schema in [
            json!({}),
            json!(null),
            json!("x"),
            json!({"type": "object"}),
            json!([]),
        ] {
            assert_eq!(normalised(&schema), empty, "{schema}");
        }
    }

    #[test]
    fn optional_fields_lose_their_null_branch() {
        let schema = json!({"type": "object", "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "A"},
            "b": {"type": ["integer", "null"]},
            "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        }, "required": ["a", "ghost"]});
        assert_eq!(
            normalised(&schema),
            json!({"type": "object", "properties": {
                "a": {"title": "A", "type": "string"},
                "b": {"type": "integer"},
                "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            }, "required": ["a"]})
        );
    }

    #[test]
    fn definitions_move_and_a_property_of_that_name_stays() {
        let schema = json!({
            "properties": {"definitions": {"$ref": "#/definitions/D"}},
            "definitions": {"D": {"properties": {}}},
        });
        assert_eq!(
            normalised(&schema),
            json!({
                "properties": {"definitions": {"$ref": "#/$defs/D"}},
                "$defs": {"D": {"properties": {}, "type": "object"}},
                "type": "object",
            })
        );
    }

    #[test]
    fn a_schema_made_to_be_deep_is_cut() {
        let mut schema = json!({"type": "string"});
        for _ in 0..2_000 {
            schema = json!({"items": schema});
        }
        assert!(normalised(&schema).to_string().len() < 1_000);
        // Dropping it must not overflow the stack of a test thread either.
        std::mem::forget(schema);
    }
}
