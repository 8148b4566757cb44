//! `prefill_messages_file`: messages that are sent before every conversation, as examples, and never
//! stored.

use std::path::PathBuf;

use hermes_providers::Message;
use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Larger files are no examples any more.
const MAX_BYTES: u64 = 1 << 20;

/// The messages of the file that the settings name. The person is told about a file that cannot be
/// used; the conversation goes on without it.
pub(crate) fn load(context: &Context, person: &dyn Person) -> Vec<Message> {
    let written = context.config().text("prefill_messages_file").trim();
    if written.is_empty() {
        return Vec::new();
    }
    let path = path(context, written);
    let messages = hermes_fs::read_capped(&path, MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| parse(&bytes));
    messages.unwrap_or_else(|reason| {
        let file = context.location.display(&path);
        person.warn(
            &format!("prefill_messages_file is not used: {file}: {reason}"),
            Some("write a JSON list of messages with `role` (user or assistant) and `content`"),
        );
        Vec::new()
    })
}

/// Relative paths start at the home of the profile, `~/` is the user's home.
fn path(context: &Context, written: &str) -> PathBuf {
    match written.strip_prefix("~/") {
        Some(below) => context.location.user_home.join(below),
        None => context.location.home.join(written),
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<Message>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "line {}, column {} is not JSON",
            error.line(),
            error.column()
        )
    })?;
    let Value::Array(messages) = value else {
        return Err("it is not a list".to_owned());
    };
    let read = |(at, message): (usize, &Value)| {
        let content = message["content"].as_str();
        match (message["role"].as_str(), content) {
            (Some("user"), Some(text)) => Ok(Message::user(text)),
            (Some("assistant"), Some(text)) => Ok(Message::assistant(text)),
            _ => Err(format!("message {} has no role or no text", at + 1)),
        }
    };
    messages.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_mistakes_named() {
        let good = br#"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#;
        assert_eq!(parse(good).unwrap().len(), 2);
        for (bad, reason) in [
            (&b"[{\"role\": \"user\"}]"[..], "message 1"),
            (b"[{\"role\": \"tool\", \"content\": \"x\"}]", "message 1"),
            (b"{}", "not a list"),
            (b"[", "not JSON"),
        ] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
