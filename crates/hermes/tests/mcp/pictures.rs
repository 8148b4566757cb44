//! Pictures in answers of servers, on their way to the model.

use hermes_testkit::{ModelServer, ProgramOutput, ScriptedAnswer};
use serde_json::{Value, json};

use crate::{Desk, script};

/// A conversation in which the server sends a picture, and what the model was sent of it.
fn shown(desk: &Desk, more: &str) -> (Value, ProgramOutput) {
    let model = ModelServer::start([
        ScriptedAnswer::call("mcp__srv__picture", &json!({})),
        ScriptedAnswer::text("seen"),
    ]);
    desk.home.put(
        "config.yaml",
        format!(
            "model: {{default: test-model, provider: custom, base_url: {}, context_length: 200000}}\n\
             auxiliary: {{title_generation: {{enabled: false}}, vision: {{model: v}}}}\n{more}\n\
             mcp_servers: {{srv: {{command: python3, args: [{}]}}}}\n",
            model.base_url(),
            script().display()
        ),
    );
    let run = desk.home.run(["chat", "-Q", "-q", "go"]);
    let questions = model.questions();
    let messages = questions.last().unwrap().body["messages"].clone();
    let result = messages.as_array().unwrap().last().unwrap()["content"].clone();
    (result, run)
}

#[test]
fn a_model_that_takes_images_sees_the_picture() {
    let desk = Desk::new(&[], "");
    let (result, run) = shown(&desk, "agent: {image_input_mode: native}");
    run.succeeds().prints_part("seen");
    let parts = result.as_array().unwrap_or_else(|| panic!("{result}"));
    let text = parts[0]["text"].as_str().unwrap();
    assert!(
        text.contains("a picture") && text.contains("mcp-files"),
        "{text}"
    );
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    assert!(
        url.starts_with("data:image/png;base64,iVBORw0KGgo"),
        "{url}"
    );
}

#[test]
fn a_model_that_takes_none_gets_the_path() {
    let desk = Desk::new(&[], "");
    let (result, run) = shown(&desk, "agent: {image_input_mode: text}");
    run.succeeds().prints_part("seen");
    let text = result.as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(text.contains("mcp-files"), "{text}");
}
