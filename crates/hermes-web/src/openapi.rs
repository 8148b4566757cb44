//! `GET /api/openapi.json`: the API described for programs. Made from the table of endpoints, so that
//! neither can have what the other lacks.

use hermes_serve::{Route, Verb, document_paths, path_names};
use serde_json::{Value, json};

use crate::call::{Answered, Call, json as answer};

pub(crate) fn openapi(call: &Call) -> Answered {
    answer(&document(call.app.routes))
}

fn document(routes: &[Route]) -> Value {
    let of_api = |route: &&Route| route.path.starts_with("/api/");
    let paths = document_paths(routes.iter().filter(of_api), operation);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes dashboard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the pages of `hermes dashboard` read and change.",
        },
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Hermes-Session-Token"},
                "session": {"type": "apiKey", "in": "cookie", "name": "hermes_session_at"},
            },
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {"detail": {"type": ["string", "array"]}},
                    "required": ["detail"],
                },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let error = |text: &str| {
        json!({
            "description": text,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        })
    };
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": {}}}},
            "400": error("Refused"),
            "401": error("Without a token, or not logged in"),
            "404": error("There is no such thing"),
            "409": error("Not possible now"),
            "422": error("The request has the wrong shape"),
        },
    });
    let parameters: Vec<Value> = path_names(route.path)
        .map(|name| {
            json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
        })
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if route.verb != Verb::Get {
        operation["requestBody"] = json!({
            "required": false,
            "content": {"application/json": {"schema": {"type": "object"}}},
        });
    }
    operation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ROUTES;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeSet;

    #[test]
    fn every_endpoint_is_described_once_under_a_name_of_its_own() {
        let document = document(ROUTES);
        let described: usize = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|path| path.as_object().unwrap().len())
            .sum();
        let api = ROUTES
            .iter()
            .filter(|route| route.path.starts_with("/api/"));
        assert_eq!(described, api.count());
        let names: BTreeSet<&str> = ROUTES.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), ROUTES.len());
    }
}
