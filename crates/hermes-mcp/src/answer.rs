//! Answers of servers as results of tools.

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceContents, Role,
};
use serde_json::{Value, json};

/// Most bytes of a resource or an image, as base64.
const MAX_BLOB: usize = 68 << 20;

/// An answer, and the pictures that came with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `{"result": …}` or `{"error": …}`.
    pub value: Value,
    pub blobs: Vec<Blob>,
}

/// Something that is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub mime_type: String,
    /// As base64.
    pub data: String,
    /// Where it came from, for a resource.
    pub uri: Option<String>,
}

impl Answer {
    pub(crate) fn value(value: Value) -> Self {
        Self {
            value,
            blobs: Vec::new(),
        }
    }
}

pub(crate) fn of_tool(result: CallToolResult) -> Answer {
    let mut blobs = Vec::new();
    let parts = result.content.into_iter();
    let parts: Vec<String> = parts
        .filter_map(|block| text_of(block, &mut blobs))
        .collect();
    let text = parts.join("\n");
    if result.is_error == Some(true) {
        let text = if text.trim().is_empty() {
            "the tool failed and did not say why".to_owned()
        } else {
            text
        };
        return Answer {
            value: json!({"error": text}),
            blobs: Vec::new(),
        };
    }
    let value = match (result.structured_content, text.is_empty()) {
        (None, _) => json!({"result": text}),
        (Some(structured), true) => json!({"result": structured}),
        // Most servers that answer with data repeat the data as text for older clients.
        (Some(structured), false) if is_same(&text, &structured) => {
            json!({"result": text})
        }
        (Some(structured), false) => json!({"result": text, "structuredContent": structured}),
    };
    Answer { value, blobs }
}

fn is_same(text: &str, structured: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
}

fn text_of(block: ContentBlock, blobs: &mut Vec<Blob>) -> Option<String> {
    match block {
        ContentBlock::Text(block) => Some(block.text).filter(|text| !text.is_empty()),
        ContentBlock::Image(block) => kept(block.mime_type, block.data, None, blobs),
        ContentBlock::Audio(block) => kept(block.mime_type, block.data, None, blobs),
        ContentBlock::Resource(block) => contents(block.resource, blobs),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.unwrap_or(link.name);
            Some(format!("[resource {}: {about}]", link.uri))
        }
        _ => Some("[content of a kind that is not known here]".to_owned()),
    }
}

fn contents(contents: ResourceContents, blobs: &mut Vec<Blob>) -> Option<String> {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => {
            Some(text).filter(|text| !text.is_empty())
        }
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => {
            let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            kept(mime_type, blob, Some(uri), blobs)
        }
        _ => None,
    }
}

/// Puts something aside that is no text; what stands in its place says so only if it was too large.
fn kept(
    mime_type: String,
    data: String,
    uri: Option<String>,
    blobs: &mut Vec<Blob>,
) -> Option<String> {
    if data.len() > MAX_BLOB {
        return Some(format!(
            "[{mime_type} of {} bytes: too large]",
            data.len() / 4 * 3
        ));
    }
    blobs.push(Blob {
        mime_type,
        data,
        uri,
    });
    None
}

pub(crate) fn of_resource(read: ReadResourceResult) -> Answer {
    let mut blobs = Vec::new();
    let parts = read.contents.into_iter();
    let parts: Vec<String> = parts
        .filter_map(|part| contents(part, &mut blobs))
        .collect();
    Answer {
        value: json!({"result": parts.join("\n")}),
        blobs,
    }
}

pub(crate) fn resource_entry(resource: &Resource) -> Value {
    let mut entry = json!({"uri": resource.uri, "name": resource.name});
    if let Some(description) = &resource.description {
        entry["description"] = json!(description);
    }
    if let Some(mime_type) = &resource.mime_type {
        entry["mimeType"] = json!(mime_type);
    }
    entry
}

pub(crate) fn prompt_entry(prompt: &Prompt) -> Value {
    let mut entry = json!({"name": prompt.name});
    if let Some(description) = &prompt.description {
        entry["description"] = json!(description);
    }
    if let Some(arguments) = &prompt.arguments {
        entry["arguments"] = arguments
            .iter()
            .map(|argument| {
                json!({
                    "name": argument.name,
                    "description": argument.description,
                    "required": argument.required.unwrap_or(false),
                })
            })
            .collect();
    }
    entry
}

pub(crate) fn of_prompt(got: GetPromptResult) -> Answer {
    let mut blobs = Vec::new();
    let mut messages = Vec::new();
    for message in got.messages {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::User => "user",
        };
        let text = text_of(message.content, &mut blobs).unwrap_or_default();
        messages.push(json!({"role": role, "content": text}));
    }
    let mut value = json!({"messages": messages});
    if let Some(description) = got.description {
        value["description"] = json!(description);
    }
    Answer { value, blobs }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn tool(result: Value) -> Answer {
        of_tool(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn texts_are_joined_and_pictures_put_aside() {
        let answer = tool(json!({"content": [
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:/1", "text": "b"}},
        ]}));
        assert_eq!(answer.value, json!({"result": "a\nb"}));
        assert_eq!(answer.blobs.len(), 1);
        assert_eq!(answer.blobs[0].mime_type, "image/png");
    }

    #[test]
    fn structured_content_is_shown_once() {
        let same = json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": {"a": 1}});
        assert_eq!(tool(same).value, json!({"result": "{\"a\": 1}"}));
        let other =
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}});
        assert_eq!(
            tool(other).value,
            json!({"result": "one", "structuredContent": {"a": 1}})
        );
        let alone = json!({"content": [], "structuredContent": {"a": 1}});
        assert_eq!(tool(alone).value, json!({"result": {"a": 1}}));
    }

    #[test]
    fn errors_of_tools_are_errors_here() {
        let failed =
            json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(tool(failed).value, json!({"error": "no such file"}));
        let silent = json!({"content": [], "isError": true});
        assert!(
            tool(silent).value["error"]
                .as_str()
                .unwrap()
                .contains("did not say why")
        );
    }
}
