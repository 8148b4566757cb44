//! `delegation`: which model sub-agents use, what they may do, and how much of their reports stays.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// A conversation that hands one task on, and the answers it gets.
fn handing_on(answers: impl IntoIterator<Item = ScriptedAnswer>, settings: &str) -> World {
    let first = ScriptedAnswer::call("delegate_task", &json!({"goal": "count to three"}));
    let answers = std::iter::once(first).chain(answers);
    World::configured(ModelServer::start(answers), settings)
}

/// What `delegate_task` gave back.
fn report(world: &World) -> Value {
    let last = world.last_messages();
    let result = last.iter().rfind(|message| message["role"] == "tool");
    let text = result.unwrap()["content"].as_str().unwrap();
    serde_json::from_str::<Value>(text).unwrap()["results"][0].clone()
}

#[test]
fn sub_agents_use_the_model_that_the_settings_name() {
    let world = handing_on(
        [ScriptedAnswer::text("three"), ScriptedAnswer::text("done")],
        "delegation: {model: small, reasoning_effort: low}",
    );
    world.ask("go").succeeds().prints("done\n");
    let bodies = world.bodies();
    let models: Vec<&Value> = bodies.iter().map(|body| &body["model"]).collect();
    assert_eq!(models, ["test-model", "small", "test-model"]);
    let efforts: Vec<Option<&Value>> = bodies
        .iter()
        .map(|body| body.get("reasoning_effort"))
        .collect();
    assert_eq!(efforts, [None, Some(&json!("low")), None]);
    assert_eq!(report(&world)["model"], "small");
}

#[test]
fn sub_agents_at_an_address_of_their_own_get_only_its_key() {
    let own = ModelServer::always(ScriptedAnswer::text("three"));
    let settings = |more: &str| {
        format!(
            "delegation: {{base_url: '{}', model: small{more}}}",
            own.base_url()
        )
    };
    let ask = |settings: &str| {
        let world = handing_on([ScriptedAnswer::text("done")], settings);
        world.configure(
            "context_length: 200000\n  api_key: sk-canary-main-123456",
            settings,
        );
        let call = world.hermes(&["chat", "-Q", "-q", "go"]);
        let call = call
            .env("OPENAI_API_KEY", "sk-canary-openai-123456")
            .env("SUB_KEY", "sk-for-children-123456");
        call.run().succeeds().prints("done\n");
        assert_eq!(report(&world)["summary"], "three");
    };
    ask(&settings(""));
    ask(&settings(", api_key: '${SUB_KEY}'"));
    let received = own.questions();
    assert_eq!(received.len(), 2);
    assert!(received.iter().all(|request| !request.contains("canary")));
    assert!(!received[0].contains("sk-for-children"));
    assert!(received[1].contains("sk-for-children-123456"));
    // The wire format is that of the settings, not of the address.
    ask(&settings(", api_mode: codex_responses"));
    let last = own.questions().pop().unwrap();
    assert!(last.body.get("input").is_some(), "{}", last.body);
}

#[test]
fn a_model_that_cannot_be_used_is_named_in_the_report() {
    let world = handing_on(
        [ScriptedAnswer::text("done")],
        "delegation: {provider: nosuch}",
    );
    world.ask("go").succeeds().prints("done\n");
    let report = report(&world);
    assert_eq!(report["status"], "failed");
    let why = report["summary"].as_str().unwrap();
    assert!(
        why.contains("`delegation` in config.yaml") && why.contains("nosuch"),
        "{why}"
    );
}

#[test]
fn a_long_report_is_shortened_and_kept_in_a_file() {
    let long = format!("begin{}\nend", "x".repeat(5_000));
    let answers = || [ScriptedAnswer::text(&long), ScriptedAnswer::text("done")];
    let world = handing_on(answers(), "delegation: {max_summary_chars: 400}");
    world.ask("go").succeeds();
    let short = report(&world);
    let shown = short["summary"].as_str().unwrap();
    assert!(
        shown.starts_with("beginx") && shown.ends_with("x\nend"),
        "{shown}"
    );
    assert!(shown.contains("of 5009 characters left out"), "{shown}");
    assert!(shown.chars().count() < 700, "{shown}");
    assert_eq!(short["summary_truncated"], true);
    let kept = std::fs::read_to_string(short["summary_full_path"].as_str().unwrap()).unwrap();
    assert_eq!(kept.trim_end(), long);
    let world = handing_on(answers(), "delegation: {max_summary_chars: 0}");
    world.ask("go").succeeds();
    assert_eq!(report(&world)["summary"], long);
}

/// A sub-agent that deletes a directory; whether it is gone afterwards.
fn deletes(settings: &str) -> bool {
    let delete = ScriptedAnswer::call("terminal", &json!({"command": "rm -rf ~/heap"}));
    let world = handing_on(
        [
            delete,
            ScriptedAnswer::text("tried"),
            ScriptedAnswer::text("done"),
        ],
        &format!("terminal: {{sandbox: 'off'}}\n{settings}"),
    );
    let heap = world.home.user_home().join("heap");
    std::fs::create_dir(&heap).unwrap();
    world.ask("go").succeeds().prints("done\n");
    !heap.exists()
}

#[test]
fn risky_commands_of_sub_agents_run_only_if_the_settings_say_so() {
    assert!(!deletes("approvals: {mode: manual}"));
    assert!(deletes(
        "approvals: {mode: manual}\ndelegation: {subagent_auto_approve: true}"
    ));
    // What is forbidden stays forbidden.
    assert!(!deletes(
        "approvals: {mode: manual, deny: ['rm *']}\ndelegation: {subagent_auto_approve: true}"
    ));
}

#[test]
fn the_commands_of_the_conversation_itself_still_need_approval() {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("terminal", &json!({"command": "rm -rf ~/heap"})),
            ScriptedAnswer::text("done"),
        ]),
        "terminal: {sandbox: 'off'}\napprovals: {mode: manual}\n\
         delegation: {subagent_auto_approve: true}",
    );
    let heap = world.home.user_home().join("heap");
    std::fs::create_dir(&heap).unwrap();
    world.ask("go").succeeds();
    assert!(heap.exists());
}

#[test]
fn sub_agents_have_sub_agents_only_where_that_is_enabled() {
    let offers = |settings: &str| {
        let first = ScriptedAnswer::call(
            "delegate_task",
            &json!({"goal": "count", "role": "orchestrator"}),
        );
        let world = World::configured(
            ModelServer::start([
                first,
                ScriptedAnswer::text("three"),
                ScriptedAnswer::text("done"),
            ]),
            settings,
        );
        world.ask("go").succeeds();
        world.bodies()[1]["tools"]
            .to_string()
            .contains("delegate_task")
    };
    assert!(offers("delegation: {max_spawn_depth: 2}"));
    assert!(!offers(
        "delegation: {max_spawn_depth: 2, orchestrator_enabled: false}"
    ));
}

#[test]
fn sub_agents_think_as_much_as_the_conversation_unless_told_otherwise() {
    let efforts = |settings: &str| {
        let world = handing_on(
            [ScriptedAnswer::text("three"), ScriptedAnswer::text("done")],
            settings,
        );
        let call = world.hermes(&["chat", "-Q"]).stdin("/reasoning high\ngo\n");
        call.run().succeeds();
        let bodies = world.bodies();
        let efforts = bodies.iter().map(|body| body["reasoning_effort"].clone());
        efforts.collect::<Vec<Value>>()
    };
    assert_eq!(efforts(""), ["high", "high", "high"]);
    assert_eq!(
        efforts("delegation: {reasoning_effort: low}"),
        ["high", "low", "high"]
    );
}
