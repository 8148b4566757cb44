//! Messages of the protocol as messages to a model, and back.
#![expect(
    deprecated,
    reason = "the protocol is about to drop sampling; servers that people have today ask for it"
)]

use std::collections::HashMap;
use std::sync::Arc;

use hermes_providers::{
    AuxiliaryTask, Content, ContentPart, FinishReason, Image, Message, ModelRequest, ModelResponse,
    Role, ToolCall, ToolSchema,
};
use rmcp::model::{
    ContentBlock, CreateMessageRequestParams, CreateMessageResult, Role as TheirRole,
    SamplingMessage, SamplingMessageContentBlock as Block, ToolUseContent,
};
use serde_json::{Map, Value};

use crate::schema::normalised;

const MAX_MESSAGES: usize = 200;
const MAX_TOOLS: usize = 128;
/// Bytes of text, schemas and images of one request.
const MAX_BYTES: usize = 8 << 20;

/// The request to the model, or why the server gets no answer.
pub(super) fn request(
    params: CreateMessageRequestParams,
    max_tokens: u32,
    may_call_tools: bool,
) -> Result<ModelRequest, String> {
    if params.messages.is_empty() {
        return Err("The request has no messages.".to_owned());
    }
    let tools = params.tools.unwrap_or_default();
    if params.messages.len() > MAX_MESSAGES || tools.len() > MAX_TOOLS {
        return Err(format!(
            "The request is too long: at most {MAX_MESSAGES} messages and {MAX_TOOLS} tools."
        ));
    }
    if !tools.is_empty() && !may_call_tools {
        return Err("Tools are not allowed here (`max_tool_rounds` is 0).".to_owned());
    }
    let mut messages = Vec::new();
    let mut names = HashMap::new();
    let mut bytes = params.system_prompt.as_deref().map_or(0, str::len);
    for message in params.messages {
        bytes += add(message, &mut messages, &mut names)?;
    }
    let tools: Vec<ToolSchema> = tools
        .into_iter()
        .map(|tool| ToolSchema {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            parameters: normalised(&Value::Object((*tool.input_schema).clone())),
        })
        .collect();
    bytes += tools
        .iter()
        .map(|tool| tool.description.len() + tool.parameters.to_string().len())
        .sum::<usize>();
    if bytes > MAX_BYTES {
        return Err(format!(
            "The request is larger than {} MiB.",
            MAX_BYTES >> 20
        ));
    }
    if messages.is_empty() {
        return Err("The request has no messages with content.".to_owned());
    }
    Ok(ModelRequest {
        tools: Arc::from(tools),
        max_tokens: Some(params.max_tokens.min(max_tokens).max(1)),
        temperature: params.temperature.map(f64::from),
        task: Some(AuxiliaryTask::Mcp),
        ..ModelRequest::new(params.system_prompt.unwrap_or_default(), messages)
    })
}

/// Adds one message of the server, which may be several here. Returns its size.
fn add(
    message: SamplingMessage,
    messages: &mut Vec<Message>,
    names: &mut HashMap<String, String>,
) -> Result<usize, String> {
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    let mut bytes = 0;
    for block in message.content.into_vec() {
        match block {
            Block::Text(block) => {
                bytes += block.text.len();
                parts.push(ContentPart::Text(block.text));
            }
            Block::Image(block) => {
                bytes += block.data.len();
                parts.push(ContentPart::Image(Image::Data {
                    media_type: block.mime_type,
                    base64: block.data,
                }));
            }
            Block::ToolUse(block) => {
                let arguments = Value::Object(block.input).to_string();
                bytes += arguments.len();
                names.insert(block.id.clone(), block.name.clone());
                calls.push(ToolCall::new(block.id, block.name, arguments));
            }
            Block::ToolResult(block) => {
                let texts = block.content.iter().filter_map(|part| match part {
                    ContentBlock::Text(part) => Some(part.text.as_str()),
                    _ => None,
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                bytes += text.len();
                let name = names.get(&block.tool_use_id).cloned().unwrap_or_default();
                let call = ToolCall::new(block.tool_use_id, name, "{}");
                messages.push(Message::tool_result(&call, text));
            }
            Block::Audio(_) => return Err("Audio cannot be sent to the model.".to_owned()),
            _ => return Err("Content of this kind cannot be sent to the model.".to_owned()),
        }
    }
    let role = match message.role {
        TheirRole::Assistant => Role::Assistant,
        TheirRole::User => Role::User,
    };
    let content = match parts.as_slice() {
        [] => Content::default(),
        [ContentPart::Text(text)] => Content::Text(text.clone()),
        _ => Content::Parts(parts),
    };
    if !calls.is_empty() || !content.is_blank() {
        messages.push(Message {
            tool_calls: calls,
            ..Message::new(role, content)
        });
    }
    Ok(bytes)
}

/// The answer of the model as the server gets it.
pub(super) fn result(
    response: ModelResponse,
    model: String,
    masked: impl Fn(&str) -> String,
) -> Result<CreateMessageResult, String> {
    let mut blocks = Vec::new();
    let has_calls = !response.tool_calls.is_empty();
    if !response.text.is_empty() || !has_calls {
        blocks.push(Block::text(masked(&response.text)));
    }
    let reason = match response.finish {
        FinishReason::Truncated => return Err("The connection to the model broke.".to_owned()),
        FinishReason::Length if has_calls => {
            return Err("The answer of the model was too long to be used.".to_owned());
        }
        FinishReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        _ if has_calls => CreateMessageResult::STOP_REASON_TOOL_USE,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::ContentFilter => {
            CreateMessageResult::STOP_REASON_END_TURN
        }
    };
    for call in response.tool_calls {
        let input: Map<String, Value> = serde_json::from_str(&call.arguments)
            .map_err(|_| "The model called a tool with arguments that make no sense.".to_owned())?;
        blocks.push(Block::ToolUse(ToolUseContent::new(
            call.id, call.name, input,
        )));
    }
    let message = if blocks.len() == 1 {
        blocks
            .pop()
            .map(|block| SamplingMessage::new(TheirRole::Assistant, block))
    } else {
        None
    };
    let message =
        message.unwrap_or_else(|| SamplingMessage::new_multiple(TheirRole::Assistant, blocks));
    let mut result = CreateMessageResult::new(message, model);
    result.stop_reason = Some(reason.to_owned());
    Ok(result)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
