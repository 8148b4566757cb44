//! An extract in place of a summary that could not be made: the beginnings of the messages. Always
//! the same for the same messages.

use hermes_secret::Redactor;
use hermes_session::{MessageRole, SessionMessage};

use super::condense::shorten;

/// Maximum characters of an extract.
const MAX_CHARS: usize = 8_000;
/// Maximum characters of one message.
const MAX_PER_MESSAGE: usize = 300;

pub(super) fn extract(
    messages: &[SessionMessage],
    previous: Option<&str>,
    redactor: &Redactor,
) -> String {
    let mut text = format!(
        "No summary could be made. {} messages are shortened to their beginnings; session_search finds \
         them in full.\n",
        messages.len()
    );
    if let Some(previous) = previous {
        text.push_str(&format!(
            "\nEarlier notes:\n{}\n",
            shorten(previous, MAX_CHARS / 4)
        ));
    }
    text.push('\n');
    let mut left = MAX_CHARS.saturating_sub(text.chars().count());
    let mut lines: Vec<String> = Vec::new();
    // Newest first: they matter most.
    for message in messages.iter().rev() {
        let words = message.text();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let calls = message.call_count();
        let who = match &message.role {
            MessageRole::User => "- user",
            MessageRole::Assistant if calls > 0 => &format!("- assistant, {calls} calls"),
            MessageRole::Assistant => "- assistant",
            MessageRole::Tool => "  result",
            MessageRole::System | MessageRole::Other(_) => continue,
        };
        let line = format!("{who}: {}", shorten(&words, MAX_PER_MESSAGE));
        let length = line.chars().count() + 1;
        if length > left {
            break;
        }
        left -= length;
        lines.push(line);
    }
    lines.reverse();
    text.push_str(&lines.join("\n"));
    redactor.redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extract_is_short_and_keeps_the_newest() {
        let messages: Vec<SessionMessage> = (0..500)
            .map(|n| SessionMessage::user(format!("message {n} {}", "x".repeat(1_000))))
            .collect();
        let redactor = Redactor::new(std::iter::empty::<String>());
        let text = extract(&messages, Some(&"p".repeat(50_000)), &redactor);
        assert!(
            text.chars().count() <= MAX_CHARS + 100,
            "{}",
            text.chars().count()
        );
        assert!(text.contains("message 499 ") && !text.contains("message 0 "));
        assert_eq!(
            text,
            extract(&messages, Some(&"p".repeat(50_000)), &redactor)
        );
    }
}
