//! Pictures of the past: dear to send again and again, and rarely looked at twice.

use hermes_session::{Content, Message, MessageId, Role};
use serde_json::Value;

/// Leaves pictures only in the newest message of the person that has any.
pub(super) fn without_old_images(messages: &mut [(MessageId, Message)]) {
    let newest = messages
        .iter()
        .rposition(|(_, message)| message.role == Role::User && has_images(message));
    for (index, (_, message)) in messages.iter_mut().enumerate() {
        if Some(index) != newest && has_images(message) {
            let text = message.text();
            message.content = Some(Content::Text(format!("{text}\n[image left out]")));
        }
    }
}

fn has_images(message: &Message) -> bool {
    match &message.content {
        Some(Content::Parts(Value::Array(parts))) => {
            parts.iter().any(|part| part.get("image_url").is_some())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_newest_picture_stays() {
        let picture = |text: &str| {
            let parts = json!([{"type": "text", "text": text}, {"image_url": {"url": "data:"}}]);
            Message::user(Content::Parts(parts))
        };
        let mut messages = vec![
            (MessageId(1), picture("old")),
            (MessageId(2), picture("new")),
            (MessageId(3), Message::user("words")),
        ];
        without_old_images(&mut messages);
        assert_eq!(messages[0].1.content, Some("old\n[image left out]".into()));
        assert_eq!(messages[1].1, picture("new"));
        assert_eq!(messages[2].1, Message::user("words"));
    }
}
