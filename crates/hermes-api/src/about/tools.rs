//! `GET /v1/skills` and `GET /v1/toolsets`.

use hermes_runtime::skill_summaries;
use hermes_tools::{ToolSelection, basic_toolsets};
use serde_json::{Value, json};

use crate::app::off_loop;
use crate::call::{Answered, Call, json as answer};
use crate::turn::SOURCE;

pub(crate) async fn skills(call: Call) -> Answered {
    let context = call.app.context();
    let data = off_loop(move || {
        let skills = skill_summaries(&context).into_iter();
        let skills = skills.map(|skill| {
            json!({
                "name": skill.name,
                "description": skill.description,
                "category": skill.category,
            })
        });
        Ok(skills.collect::<Vec<Value>>())
    });
    Ok(answer(&json!({"object": "list", "data": data.await?})))
}

pub(crate) async fn toolsets(call: Call) -> Answered {
    let context = call.app.context();
    let selection = ToolSelection::resolve(context.config(), &context.env, SOURCE, None);
    let on = selection.expanded();
    let data: Vec<Value> = basic_toolsets()
        .map(|name| json!({"name": name, "enabled": on.contains(name)}))
        .collect();
    Ok(answer(
        &json!({"object": "list", "platform": SOURCE, "data": data}),
    ))
}
