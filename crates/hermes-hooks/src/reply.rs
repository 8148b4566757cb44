//! What a hook has said.

use serde_json::Value;

use crate::event::HookEvent;

/// Most characters of a reason.
const MOST_REASON: usize = 1_000;

/// What a hook wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookReply {
    Nothing,
    /// The call must not be made, for this reason.
    Block(String),
    /// The message is to be sent with this text.
    Context(String),
    /// This text takes the place of the one that was given.
    Replace(String),
}

impl HookReply {
    /// Reads the standard output of a hook; the error says what is wrong with it.
    pub(crate) fn parse(event: HookEvent, stdout: &str) -> Result<Self, &'static str> {
        let stdout = stdout.trim();
        if stdout.is_empty() {
            return Ok(Self::Nothing);
        }
        let said: Value = serde_json::from_str(stdout).map_err(|_| "its output is not JSON")?;
        Ok(Self::of(event, &said))
    }

    /// What an answer means.
    pub fn of(event: HookEvent, said: &Value) -> Self {
        let text = |name: &str| said.get(name).and_then(Value::as_str);
        let reason = |first: &str, second: &str| {
            let words = [text(first), text(second)].into_iter().flatten();
            let words = words.map(str::trim).find(|words| !words.is_empty());
            Self::block(words.unwrap_or_default())
        };
        match event {
            HookEvent::PreToolCall if text("action") == Some("block") => {
                reason("message", "reason")
            }
            HookEvent::PreToolCall if text("decision") == Some("block") => {
                reason("reason", "message")
            }
            HookEvent::PreLlmCall => match text("context").map(str::trim) {
                Some(context) if !context.is_empty() => Self::Context(context.to_owned()),
                _ => Self::Nothing,
            },
            HookEvent::TransformToolResult
            | HookEvent::TransformTerminalOutput
            | HookEvent::TransformLlmOutput => match said.as_str().or_else(|| text("output")) {
                Some(new) => Self::Replace(new.to_owned()),
                None => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }

    /// A refusal with these words, or with ours if there are none.
    pub(crate) fn block(words: &str) -> Self {
        let words = hermes_text::one_line(words.trim(), MOST_REASON);
        Self::Block(match words.as_str() {
            "" => "a hook refused the call and gave no reason".to_owned(),
            _ => words,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(event: HookEvent, stdout: &str) -> Result<HookReply, &'static str> {
        HookReply::parse(event, stdout)
    }

    #[test]
    fn both_forms_of_a_refusal_are_understood() {
        for (said, reason) in [
            (r#"{"decision": "block", "reason": "no"}"#, "no"),
            (r#"{"action": "block", "message": "no"}"#, "no"),
            (r#"{"action": "block", "message": "a", "reason": "b"}"#, "a"),
            (
                r#"{"decision": "block", "message": "a", "reason": "b"}"#,
                "b",
            ),
            (
                r#"{"decision": "block", "reason": 7}"#,
                "a hook refused the call and gave no reason",
            ),
        ] {
            let reply = parsed(HookEvent::PreToolCall, said);
            assert_eq!(reply, Ok(HookReply::Block(reason.to_owned())), "{said}");
            assert_eq!(
                parsed(HookEvent::PostToolCall, said),
                Ok(HookReply::Nothing)
            );
        }
        let allowed = parsed(HookEvent::PreToolCall, r#"{"decision": "approve"}"#);
        assert_eq!(allowed, Ok(HookReply::Nothing));
    }

    #[test]
    fn texts_are_replaced_by_a_string_or_an_output() {
        for said in [r#""new""#, r#"{"output": "new"}"#] {
            let reply = parsed(HookEvent::TransformLlmOutput, said);
            assert_eq!(reply, Ok(HookReply::Replace("new".to_owned())), "{said}");
        }
        let other = parsed(HookEvent::TransformToolResult, r#"{"context": "x"}"#);
        assert_eq!(other, Ok(HookReply::Nothing));
        assert!(parsed(HookEvent::PreLlmCall, "Friday").is_err());
        assert_eq!(parsed(HookEvent::PreLlmCall, "[1]"), Ok(HookReply::Nothing));
        assert_eq!(
            parsed(HookEvent::PreLlmCall, "  \n"),
            Ok(HookReply::Nothing)
        );
    }
}
