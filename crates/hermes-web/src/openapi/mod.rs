//! `GET /api/openapi.json`: the API described for programs. Made from the table of endpoints, so that
//! neither can have what the other lacks.

mod bodies;
mod parameters;

use hermes_serve::{Route, Verb, document_paths, path_names};
use serde_json::{Map, Value, json};

use self::bodies::body;
use self::parameters::parameters;

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
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": responses(route),
    });
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

/// All answers of an endpoint.
fn responses(route: &Route) -> Value {
    let (status, kind) = match route.name {
        "chat_run_create" => ("202", "application/json"),
        "board_events" | "pty" | "chat_requests" | "channel_publish" | "channel_events" => {
            ("101", "")
        }
        "board_events_stream" | "chat_run_events" => ("200", "text/event-stream"),
        _ => ("200", "application/json"),
    };
    let mut all = Map::new();
    let mut good = json!({"description": route.summary});
    if !kind.is_empty() {
        good["content"] = json!({kind: {"schema": {}}});
    }
    all.insert(status.to_owned(), good);
    let mut add = |status: &str, what: &str| {
        let schema = json!({"$ref": "#/components/schemas/Error"});
        let content = json!({"application/json": {"schema": schema}});
        all.insert(
            status.to_owned(),
            json!({"description": what, "content": content}),
        );
    };
    add(
        "400",
        "The request is not usable, or the Host is another one.",
    );
    add(
        "401",
        "The token is missing or wrong, or nobody is logged in.",
    );
    add(
        "403",
        "The page of another origin asks, or this is switched off.",
    );
    add("422", "The request has the wrong shape.");
    add("500", "The dashboard failed; its log has the reason.");
    add(
        "503",
        "Something that the dashboard needs cannot be read or reached.",
    );
    if route.verb != Verb::Get {
        add("408", "The body did not arrive in time.");
        add("413", "The body is too large.");
        add("409", "Not possible now.");
    }
    let names_something = path_names(route.path).next().is_some();
    let may_name = [
        "board",
        "cron",
        "sessions",
        "logs",
        "profile",
        "skills",
        "theme",
        "env",
        "auth",
        "config_value",
    ];
    if names_something || may_name.iter().any(|name| route.name.starts_with(name)) {
        add("404", "There is no such thing.");
    }
    if [
        "env_reveal",
        "auth_ws_ticket",
        "chat_run_create",
        "provider_login_start",
    ]
    .contains(&route.name)
    {
        add("429", "Too often; the header says when to try again.");
    }
    if kind.is_empty() {
        add("426", "The request is not the handshake of a WebSocket.");
    }
    Value::Object(all)
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

    #[test]
    fn every_body_belongs_to_an_endpoint_that_takes_one() {
        for route in ROUTES {
            let takes = operation(route).get("requestBody").is_some();
            assert!(!takes || route.verb != Verb::Get, "{}", route.name);
            for name in path_names(route.path) {
                let described = parameters(route);
                assert!(described.iter().any(|one| one["name"] == name), "{name}");
            }
        }
    }
}
