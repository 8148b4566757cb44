//! Settings of the agent that change what is sent: examples, tiers, images, and turns that would end
//! too early.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, messages, session_of};

#[test]
fn announced_action_is_asked_for_once() {
    let answers = || {
        [
            ScriptedAnswer::text("I'll check the files and report back."),
            ScriptedAnswer::text("I'll check the files and report back."),
        ]
    };
    let world = World::configured(
        ModelServer::start(answers()),
        "agent: {intent_ack_continuation: true}",
    );
    world.ask("what is in this directory?").succeeds();
    assert_eq!(world.bodies().len(), 2);
    let last = world.last_messages();
    let asked = last.last().unwrap()["content"].as_str().unwrap();
    assert!(asked.contains("Do it now"), "{asked}");
    // Off by default in this format, and off where the name of the model is not listed.
    for more in ["", "agent: {intent_ack_continuation: [gpt]}"] {
        let world = World::configured(ModelServer::start(answers()), more);
        world.ask("what is in this directory?").succeeds();
        assert_eq!(world.bodies().len(), 1, "{more}");
    }
}

#[test]
fn changed_code_is_to_be_checked_before_the_turn_ends() {
    let write = || {
        ScriptedAnswer::call(
            "write_file",
            &json!({"path": "project/a.py", "content": "print(1)\n"}),
        )
    };
    let run = |command: &str| ScriptedAnswer::call("terminal", &json!({"command": command}));
    let settings = "agent: {verify_on_stop: true, max_verify_nudges: 1}\napprovals: {mode: 'off'}";
    let world = World::configured(
        ModelServer::start([
            write(),
            ScriptedAnswer::text("done"),
            run("echo make test"),
            ScriptedAnswer::text("checked"),
        ]),
        settings,
    );
    let project = world.home.user_home().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("Makefile"), "test:\n").unwrap();
    world.ask("write it").succeeds().prints("checked\n");
    let reminder = messages(&world.bodies()[2]);
    let reminder = reminder.last().unwrap()["content"].as_str().unwrap();
    assert!(
        reminder.contains("no check has passed since") && reminder.contains("a.py"),
        "{reminder}"
    );
    // Only as often as the settings say; never for prose, and never unless asked for.
    let stubborn = || {
        ModelServer::start([
            write(),
            ScriptedAnswer::text("done"),
            ScriptedAnswer::text("still done"),
        ])
    };
    let world = World::configured(stubborn(), settings);
    let project = world.home.user_home().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("Makefile"), "test:\n").unwrap();
    world.ask("write it").succeeds().prints("still done\n");
    let world = World::configured(stubborn(), "approvals: {mode: 'off'}");
    world.ask("write it").succeeds().prints("done\n");
}

#[test]
fn prefilled_messages_are_sent_first_and_never_stored() {
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("done")),
        "prefill_messages_file: examples.json",
    );
    let examples = r#"[{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]"#;
    world.home.put("examples.json", examples);
    let outcome = world.ask("3+3");
    outcome.succeeds();
    let sent = world.last_messages();
    let texts: Vec<&str> = sent[1..]
        .iter()
        .map(|one| one["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["2+2", "4", "3+3"]);
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored.len(), 2, "{stored:?}");
    // A file that cannot be used is named, and the conversation goes on.
    world.home.put("examples.json", "[{\"role\": \"user\"}]");
    world
        .ask("3+3")
        .succeeds()
        .says_part("examples.json: message 1 has no role or no text");
    assert_eq!(world.last_messages().len(), 2);
}

#[test]
fn service_tier_goes_to_openai_alone() {
    let server = ModelServer::always(ScriptedAnswer::text("done"));
    let world = World::configured(server, "agent: {service_tier: fast}");
    world.ask("hi").succeeds();
    assert!(world.bodies()[0].get("service_tier").is_none());
    let report = world.home.outside("usage.json");
    world
        .hermes(&[
            "-z",
            "hi",
            "-m",
            "gpt-5",
            "--provider",
            "openai-api",
            "--usage-file",
        ])
        .arg(&report)
        .env("OPENAI_BASE_URL", world.server.base_url())
        .env("OPENAI_API_KEY", "sk-0123456789")
        .run()
        .succeeds();
    assert_eq!(world.bodies().last().unwrap()["service_tier"], "priority");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["service_tier"], "priority");
}

#[test]
fn image_is_described_where_the_model_gets_text() {
    let server = ModelServer::start([
        ScriptedAnswer::text("a red square"),
        ScriptedAnswer::text("it is red"),
    ]);
    let world = World::configured(server, "agent: {image_input_mode: text}");
    let image = world.home.outside("square.png");
    std::fs::write(&image, b"\x89PNG\r\n\x1a\n0").unwrap();
    let ask = |world: &World| {
        world
            .hermes(&["chat", "-Q", "-q", "which colour?", "--image"])
            .arg(&image)
            .run()
    };
    ask(&world).succeeds().prints("it is red\n");
    let bodies = world.bodies();
    assert!(
        bodies[0].to_string().contains("data:image/png"),
        "{}",
        bodies[0]
    );
    assert!(
        !bodies[1].to_string().contains("data:image/png"),
        "{}",
        bodies[1]
    );
    assert!(
        bodies[1]
            .to_string()
            .contains("described by another model: a red square")
    );
    // As it is, unless told otherwise.
    let world = World::with(ModelServer::always(ScriptedAnswer::text("it is red")));
    ask(&world).succeeds();
    assert_eq!(world.bodies().len(), 1);
    assert!(world.bodies()[0].to_string().contains("data:image/png"));
}

/// The system prompt of a conversation in a directory with these files.
fn prompt_in(directory: &[(&str, &str)], settings: &str) -> (String, serde_json::Value) {
    let world = World::configured(ModelServer::always(ScriptedAnswer::text("done")), settings);
    let project = world.home.user_home().join("project");
    std::fs::create_dir(&project).unwrap();
    for (name, text) in directory {
        std::fs::write(project.join(name), text).unwrap();
    }
    let call = world
        .hermes(&["chat", "-Q", "-q", "hi"])
        .in_directory(&project);
    call.run().succeeds();
    let body = world.bodies().pop().unwrap();
    let system = body["messages"][0]["content"].as_str().unwrap().to_owned();
    (system, body)
}

#[test]
fn a_project_brings_rules_for_programming() {
    let project = [("Makefile", "test:\n\ttrue\n")];
    let (auto, _) = prompt_in(&project, "");
    assert!(
        auto.contains("# Programming") && auto.contains("Checks: make test"),
        "{auto}"
    );
    let (elsewhere, _) = prompt_in(&[("notes.md", "")], "");
    assert!(!elsewhere.contains("# Programming"), "{elsewhere}");
    let (off, _) = prompt_in(&project, "agent: {coding_context: 'off'}");
    assert!(!off.contains("# Programming"), "{off}");
    let (on, _) = prompt_in(
        &[],
        "agent: {coding_context: true, coding_instructions: [Use tabs., No emojis.]}",
    );
    assert!(on.contains("# Programming"), "{on}");
    assert!(
        on.contains("Rules of the user:\nUse tabs.\nNo emojis."),
        "{on}"
    );
}

#[test]
fn focus_on_code_takes_away_tools_for_other_things() {
    let project = [("Cargo.toml", "")];
    let (_, body) = prompt_in(&project, "");
    assert!(body["tools"].to_string().contains("cronjob"));
    let (_, body) = prompt_in(&project, "agent: {coding_context: focus}");
    let tools = body["tools"].to_string();
    assert!(
        !tools.contains("cronjob") && tools.contains("write_file"),
        "{tools}"
    );
}

#[test]
fn what_is_unusual_about_python_is_told_unless_switched_off() {
    for (settings, is_told) in [("", true), ("agent: {environment_probe: false}", false)] {
        let world = World::configured(ModelServer::always(ScriptedAnswer::text("done")), settings);
        let bin = world.home.outside("bin");
        std::fs::create_dir(&bin).unwrap();
        let call = world.hermes(&["chat", "-Q", "-q", "hi"]).env("PATH", &bin);
        call.run().succeeds();
        let system = world.last_messages()[0]["content"].to_string();
        assert_eq!(
            system.contains("`python3` is not installed"),
            is_told,
            "{system}"
        );
    }
}

#[test]
fn reminder_of_checks_says_what_to_tidy_unless_switched_off() {
    for (more, is_said) in [("", true), (", verify_guidance: false", false)] {
        let write = json!({"path": "project/a.py", "content": "print(1)\n"});
        let world = World::configured(
            ModelServer::start([
                ScriptedAnswer::call("write_file", &write),
                ScriptedAnswer::text("done"),
                ScriptedAnswer::text("still done"),
            ]),
            &format!(
                "agent: {{verify_on_stop: true, max_verify_nudges: 1{more}}}\napprovals: {{mode: 'off'}}"
            ),
        );
        let project = world.home.user_home().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("Makefile"), "test:\n").unwrap();
        world.ask("write it").succeeds();
        let last = world.last_messages();
        let reminder = last.last().unwrap()["content"].as_str().unwrap();
        assert_eq!(reminder.contains("Before a commit"), is_said, "{reminder}");
    }
}

#[test]
fn model_that_describes_images_gets_no_key_of_another() {
    let seeing = ModelServer::always(ScriptedAnswer::text("a red square"));
    let settings = format!(
        "agent: {{image_input_mode: text}}\nauxiliary: {{title_generation: {{enabled: false}}, \
         vision: {{base_url: '{}', model: eyes, timeout: 20, extra_body: {{top_k: 1}}}}}}",
        seeing.base_url()
    );
    let world = World::configured(
        ModelServer::always(ScriptedAnswer::text("it is red")),
        &settings,
    );
    world.configure(
        "context_length: 200000\n  api_key: sk-canary-main-123456",
        &settings,
    );
    let image = world.home.outside("square.png");
    std::fs::write(&image, b"\x89PNG\r\n\x1a\n0").unwrap();
    let call = world
        .hermes(&["chat", "-Q", "-q", "which colour?", "--image"])
        .arg(&image)
        .env("OPENAI_API_KEY", "sk-canary-openai-123456");
    call.run().succeeds().prints("it is red\n");
    let asked = seeing.questions();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (&asked[0].body["model"], &asked[0].body["top_k"]),
        (&json!("eyes"), &json!(1))
    );
    assert!(!asked[0].contains("canary"));
}
