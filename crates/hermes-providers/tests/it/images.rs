//! Images that a server does not want.

use hermes_providers::{Content, ContentPart, Image, Message, ModelRequest, StreamEvent, ToolCall};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, hear};

#[test]
fn an_image_that_is_too_large_is_left_out_and_others_stay() {
    let no = json!({"error": {"message": "messages.0: image exceeds 5 MB maximum"}});
    let server = ModelServer::start([ScriptedAnswer::status(400, &no), ScriptedAnswer::text("ok")]);
    let provider = Bench::custom(&server.base_url(), "  context_length: 9000\n").open();
    let image = |size: usize| {
        ContentPart::Image(Image::Data {
            media_type: "image/png".to_owned(),
            base64: "A".repeat(size),
        })
    };
    let parts = vec![
        ContentPart::Text("see".to_owned()),
        image(8 << 20),
        image(100),
    ];
    let request = ModelRequest::new("", vec![Message::user(Content::Parts(parts))]);
    ask(&*provider, &request).unwrap();
    let sent = &server.questions()[1];
    assert!(sent.raw.len() < 10_000);
    let content = &sent.body["messages"][0]["content"];
    assert_eq!(content[2]["type"], "image_url");
    let note = content[1]["text"].as_str().unwrap();
    assert!(note.contains("larger than 4 MiB"), "{note}");
}

#[test]
fn model_without_images_gets_text_only() {
    let no = json!({"error": {"message": "This model does not support image input"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &no),
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("two"),
    ]);
    let provider = Bench::custom(&server.base_url(), "  context_length: 9000\n").open();
    let image = Image::from_url("data:image/png;base64,AAAA");
    let parts = vec![
        ContentPart::Text("see".to_owned()),
        ContentPart::Image(image),
    ];
    let request = ModelRequest::new("", vec![Message::user(Content::Parts(parts))]);
    let (answer, events) = hear(&*provider, &request);
    assert_eq!(answer.unwrap().text, "one");
    assert!(
        events.iter().any(|event| matches!(event,
            StreamEvent::Switched(line) if line.contains("does not accept images"))),
        "{events:?}"
    );
    assert!(!provider.route().takes_images);
    ask(&*provider, &request).unwrap();
    for sent in &server.questions()[1..] {
        let text = sent.body["messages"][0]["content"].as_str().unwrap();
        assert_eq!(
            text,
            "see\n[image omitted: this model does not accept images]"
        );
    }
}

#[test]
fn images_in_tool_results_are_omitted_where_refused() {
    let no = json!({"error": {"message": "tool message content must be a string"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &no),
        ScriptedAnswer::text("one"),
    ]);
    let provider = Bench::custom(&server.base_url(), "  context_length: 9000\n").open();
    let image = || ContentPart::Image(Image::from_url("data:image/png;base64,AAAA"));
    let call = ToolCall::new("c1", "look", "{}");
    let mut asking = Message::assistant("");
    asking.tool_calls.push(call.clone());
    let shown = Content::Parts(vec![ContentPart::Text("here".to_owned()), image()]);
    let request = ModelRequest::new(
        "",
        vec![
            Message::user(Content::Parts(vec![
                ContentPart::Text("see".to_owned()),
                image(),
            ])),
            asking,
            Message::tool_result(&call, shown),
        ],
    );
    ask(&*provider, &request).unwrap();
    let sent = &server.questions()[1].body["messages"];
    assert_eq!(sent[0]["content"][1]["type"], "image_url");
    let result = sent[2]["content"].as_str().unwrap();
    assert!(result.starts_with("here\n[image omitted"), "{result}");
    assert!(provider.route().takes_images);
}
