//! Schemas in the dialect that all providers understand: no references, no unions with null, and
//! objects that say what is in them. Schemas of other people's servers come in any shape.

use serde_json::{Map, Value, json};

/// Parts of a schema that are looked at; behind them stands an object without fields. References
/// can make a small text mean an endless schema.
const MAX_PARTS: usize = 5000;
/// Depth from which on the same holds.
const MAX_DEPTH: usize = 40;

/// The schema of a tool's arguments, brought to that dialect. Anything that is no object becomes
/// one without arguments.
pub fn normalised_schema(schema: Value) -> Value {
    let root = schema.clone();
    let mut walk = SchemaWalk {
        root: &root,
        open: Vec::new(),
        parts: 0,
        depth: 0,
    };
    let mut schema = walk.plain(schema);
    if let Value::Object(fields) = &mut schema {
        fields.remove("$defs");
        fields.remove("definitions");
        fields.remove("$schema");
    }
    match &schema {
        Value::Object(fields) if fields.get("type") == Some(&json!("object")) => schema,
        _ => any_object(),
    }
}

fn any_object() -> Value {
    json!({"type": "object", "properties": {}})
}

struct SchemaWalk<'a> {
    root: &'a Value,
    /// References that are being followed.
    open: Vec<String>,
    parts: usize,
    depth: usize,
}

impl SchemaWalk<'_> {
    fn plain(&mut self, schema: Value) -> Value {
        let Value::Object(mut fields) = schema else {
            return schema;
        };
        self.parts += 1;
        if self.parts > MAX_PARTS || self.depth > MAX_DEPTH {
            return any_object();
        }
        if let Some(Value::String(reference)) = fields.remove("$ref") {
            return self.followed(reference, fields);
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(single) = only_alternative(&fields, union) {
                fields.remove(union);
                let mut merged = match single {
                    Value::Object(alternative) => alternative,
                    _ => Map::new(),
                };
                merged.extend(fields);
                return self.deeper(Value::Object(merged));
            }
        }
        if let Some(Value::Array(types)) = fields.get("type") {
            let real = types.iter().find(|name| *name != "null").cloned();
            fields.insert("type".to_owned(), real.unwrap_or_else(|| json!("string")));
        }
        fields.remove("nullable");
        if fields.get("default") == Some(&Value::Null) {
            fields.remove("default");
        }
        if fields.contains_key("properties") && !fields.contains_key("type") {
            fields.insert("type".to_owned(), json!("object"));
        }
        for (name, value) in &mut fields {
            *value = match name.as_str() {
                "properties" | "patternProperties" => self.each_field(value.take()),
                "items" | "additionalProperties" | "not" => self.deeper(value.take()),
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.each_item(value.take()),
                _ => continue,
            };
        }
        complete_object(&mut fields);
        Value::Object(fields)
    }

    /// What a reference means here. One inside of itself means any object.
    fn followed(&mut self, reference: String, beside: Map<String, Value>) -> Value {
        let path = reference.strip_prefix('#');
        let target = path.and_then(|path| self.root.pointer(path)).cloned();
        let mut target = target.unwrap_or_else(|| json!({}));
        if self.open.contains(&reference) {
            target = any_object();
        }
        if let Value::Object(found) = &mut target {
            // What stands beside a reference says more about this place than its target does.
            found.extend(beside);
        }
        self.open.push(reference);
        let plain = self.deeper(target);
        self.open.pop();
        plain
    }

    fn deeper(&mut self, schema: Value) -> Value {
        self.depth += 1;
        let plain = self.plain(schema);
        self.depth -= 1;
        plain
    }

    fn each_field(&mut self, value: Value) -> Value {
        let Value::Object(fields) = value else {
            return json!({});
        };
        let fields = fields
            .into_iter()
            .map(|(name, schema)| (name, self.deeper(schema)));
        Value::Object(fields.collect())
    }

    fn each_item(&mut self, value: Value) -> Value {
        let Value::Array(items) = value else {
            return json!([]);
        };
        let items = items.into_iter().map(|schema| self.deeper(schema));
        Value::Array(items.collect())
    }
}

/// The one alternative of a union that is not null, if there is just one.
fn only_alternative(fields: &Map<String, Value>, union: &str) -> Option<Value> {
    let alternatives = fields.get(union)?.as_array()?;
    let mut real = alternatives
        .iter()
        .filter(|schema| schema.get("type") != Some(&json!("null")));
    let first = real.next()?;
    real.next().is_none().then(|| first.clone())
}

/// An object has properties, and requires only those it has.
fn complete_object(fields: &mut Map<String, Value>) {
    if fields.get("type") != Some(&json!("object")) {
        return;
    }
    let names: Vec<String> = match fields.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => {
            fields.insert("properties".to_owned(), json!({}));
            Vec::new()
        }
    };
    match fields.get_mut("required") {
        Some(Value::Array(required)) => {
            required.retain(|name| {
                name.as_str()
                    .is_some_and(|name| names.iter().any(|n| n == name))
            });
        }
        Some(_) => {
            fields.remove("required");
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn references_and_unions_with_null_are_resolved() {
        let given = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"Place": {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}}},
            "properties": {
                "where": {"$ref": "#/$defs/Place", "description": "Where."},
                "name": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                "any": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "bag": {"type": "object"},
            },
            "required": ["where", "gone"],
        });
        assert_eq!(
            normalised_schema(given),
            json!({
                "type": "object",
                "properties": {
                    "where": {
                        "type": "object",
                        "properties": {"x": {"type": "integer"}},
                        "description": "Where.",
                    },
                    "name": {"type": "string"},
                    "any": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                    "bag": {"type": "object", "properties": {}},
                },
                "required": ["where"],
            })
        );
    }

    #[test]
    fn what_is_no_object_takes_nothing() {
        for odd in [
            json!(null),
            json!(true),
            json!("x"),
            json!({"type": "string"}),
            json!({}),
        ] {
            assert_eq!(
                normalised_schema(odd),
                json!({"type": "object", "properties": {}})
            );
        }
    }

    #[test]
    fn circles_and_towers_of_references_end() {
        let circle = json!({"type": "object", "properties": {"again": {"$ref": "#"}}});
        let shown = normalised_schema(circle).to_string();
        assert!(shown.len() < 1000, "{shown}");
        let mut levels = Map::new();
        for level in 0..30 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            levels.insert(
                format!("l{level}"),
                json!({"type": "object", "properties": {"a": next, "b": next, "c": next}}),
            );
        }
        let tower =
            json!({"type": "object", "$defs": levels, "properties": {"x": {"$ref": "#/$defs/l0"}}});
        assert!(normalised_schema(tower).to_string().len() < 1_000_000);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop_oneof![
                Just("object"),
                Just("null"),
                Just("string"),
                Just("#/properties"),
                Just("#")
            ]
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = prop_oneof![
                Just("type"),
                Just("$ref"),
                Just("anyOf"),
                Just("properties"),
                Just("items"),
                Just("required"),
                Just("x"),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name.prop_map(str::to_owned), inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn anything_becomes_an_object_and_stays_the_same_the_second_time(given in any_json()) {
            let once = normalised_schema(given);
            prop_assert_eq!(&once["type"], "object");
            prop_assert_eq!(normalised_schema(once.clone()), once);
        }
    }
}
