//! An answer as Anthropic messages.

use serde_json::{Value, json};

use super::answer::{ModelMessage, ScriptedCall};

fn usage(answer: &ModelMessage) -> Value {
    let usual = json!({
        "input_tokens": 11, "output_tokens": 7,
        "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2,
    });
    answer.usage.clone().unwrap_or(usual)
}

fn finish(answer: &ModelMessage) -> String {
    answer.finish.clone().unwrap_or_else(|| {
        let natural = if answer.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        natural.to_owned()
    })
}

fn arguments(call: &ScriptedCall) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}))
}

pub(super) fn events(answer: &ModelMessage, model: &Value) -> Vec<String> {
    let event = |value: Value| {
        let name = value["type"].as_str().unwrap_or_default().to_owned();
        format!("event: {name}\ndata: {value}\n\n")
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "usage": usage(answer),
    });
    let mut events = vec![event(json!({"type": "message_start", "message": message}))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(event(
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        for delta in deltas {
            events.push(event(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(event(json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if let Some(thought) = &answer.thought {
        let deltas = vec![
            json!({"type": "thinking_delta", "thinking": thought}),
            json!({"type": "signature_delta", "signature": "sig-1"}),
        ];
        block(json!({"type": "thinking", "thinking": ""}), deltas);
    }
    if !answer.text.is_empty() {
        let deltas = answer.text.iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for call in &answer.calls {
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": call.arguments});
        block(start, vec![delta]);
    }
    let delta = json!({"stop_reason": finish(answer), "stop_sequence": null});
    let used = json!({"output_tokens": usage(answer)["output_tokens"]});
    events.push(event(
        json!({"type": "message_delta", "delta": delta, "usage": used}),
    ));
    events.push(event(json!({"type": "message_stop"})));
    events
}

pub(super) fn whole(answer: &ModelMessage, model: &Value) -> Value {
    let mut content = Vec::new();
    if let Some(thought) = &answer.thought {
        content.push(json!({"type": "thinking", "thinking": thought, "signature": "sig-1"}));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text.concat()}));
    }
    for call in &answer.calls {
        let input = arguments(call);
        content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": finish(answer), "usage": usage(answer),
    })
}
