//! `GET /openapi.json`: the server described for programs. Made from the table of endpoints, so that
//! neither can have what the other lacks.

mod answers;
mod bodies;
mod parameters;

use hermes_serve::{Route, document_paths};
use serde_json::{Map, Value, json};

use self::answers::{error_schemas, responses};
use self::bodies::body;
use self::parameters::parameters;
use crate::call::{Answered, Call, json as answer};
use crate::open_paths::is_open;

pub(crate) async fn openapi(call: Call) -> Answered {
    Ok(answer(&document(call.app.routes)))
}

/// The document.
fn document(routes: &[Route]) -> Value {
    let paths = document_paths(routes.iter(), operation);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Conversations with the agent of a profile. Every path is served below \
                `/p/PROFILE` too, for the profile of the server.",
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": error_schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": responses(route),
    });
    if is_open(route.path) {
        operation["security"] = json!([]);
    }
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some((schema, is_required)) = body(route.name) {
        operation["requestBody"] = json!({
            "required": is_required,
            "content": {"application/json": {"schema": schema}},
        });
    }
    operation
}

/// The schema of an object.
fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn text_or_null() -> Value {
    json!({"type": ["string", "null"]})
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
