//! An answer as chat completions.

use serde_json::{Value, json};

use super::answer::ModelMessage;

const USAGE: (u64, u64) = (11, 7);

fn usage(answer: &ModelMessage) -> Value {
    answer.usage.clone().unwrap_or_else(|| {
        json!({"prompt_tokens": USAGE.0, "completion_tokens": USAGE.1, "total_tokens": USAGE.0 + USAGE.1})
    })
}

fn finish(answer: &ModelMessage) -> String {
    answer.finish.clone().unwrap_or_else(|| {
        let natural = if answer.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        natural.to_owned()
    })
}

pub(super) fn events(answer: &ModelMessage, model: &Value) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": [choice]})
    };
    let mut chunks = Vec::new();
    if let Some(thought) = &answer.thought {
        chunks.push(chunk(json!({"reasoning_content": thought}), Value::Null));
    }
    for piece in &answer.text {
        let delta = json!({"role": "assistant", "content": piece});
        chunks.push(chunk(delta, Value::Null));
    }
    for (at, call) in answer.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let begin = json!({"index": at, "id": call.id, "type": "function", "function": function});
        chunks.push(chunk(json!({"tool_calls": [begin]}), Value::Null));
        // In two pieces, as models do.
        let middle = call.arguments.chars().count() / 2;
        let halves = [
            call.arguments.chars().take(middle).collect::<String>(),
            call.arguments.chars().skip(middle).collect(),
        ];
        for half in halves {
            let piece = json!({"index": at, "function": {"arguments": half}});
            chunks.push(chunk(json!({"tool_calls": [piece]}), Value::Null));
        }
    }
    chunks.push(chunk(json!({}), json!(finish(answer))));
    chunks.push(json!({"id": "chatcmpl-1", "model": model, "choices": [], "usage": usage(answer)}));
    let mut events: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

pub(super) fn whole(answer: &ModelMessage, model: &Value) -> Value {
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": answer.text.concat()});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    if let Some(thought) = &answer.thought {
        message["reasoning_content"] = json!(thought);
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        "usage": usage(answer),
    })
}
