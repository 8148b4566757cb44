//! Drops old images, which are expensive to send with every request.

use hermes_session::{MessageContent, MessageId, MessageRole, SessionMessage};
use serde_json::Value;

/// Keeps images only in the newest message of the user that has any.
pub(super) fn without_old_images(messages: &mut [(MessageId, SessionMessage)]) {
    let newest = messages
        .iter()
        .rposition(|(_, message)| message.role == MessageRole::User && has_images(message));
    for (index, (_, message)) in messages.iter_mut().enumerate() {
        if Some(index) != newest && has_images(message) {
            let text = message.text();
            message.content = Some(MessageContent::Text(format!("{text}\n[image omitted]")));
        }
    }
}

fn has_images(message: &SessionMessage) -> bool {
    match &message.content {
        Some(MessageContent::Parts(Value::Array(parts))) => {
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
    fn only_the_newest_image_is_kept() {
        let image = |text: &str| {
            let parts = json!([{"type": "text", "text": text}, {"image_url": {"url": "data:"}}]);
            SessionMessage::user(MessageContent::Parts(parts))
        };
        let mut messages = vec![
            (MessageId(1), image("old")),
            (MessageId(2), image("new")),
            (MessageId(3), SessionMessage::user("words")),
        ];
        without_old_images(&mut messages);
        assert_eq!(messages[0].1.content, Some("old\n[image omitted]".into()));
        assert_eq!(messages[1].1, image("new"));
        assert_eq!(messages[2].1, SessionMessage::user("words"));
    }
}
