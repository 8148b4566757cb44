//! The body of a chat completion.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::call::{switch, text};
use crate::content::ReadContent;
use crate::http::ApiError;
use crate::turn::HistoryMessage;

/// A chat completion that a client wants.
#[derive(Debug)]
pub(super) struct ChatRequest {
    pub(super) model: Option<String>,
    pub(super) stream: bool,
    /// The system messages, joined.
    pub(super) system: Option<String>,
    /// Everything before the last message.
    pub(super) history: Vec<HistoryMessage>,
    /// The last message.
    pub(super) prompt: ReadContent,
}

impl ChatRequest {
    pub(super) fn read(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.filter(|messages| !messages.is_empty());
        let messages = messages.ok_or_else(|| {
            ApiError::bad_request("`messages` must be a list with at least one message")
                .param("messages")
        })?;
        let mut system: Vec<String> = Vec::new();
        let mut conversation: Vec<(bool, ReadContent)> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let Value::Object(message) = message else {
                return Err(ApiError::bad_request("a message must be an object")
                    .param(format!("messages[{at}]")));
            };
            let param = format!("messages[{at}].content");
            let read = || ReadContent::read(message.get("content"), &param);
            match message.get("role").and_then(Value::as_str) {
                Some("system" | "developer") => system.push(read()?.text),
                Some("user") => conversation.push((true, read()?)),
                Some("assistant") => conversation.push((false, read()?)),
                // Tools run here; what a client says about its own is not known here.
                Some(_) => {}
                None => {
                    return Err(ApiError::bad_request("a message needs a role")
                        .param(format!("messages[{at}].role")));
                }
            }
        }
        let prompt = conversation.pop().map(|(_, content)| content);
        let prompt = prompt.filter(|prompt| !prompt.is_empty()).ok_or_else(|| {
            ApiError::bad_request("there is no message to answer").param("messages")
        })?;
        let history = conversation
            .into_iter()
            .map(|(is_user, content)| content.into_history(is_user));
        let system = system.join("\n");
        Ok(Self {
            model: text(body, "model")?,
            stream: switch(body, "stream", false)?,
            system: (!system.trim().is_empty()).then_some(system),
            history: history.collect(),
            prompt,
        })
    }

    /// The session of a client that sends its history every time: the beginning of a conversation is
    /// always the same.
    pub(super) fn derived_session(&self) -> String {
        let first = self.history.iter().find(|message| message.is_user);
        let first = first.map_or(self.prompt.text.as_str(), |message| message.text.as_str());
        let system = self.system.as_deref().unwrap_or_default();
        let digest = Sha256::digest(format!("{system}\n{first}"));
        let mut id = "api-".to_owned();
        for byte in digest.iter().take(8) {
            // Writing to a text never fails.
            let _: std::fmt::Result = write!(id, "{byte:02x}");
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn read(body: &Value) -> Result<ChatRequest, ApiError> {
        ChatRequest::read(body.as_object().unwrap())
    }

    #[test]
    fn a_conversation_keeps_its_session_while_it_grows() {
        let system = json!({"role": "system", "content": "be brief"});
        let hello = json!({"role": "user", "content": "hello"});
        let first = read(&json!({"messages": [system, hello]})).unwrap();
        let answer = json!({"role": "assistant", "content": "hi"});
        let more = json!({"role": "user", "content": "more"});
        let second = read(&json!({"messages": [system, hello, answer, more]})).unwrap();
        // As the reference derives it: sha256("be brief\nhello").
        assert_eq!(first.derived_session(), "api-74303aa7304df6af");
        assert_eq!(first.derived_session(), second.derived_session());
        assert_eq!(second.history.len(), 2);
        assert_eq!(second.prompt.text, "more");
    }

    #[test]
    fn bodies_without_a_message_to_answer_are_refused() {
        for body in [
            json!({}),
            json!({"messages": []}),
            json!({"messages": "hello"}),
            json!({"messages": [7]}),
            json!({"messages": [{"content": "x"}]}),
            json!({"messages": [{"role": "system", "content": "x"}]}),
            json!({"messages": [{"role": "user", "content": "  "}]}),
        ] {
            assert!(read(&body).is_err(), "{body}");
        }
    }
}
