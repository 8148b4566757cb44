//! An answer as OpenAI responses.

use serde_json::{Value, json};

use super::answer::ModelMessage;

fn usage(answer: &ModelMessage) -> Value {
    let usual = json!({
        "input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 2},
    });
    answer.usage.clone().unwrap_or(usual)
}

fn items(answer: &ModelMessage) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(thought) = &answer.thought {
        items.push(json!({
            "type": "reasoning", "id": "rs_1", "encrypted_content": "enc-1",
            "summary": [{"type": "summary_text", "text": thought}],
        }));
    }
    if !answer.text.is_empty() {
        let content =
            json!({"type": "output_text", "text": answer.text.concat(), "annotations": []});
        items.push(json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [content],
        }));
    }
    for (at, call) in answer.calls.iter().enumerate() {
        items.push(json!({
            "type": "function_call", "id": format!("fc_{at}"), "call_id": call.id,
            "name": call.name, "arguments": call.arguments, "status": "completed",
        }));
    }
    items
}

pub(super) fn whole(answer: &ModelMessage, model: &Value) -> Value {
    let cut = answer.finish.as_deref() == Some("max_output_tokens");
    let details = if cut {
        json!({"reason": "max_output_tokens"})
    } else {
        Value::Null
    };
    json!({
        "id": "resp_1", "object": "response", "model": model,
        "status": if cut { "incomplete" } else { "completed" },
        "incomplete_details": details,
        "output": items(answer), "usage": usage(answer),
    })
}

pub(super) fn events(answer: &ModelMessage, model: &Value) -> Vec<String> {
    let event = |value: Value| {
        let name = value["type"].as_str().unwrap_or_default().to_owned();
        format!("event: {name}\ndata: {value}\n\n")
    };
    let mut events = vec![event(
        json!({"type": "response.created", "response": {"id": "resp_1", "model": model, "status": "in_progress"}}),
    )];
    for (at, item) in items(answer).into_iter().enumerate() {
        let mut begun = item.clone();
        if begun["type"] == "function_call" {
            begun["arguments"] = json!("");
        }
        events.push(event(
            json!({"type": "response.output_item.added", "output_index": at, "item": begun}),
        ));
        match item["type"].as_str() {
            Some("reasoning") => events.push(event(json!({
                "type": "response.reasoning_summary_text.delta", "output_index": at,
                "item_id": item["id"], "delta": answer.thought,
            }))),
            Some("message") => {
                for piece in &answer.text {
                    events.push(event(json!({
                        "type": "response.output_text.delta", "output_index": at,
                        "item_id": item["id"], "content_index": 0, "delta": piece,
                    })));
                }
            }
            _ => events.push(event(json!({
                "type": "response.function_call_arguments.delta", "output_index": at,
                "item_id": item["id"], "delta": item["arguments"],
            }))),
        }
        events.push(event(
            json!({"type": "response.output_item.done", "output_index": at, "item": item}),
        ));
    }
    let end = whole(answer, model);
    let name = if end["status"] == "incomplete" {
        "response.incomplete"
    } else {
        "response.completed"
    };
    events.push(event(json!({"type": name, "response": end})));
    events
}
