use hermes_providers::Image;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn calls(ids: &[&str]) -> Message {
    Message {
        tool_calls: ids
            .iter()
            .map(|id| ToolCall::new(*id, "terminal", "{}"))
            .collect(),
        ..Message::assistant("")
    }
}

fn result(id: &str) -> Message {
    Message::tool_result(&ToolCall::new(id, "terminal", "{}"), "ok")
}

#[test]
fn results_without_a_call_are_dropped_and_calls_without_a_result_get_a_placeholder() {
    let sent = sendable(vec![
        result("lost"),
        Message::user("a"),
        calls(&["1", "2"]),
        result("2"),
        result("other"),
        Message::user("b"),
        calls(&["3"]),
    ]);
    let shape: Vec<(Role, Option<&str>)> = sent
        .iter()
        .map(|message| (message.role, message.tool_call_id.as_deref()))
        .collect();
    assert_eq!(
        shape,
        [
            (Role::User, None),
            (Role::Assistant, None),
            (Role::Tool, Some("2")),
            (Role::Tool, Some("1")),
            (Role::User, None),
            (Role::Assistant, None),
            (Role::Tool, Some("3")),
        ]
    );
    assert_eq!(sent[3].content, Content::from(NO_RESULT));
}

#[test]
fn damaged_arguments_are_emptied_and_the_result_says_so() {
    let mut call = calls(&["1"]);
    call.tool_calls[0].arguments = "{\"command\": \"tr".to_owned();
    let sent = sendable(vec![call, result("1")]);
    assert_eq!(sent[0].tool_calls[0].arguments, "{}");
    assert!(sent[1].content.to_text().starts_with(LOST_ARGUMENTS.trim()));
}

#[test]
fn canonical_arguments_are_sorted() {
    assert_eq!(
        canonical_arguments("{ \"b\": [ {\"d\": 1, \"c\": 2} ], \"a\": \" x \" }").as_deref(),
        Some(r#"{"a":" x ","b":[{"c":2,"d":1}]}"#)
    );
    assert_eq!(canonical_arguments("[1]"), None);
}

#[test]
fn consecutive_user_messages_are_merged() {
    let picture = || Content::Parts(vec![ContentPart::Image(Image::Url("u".to_owned()))]);
    let sent = sendable(vec![
        Message::user(" a\n"),
        Message::user("b"),
        Message::user(picture()),
        Message::assistant("c"),
    ]);
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent[0].content,
        Content::Parts(vec![
            ContentPart::Text("a\n\nb".to_owned()),
            ContentPart::Image(Image::Url("u".to_owned()))
        ])
    );
}

#[test]
fn answer_with_only_reasoning_is_not_sent() {
    let mut thought = Message::assistant("  ");
    thought.reasoning.content = Some("hm".to_owned());
    assert_eq!(sendable(vec![Message::user("a"), thought]).len(), 1);
}

proptest! {
    #[test]
    fn sent_history_is_always_paired(kinds in proptest::collection::vec((0..4_u8, 0..3_u8), 0..20)) {
        let messages = kinds.iter().map(|(kind, id)| match kind {
            0 => Message::user("u"),
            1 => Message::assistant("a"),
            2 => calls(&[["x", "y", "z"][usize::from(*id)]]),
            _ => result(["x", "y", "z"][usize::from(*id)]),
        });
        let sent = sendable(messages.collect());
        let mut open: Vec<String> = Vec::new();
        for message in &sent {
            if message.role == Role::Tool {
                let id = message.tool_call_id.clone().unwrap();
                let at = open.iter().position(|call| *call == id);
                prop_assert!(at.is_some(), "orphan result {id}");
                open.remove(at.unwrap());
            } else {
                prop_assert!(open.is_empty(), "unanswered {open:?}");
                open = message.tool_calls.iter().map(|call| call.id.clone()).collect();
            }
        }
        prop_assert!(open.is_empty(), "unanswered {open:?}");
        prop_assert_eq!(sendable(sent.clone()), sent);
    }
}
