//! What stands for the past when no summary can be had and the conversation would not fit: its own
//! words, cut short. Always the same for the same messages.

use hermes_secret::Redactor;
use hermes_session::{Message, Role};

use super::facts::cut;

/// Characters of an extract.
const MOST: usize = 8_000;
/// Characters of one message in it.
const PER_MESSAGE: usize = 300;

/// The extract.
pub(super) fn extract(messages: &[Message], previous: Option<&str>, redactor: &Redactor) -> String {
    let mut text = format!(
        "No summary could be made. {} messages are condensed to their beginnings; all of them can \
         be found with session_search.\n",
        messages.len()
    );
    if let Some(previous) = previous {
        text.push_str(&format!("\nEarlier notes:\n{}\n", cut(previous, MOST / 4)));
    }
    text.push('\n');
    let mut left = MOST.saturating_sub(text.chars().count());
    let mut lines: Vec<String> = Vec::new();
    // The newest are worth most.
    for message in messages.iter().rev() {
        let words = message.text();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let calls = message.call_count();
        let line = match &message.role {
            Role::User => format!("- user: {}", cut(&words, PER_MESSAGE)),
            Role::Assistant if calls > 0 => {
                format!("- assistant, {calls} calls: {}", cut(&words, PER_MESSAGE))
            }
            Role::Assistant => format!("- assistant: {}", cut(&words, PER_MESSAGE)),
            Role::Tool => format!("  result: {}", cut(&words, PER_MESSAGE)),
            Role::System | Role::Other(_) => continue,
        };
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
    fn an_extract_is_short_and_keeps_the_newest() {
        let messages: Vec<Message> = (0..500)
            .map(|n| Message::user(format!("message {n} {}", "x".repeat(1_000))))
            .collect();
        let redactor = Redactor::new(std::iter::empty::<String>());
        let text = extract(&messages, Some(&"p".repeat(50_000)), &redactor);
        assert!(
            text.chars().count() <= MOST + 100,
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
