//! `GET /v1/models`.

use serde_json::{Value, json};

use crate::call::{Answered, Call, json as answer};
use crate::clock::unix_seconds;

pub(crate) async fn models(call: Call) -> Answered {
    let settings = &call.app.settings;
    let created = unix_seconds();
    let model = |id: &str, root: &str, parent: Option<&str>| {
        json!({
            "id": id,
            "object": "model",
            "created": created,
            "owned_by": "hermes",
            "permission": [],
            "root": root,
            "parent": parent,
        })
    };
    let name = settings.model_name.as_str();
    let routes = settings.routes.iter().filter(|route| route.alias != name);
    let routes = routes.map(|route| model(&route.alias, &route.model, Some(name)));
    let data: Vec<Value> = std::iter::once(model(name, name, None))
        .chain(routes)
        .collect();
    Ok(answer(&json!({"object": "list", "data": data})))
}
