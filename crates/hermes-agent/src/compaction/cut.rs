//! What stays and what is summarised. Pure.

use std::ops::Range;

use hermes_session::{Message, Role};

/// Messages that stay at the end, at least.
const LEAST_TAIL: usize = 3;
/// Messages between which a summary is worth a request, at least.
const LEAST_MIDDLE: usize = 2;
/// Characters of a token, roughly.
const CHARS_PER_TOKEN: u64 = 4;
/// Keys and quotes around a message.
const FRAME: u64 = 40;
/// Tokens of a picture, whatever its size.
const TOKENS_PER_IMAGE: u64 = 1_500;

/// Where a conversation is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    /// What is summarised.
    pub(super) middle: Range<usize>,
    /// The person's last message, where it is in the middle: it stays as it is, before the end.
    pub(super) last_user: Option<usize>,
}

/// Cuts a conversation so that its beginning has `protect_first` messages and its end about
/// `tail_tokens`. `None` if there is nothing worth summarising between them.
pub(super) fn cut(messages: &[&Message], protect_first: usize, tail_tokens: u64) -> Option<Cut> {
    let head = head_end(messages, protect_first);
    let tail = tail_start(messages, tail_tokens).max(head);
    if tail.saturating_sub(head) < LEAST_MIDDLE {
        return None;
    }
    let last_user = messages
        .iter()
        .rposition(|message| message.role == Role::User && !message.is_summary());
    Some(Cut {
        middle: head..tail,
        last_user: last_user.filter(|at| (head..tail).contains(at)),
    })
}

/// The end of the beginning: behind the first messages and the results of their calls.
fn head_end(messages: &[&Message], protect_first: usize) -> usize {
    let mut end = protect_first.min(messages.len());
    while messages
        .get(end)
        .is_some_and(|message| message.role == Role::Tool)
    {
        end += 1;
    }
    end
}

/// The beginning of the end: as many messages as fit, none cut off from the calls they answer.
fn tail_start(messages: &[&Message], tokens: u64) -> usize {
    let mut start = messages.len();
    let mut used = 0;
    for (index, message) in messages.iter().enumerate().rev() {
        used += size(message);
        let is_needed = messages.len() - index <= LEAST_TAIL;
        if used > tokens && !is_needed {
            break;
        }
        start = index;
    }
    while start > 0
        && messages
            .get(start)
            .is_some_and(|message| message.role == Role::Tool)
    {
        start -= 1;
    }
    start
}

/// Tokens of a message, roughly.
pub(super) fn size(message: &Message) -> u64 {
    let mut characters = FRAME;
    let mut images = 0;
    match (&message.api_content, &message.content) {
        (Some(sent), _) => characters += count(sent),
        (None, Some(hermes_session::Content::Text(text))) => characters += count(text),
        (None, Some(hermes_session::Content::Parts(serde_json::Value::Array(parts)))) => {
            for part in parts {
                if part.get("image_url").is_some() {
                    images += 1;
                } else {
                    characters += count(&part.to_string());
                }
            }
        }
        (None, Some(other)) => characters += count(&other.text()),
        (None, None) => {}
    }
    if let Some(calls) = &message.tool_calls {
        characters += count(&calls.to_string());
    }
    characters += message.reasoning_content.as_deref().map_or(0, count);
    characters.div_ceil(CHARS_PER_TOKEN) + images * TOKENS_PER_IMAGE
}

fn count(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Message {
        Message::calls(
            None,
            json!([{"id": id, "function": {"name": "terminal", "arguments": "{}"}}]),
        )
    }

    fn result(id: &str, length: usize) -> Message {
        Message::tool_result(id, "terminal", "x".repeat(length))
    }

    /// One question, then steps of a call and a result of 4,000 characters.
    fn worked(steps: usize) -> Vec<Message> {
        let mut messages = vec![Message::user("go")];
        for step in 0..steps {
            messages.push(call(&step.to_string()));
            messages.push(result(&step.to_string(), 4_000));
        }
        messages
    }

    fn cut_of(messages: &[Message], protect: usize, tokens: u64) -> Option<Cut> {
        let messages: Vec<&Message> = messages.iter().collect();
        cut(&messages, protect, tokens)
    }

    #[test]
    fn calls_stay_with_their_results() {
        let messages = worked(10);
        let found = cut_of(&messages, 2, 2_500).unwrap();
        assert_eq!(found.middle, 3..17);
        assert_eq!(found.last_user, None);
        assert_eq!(messages[found.middle.end].role, Role::Assistant);
    }

    #[test]
    fn a_question_in_the_middle_is_kept_for_the_end() {
        let mut messages = worked(3);
        messages.push(Message::assistant("done"));
        messages.push(Message::user("and now this"));
        for step in 10..16 {
            messages.push(call(&step.to_string()));
            messages.push(result(&step.to_string(), 4_000));
        }
        let found = cut_of(&messages, 3, 2_500).unwrap();
        let at = found.last_user.unwrap();
        assert_eq!(messages[at].text(), "and now this");
    }

    #[test]
    fn short_conversations_are_left_alone() {
        assert_eq!(cut_of(&worked(1), 3, 1_000), None);
        assert_eq!(cut_of(&[], 3, 1_000), None);
        assert_eq!(cut_of(&worked(3), 3, 1_000_000), None);
    }

    proptest::proptest! {
        #[test]
        fn no_result_is_cut_off_from_its_call(
            kinds in proptest::collection::vec(0..3_u8, 0..30),
            protect in 0..5_usize,
            tokens in 0..5_000_u64,
        ) {
            let mut messages = Vec::new();
            for (index, kind) in kinds.iter().enumerate() {
                match kind {
                    0 => messages.push(Message::user("u")),
                    1 => messages.push(Message::assistant("a")),
                    _ => {
                        messages.push(call(&index.to_string()));
                        messages.push(result(&index.to_string(), 2_000));
                    }
                }
            }
            if let Some(found) = cut_of(&messages, protect, tokens) {
                for edge in [found.middle.start, found.middle.end] {
                    let is_result = messages.get(edge).is_some_and(|m| m.role == Role::Tool);
                    proptest::prop_assert!(!is_result, "{edge} of {found:?}");
                }
            }
        }
    }
}
