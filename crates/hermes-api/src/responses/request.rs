//! The body of a response or a run: what is said, and what came before.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::call::{checked_session_id, switch, text};
use crate::content::ReadContent;
use crate::http::ApiError;
use crate::response_store::ResponseStore;
use crate::turn::HistoryMessage;

/// Messages kept by `truncation: auto`.
const KEPT_MESSAGES: usize = 100;

/// A response that a client wants.
#[derive(Debug)]
pub(crate) struct ResponseRequest {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) store: bool,
    pub(crate) instructions: Option<String>,
    pub(crate) conversation: Option<String>,
    previous: Option<String>,
    /// A session that the client names (runs).
    pub(crate) named_session: Option<String>,
    /// What came before, `{role, content}` each.
    pub(crate) history: Vec<Value>,
    pub(crate) prompt: ReadContent,
    /// The session of the response that this one follows.
    pub(crate) session_id: Option<String>,
    truncate: bool,
}

impl ResponseRequest {
    pub(crate) fn read(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let previous = text(body, "previous_response_id")?.filter(|id| !id.is_empty());
        let conversation = conversation(body)?;
        if previous.is_some() && conversation.is_some() {
            return Err(ApiError::bad_request(
                "`conversation` and `previous_response_id` exclude each other",
            )
            .param("previous_response_id"));
        }
        let mut messages = input(body.get("input"))?;
        let prompt = messages.pop().map(|(_, content)| content);
        let prompt = prompt
            .filter(|prompt| !prompt.is_empty())
            .ok_or_else(|| ApiError::bad_request("there is no message to answer").param("input"))?;
        let mut history = told_history(body.get("conversation_history"))?;
        let earlier = messages
            .into_iter()
            .map(|(role, content)| json!({"role": role, "content": content.to_json()}));
        history.extend(earlier);
        Ok(Self {
            model: text(body, "model")?,
            stream: switch(body, "stream", false)?,
            store: switch(body, "store", true)?,
            instructions: text(body, "instructions")?,
            named_session: text(body, "session_id")?
                .map(|id| checked_session_id(&id))
                .transpose()?,
            truncate: text(body, "truncation")?.as_deref() == Some("auto"),
            conversation,
            previous,
            history,
            prompt,
            session_id: None,
        })
    }

    /// Adds what is stored of the response that this one follows.
    pub(crate) fn follow(
        &mut self,
        store: &ResponseStore,
        home: &Path,
        tells_history: bool,
    ) -> Result<(), ApiError> {
        let previous = match (&self.previous, &self.conversation) {
            (Some(id), _) => Some(id.clone()),
            (None, Some(name)) => store.latest_of(home, name)?,
            (None, None) => None,
        };
        if let Some(id) = previous.filter(|_| !tells_history) {
            let stored = store.get(home, &id)?.ok_or_else(|| {
                ApiError::not_found(format!(
                    "there is no response {}",
                    hermes_text::shown(&id, 80)
                ))
                .code("response_not_found")
                .param("previous_response_id")
            })?;
            let earlier = std::mem::replace(&mut self.history, stored.history);
            self.history.extend(earlier);
            self.session_id = stored.session_id;
            self.instructions = self.instructions.take().or(stored.instructions);
        }
        if self.truncate && self.history.len() > KEPT_MESSAGES {
            self.history.drain(..self.history.len() - KEPT_MESSAGES);
        }
        Ok(())
    }
}

/// What came before, `{role, content}` each, as turns read it.
pub(crate) fn told(history: &[Value]) -> Vec<HistoryMessage> {
    let messages = history.iter().filter_map(|message| {
        let is_user = match message["role"].as_str()? {
            "user" => true,
            "assistant" => false,
            // Results of tools are in the session, if anywhere.
            _ => return None,
        };
        let content = ReadContent::read(message.get("content"), "").ok()?;
        Some(content.into_history(is_user))
    });
    messages
        .filter(|message| !message.text.is_empty() || message.parts.is_some())
        .collect()
}

fn conversation(body: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    match body.get("conversation") {
        // OpenAI's clients send an object with an id.
        Some(Value::Object(named)) => text(named, "id"),
        _ => text(body, "conversation"),
    }
    .map(|name| name.filter(|name| !name.is_empty()))
}

fn input(input: Option<&Value>) -> Result<Vec<(String, ReadContent)>, ApiError> {
    let refused = |message: &str| ApiError::bad_request(message).param("input");
    match input {
        None | Some(Value::Null) => Err(refused("`input` is missing")),
        Some(Value::String(_)) => Ok(vec![(
            "user".to_owned(),
            ReadContent::read(input, "input")?,
        )]),
        Some(Value::Array(items)) => {
            let mut messages = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let param = format!("input[{at}].content");
                match item {
                    Value::String(_) => {
                        let content = ReadContent::read(Some(item), &param)?;
                        messages.push(("user".to_owned(), content));
                    }
                    Value::Object(message) => {
                        let kind = message.get("type").and_then(Value::as_str);
                        if kind.is_some_and(|kind| kind != "message") {
                            // Calls and reasoning of earlier answers are in the session.
                            continue;
                        }
                        let role = message.get("role").and_then(Value::as_str);
                        let content = ReadContent::read(message.get("content"), &param)?;
                        messages.push((role.unwrap_or("user").to_owned(), content));
                    }
                    _ => return Err(refused("an item of `input` is a string or an object")),
                }
            }
            Ok(messages)
        }
        Some(_) => Err(refused("`input` must be a string or a list")),
    }
}

fn told_history(history: Option<&Value>) -> Result<Vec<Value>, ApiError> {
    let refused = |at: Option<usize>| {
        let place = at.map_or(String::new(), |at| format!("[{at}]"));
        ApiError::bad_request(
            "`conversation_history` is a list of objects with `role` and `content`",
        )
        .param(format!("conversation_history{place}"))
    };
    let entries = match history {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(refused(None)),
    };
    let mut read = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let role = entry.get("role").and_then(Value::as_str);
        let (Some(role), Some(content)) = (role, entry.get("content")) else {
            return Err(refused(Some(at)));
        };
        let param = format!("conversation_history[{at}].content");
        let content = ReadContent::read(Some(content), &param)?;
        read.push(json!({"role": role, "content": content.to_json()}));
    }
    Ok(read)
}
