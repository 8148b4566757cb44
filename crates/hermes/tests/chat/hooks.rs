//! Shell hooks: accepted once, told of what happens, able to refuse, add and replace.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// A world with hooks. Each entry is an event, a script and further settings of the hook.
fn hooked(
    answers: impl IntoIterator<Item = ScriptedAnswer>,
    hooks: &[(&str, &str, &str)],
) -> World {
    let world = World::with(ModelServer::start(answers));
    let mut settings = "hooks:\n".to_owned();
    for (index, (event, script, more)) in hooks.iter().enumerate() {
        let file = world.home.user_home().join(format!("hook{index}.sh"));
        std::fs::write(&file, script).unwrap();
        settings.push_str(&format!(
            "  {event}:\n    - command: bash ~/hook{index}.sh\n{more}"
        ));
    }
    world.configure("context_length: 200000", &settings);
    world
}

/// Every event that hooks wrote down, one JSON object a line.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.home.user_home().join("told")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const WRITE_DOWN: &str = "cat >> ~/told; echo >> ~/told";

fn tool_results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_hook_nobody_accepted_is_not_run_and_that_is_said() {
    let world = hooked(
        [ScriptedAnswer::text("one"), ScriptedAnswer::text("two")],
        &[("pre_llm_call", WRITE_DOWN, "")],
    );
    let outcome = world.ask("hi");
    outcome.succeeds().prints("one\n");
    outcome.says_part("nobody has accepted it");
    assert_eq!(told(&world), Vec::<Value>::new());

    let accepted = world.hermes(&["--accept-hooks", "chat", "-Q", "-q", "hi"]);
    accepted.run().succeeds();
    assert_eq!(told(&world).len(), 1);
    let file: Value = serde_json::from_str(&world.home.read("shell-hooks-allowlist.json")).unwrap();
    assert_eq!(file["approvals"][0]["event"], "pre_llm_call");
    assert_eq!(file["approvals"][0]["command"], "bash ~/hook0.sh");
}

#[test]
fn a_call_is_refused_with_the_reason_and_others_are_made() {
    let refuse = r#"read -r event
case $event in *forbidden*) echo '{"decision": "block", "reason": "not this one"}';; esac"#;
    let world = hooked(
        [
            ScriptedAnswer::call("terminal", &json!({"command": "echo forbidden > ran"})),
            ScriptedAnswer::call("terminal", &json!({"command": "echo allowed"})),
            ScriptedAnswer::text("done"),
        ],
        &[("pre_tool_call", refuse, "      matcher: terminal\n")],
    );
    let outcome = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .run();
    outcome.succeeds().prints("done\n");
    let bodies = world.bodies();
    assert_eq!(
        tool_results(&bodies[1]),
        [r#"{"error":"A hook of the user refused this call: not this one"}"#]
    );
    assert!(tool_results(&bodies[2])[1].contains("allowed"));
    assert!(!world.home.user_home().join("ran").exists());
}

#[test]
fn a_script_of_the_agent_does_not_get_around_a_hook() {
    let refuse = "echo 'commands are not allowed today' >&2; exit 2";
    let world = hooked(
        [
            ScriptedAnswer::call(
                "execute_code",
                &json!({"code": "from hermes_tools import terminal\nprint(terminal('echo x > ran'))"}),
            ),
            ScriptedAnswer::text("done"),
        ],
        &[("pre_tool_call", refuse, "      matcher: terminal\n")],
    );
    let args = ["--accept-hooks", "--yolo", "chat", "-Q", "-q", "go"];
    world.hermes(&args).run().succeeds();
    let result = tool_results(&world.bodies()[1]).remove(0);
    assert!(
        result.contains("commands are not allowed today"),
        "{result}"
    );
    assert!(!world.home.user_home().join("ran").exists());
}

#[test]
fn a_hook_that_must_agree_blocks_when_it_cannot() {
    for (script, reason) in [
        ("sleep 60", "it took longer than 1 s"),
        ("exit 9", "it ended with code 9"),
    ] {
        let world = hooked(
            [
                ScriptedAnswer::call("terminal", &json!({"command": "echo x > ran"})),
                ScriptedAnswer::text("done"),
            ],
            &[(
                "pre_tool_call",
                script,
                "      on_error: block\n      timeout: 1\n",
            )],
        );
        world
            .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
            .run()
            .succeeds();
        let result = tool_results(&world.bodies()[1]).remove(0);
        assert!(result.contains(reason), "{result}");
        assert!(!world.home.user_home().join("ran").exists());
    }
}

#[test]
fn a_hook_adds_to_the_message_without_changing_what_is_stored() {
    let world = hooked(
        [ScriptedAnswer::text("fine")],
        &[(
            "pre_llm_call",
            r#"echo '{"context": "Today is Friday."}'"#,
            "",
        )],
    );
    let outcome = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "what day"])
        .run();
    outcome.succeeds();
    let sent = world.last_messages().pop().unwrap();
    assert_eq!(sent["content"], "what day\n\nToday is Friday.");
    let stored = world.stored(&crate::world::session_of(&outcome));
    assert_eq!(stored[0]["content"], "what day");
}

#[test]
fn texts_are_replaced_and_a_secret_in_the_new_text_is_masked() {
    let world = hooked(
        [
            ScriptedAnswer::call("terminal", &json!({"command": "echo raw"})),
            ScriptedAnswer::text("the answer"),
        ],
        &[
            (
                "transform_terminal_output",
                r#"echo '{"output": "changed sk-proj-abcdefghijklmnopqrstuvwxyz123456"}'"#,
                "",
            ),
            ("transform_llm_output", r#"echo '"another answer"'"#, ""),
        ],
    );
    let outcome = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .run();
    outcome.succeeds().prints("another answer\n");
    let result = tool_results(&world.bodies()[1]).remove(0);
    assert!(result.contains("changed sk-"), "{result}");
    assert!(
        !result.contains("raw") && !result.contains("abcdefghij"),
        "{result}"
    );
}

#[test]
fn every_event_of_a_turn_is_told_in_order() {
    let events = [
        "on_session_start",
        "pre_llm_call",
        "pre_api_request",
        "post_api_request",
        "pre_tool_call",
        "post_tool_call",
        "post_llm_call",
        "on_session_end",
        "on_session_finalize",
    ];
    let hooks: Vec<(&str, &str, &str)> = events
        .iter()
        .map(|event| (*event, WRITE_DOWN, ""))
        .collect();
    let world = hooked(
        [
            ScriptedAnswer::call("terminal", &json!({"command": "echo hello"})),
            ScriptedAnswer::text("done"),
        ],
        &hooks,
    );
    let outcome = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .run();
    outcome.succeeds().prints("done\n");
    let told = told(&world);
    let names: Vec<&str> = told
        .iter()
        .map(|event| event["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "on_session_start",
            "pre_llm_call",
            "pre_api_request",
            "post_api_request",
            "pre_tool_call",
            "post_tool_call",
            "pre_api_request",
            "post_api_request",
            "post_llm_call",
            "on_session_end",
            "on_session_finalize",
        ]
    );
    let session = crate::world::session_of(&outcome);
    for event in &told {
        assert_eq!(event["session_id"], session.as_str(), "{event}");
        assert!(event["cwd"].as_str().unwrap().starts_with('/'), "{event}");
    }
    assert_eq!(told[1]["extra"]["user_message"], "go");
    assert_eq!(told[1]["extra"]["platform"], "cli");
    assert_eq!(told[4]["tool_name"], "terminal");
    assert_eq!(told[4]["tool_input"]["command"], "echo hello");
    assert_eq!(told[5]["extra"]["status"], "ok");
    assert!(
        told[5]["extra"]["result"]
            .as_str()
            .unwrap()
            .contains("hello")
    );
    assert_eq!(told[8]["extra"]["assistant_response"], "done");
    assert_eq!(told[9]["extra"]["completed"], true);
}

#[test]
fn hooks_see_no_keys_but_those_they_were_given() {
    let dump = "env > ~/seen-$HOOK_NAME; exit 0";
    let world = hooked(
        [ScriptedAnswer::text("fine")],
        &[(
            "pre_llm_call",
            dump,
            "      env_passthrough: [HOOK_NAME, SERVICE_API_KEY]\n",
        )],
    );
    let call = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .env("OPENAI_API_KEY", "canary-one")
        .env("SERVICE_API_KEY", "canary-two")
        .env("HOOK_NAME", "x")
        .env("VIRTUAL_ENV", "/canary/three");
    call.run().succeeds();
    let seen = std::fs::read_to_string(world.home.user_home().join("seen-x")).unwrap();
    assert!(seen.contains("SERVICE_API_KEY=canary-two"), "{seen}");
    assert!(
        !seen.contains("canary-one") && !seen.contains("/canary/three"),
        "{seen}"
    );
}

#[test]
fn broken_settings_are_named_and_the_conversation_goes_on() {
    let world = World::answering([ScriptedAnswer::text("fine")]);
    world.configure(
        "context_length: 200000",
        "hooks:\n  pre_tool_cal: [{command: x}]\n  post_llm_call: [{command: no-such-program}]",
    );
    let outcome = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .run();
    outcome.succeeds().prints("fine\n");
    outcome.says_part("did you mean 'pre_tool_call'?");
    let log = world.home.read("logs/agent.log");
    assert!(log.contains("no-such-program was not found"), "{log}");
}

#[test]
fn hooks_are_listed_tried_checked_and_revoked() {
    let world = hooked(
        [ScriptedAnswer::text("fine")],
        &[(
            "pre_tool_call",
            r#"read -r event; echo "{\"action\": \"block\", \"message\": \"seen\"}""#,
            "      matcher: write_file\n",
        )],
    );
    let home = &world.home;
    let listed = home.run(["hooks", "list"]);
    listed.succeeds();
    assert!(listed.stdout.contains("bash ~/hook0.sh"), "{listed}");
    let json = home.run(["hooks", "list", "--json"]).json();
    assert_eq!(json["hooks"][0]["accepted"], false);
    // What nobody accepted is not run by a check.
    let checked = home.run(["hooks", "doctor"]);
    checked.exits(1);
    assert!(checked.stdout.contains("it was not accepted"), "{checked}");

    home.run(["hooks", "test", "pre_tool_call"])
        .exits(1)
        .says_part("no hook of pre_tool_call for the tool terminal");
    let tried = home.run(["hooks", "test", "pre_tool_call", "--for-tool", "write_file"]);
    tried.succeeds();
    assert!(
        tried.stdout.contains("the call is refused: seen"),
        "{tried}"
    );
    home.run(["hooks", "test", "no_such_event"]).exits(2);

    world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .run()
        .succeeds();
    let json = home.run(["hooks", "list", "--json"]).json();
    assert_eq!(json["hooks"][0]["accepted"], true);
    home.run(["hooks", "doctor"]).succeeds();
    home.run(["hooks", "revoke", "bash ~/hook0.sh"]).succeeds();
    home.run(["hooks", "revoke", "bash ~/hook0.sh"])
        .exits(1)
        .says_part("was accepted");
    let json = home.run(["hooks", "list", "--json"]).json();
    assert_eq!(json["hooks"][0]["accepted"], false);
}

#[test]
fn a_new_session_and_the_end_of_a_sub_agent_are_told() {
    let world = hooked(
        [
            ScriptedAnswer::call("delegate_task", &json!({"goal": "count to three"})),
            ScriptedAnswer::text("one two three"),
            ScriptedAnswer::text("it counted"),
        ],
        &[
            ("subagent_stop", WRITE_DOWN, ""),
            ("on_session_finalize", WRITE_DOWN, ""),
            ("on_session_reset", WRITE_DOWN, ""),
        ],
    );
    let call = world
        .hermes(&["--accept-hooks", "chat", "-Q"])
        .stdin("let somebody count\n/new\n/quit\n");
    call.run().succeeds();
    let told = told(&world);
    let names: Vec<&str> = told
        .iter()
        .map(|event| event["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            // The session of the sub-agent ends, too.
            "on_session_finalize",
            "subagent_stop",
            "on_session_finalize",
            "on_session_reset",
        ]
    );
    assert_eq!(told[1]["extra"]["child_summary"], "one two three");
    assert_eq!(told[1]["extra"]["child_status"], "completed");
    assert_eq!(told[1]["extra"]["child_session_id"], told[0]["session_id"]);
    assert_eq!(told[1]["session_id"], told[2]["session_id"]);
    assert_ne!(told[2]["session_id"], told[3]["session_id"]);
}

#[test]
fn hooks_of_confined_work_are_confined() {
    let world = hooked(
        [ScriptedAnswer::text("fine")],
        &[("pre_llm_call", "echo x > ~/outside; exit 0", "")],
    );
    let call = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .env("HERMES_TERMINAL_SANDBOX", "on");
    let work = world.home.user_home().join("work");
    std::fs::create_dir(&work).unwrap();
    call.in_directory(&work).run().succeeds();
    assert!(!world.home.user_home().join("outside").exists());
    world.server.questions();
    let outside = world
        .hermes(&["chat", "-Q", "-q", "go"])
        .in_directory(&work);
    outside.run();
    assert!(world.home.user_home().join("outside").exists());
}

#[test]
fn a_long_addition_is_kept_in_a_file_that_the_model_can_read() {
    let hook = "head -c 30000 /dev/zero | tr '\\0' x | sed 's/.*/{\"context\": \"begin&end\"}/'";
    let world = hooked([ScriptedAnswer::text("one")], &[("pre_llm_call", hook, "")]);
    let call = world.hermes(&["--accept-hooks", "chat", "-Q", "-q", "hi"]);
    call.run().succeeds();
    let last = world.last_messages().pop().unwrap();
    let said = last["content"].as_str().unwrap();
    assert!(said.contains("A hook added 30008 characters"), "{said}");
    assert!(
        said.contains("beginxxx") && said.contains("xxxend"),
        "{said}"
    );
    assert!(said.chars().count() < 2_000);
    let path = said.split("all of it is in ").nth(1).unwrap();
    let path = path.split(']').next().unwrap();
    let args = json!({"path": path}).to_string();
    let outcome = world.home.run(["tools", "call", "read_file", &args]);
    assert!(outcome.stdout.contains("beginxxx"), "{outcome}");
}

#[test]
fn a_hook_that_prints_a_gigabyte_is_bounded_and_the_conversation_goes_on() {
    let flood = "exec head -c 1073741824 /dev/zero";
    let world = hooked(
        [
            ScriptedAnswer::call("terminal", &json!({"command": "echo x > ran"})),
            ScriptedAnswer::text("done"),
        ],
        &[("pre_tool_call", flood, "")],
    );
    let run = world
        .hermes(&["--accept-hooks", "chat", "-Q", "-q", "go"])
        .within_megabytes(500)
        .run();
    run.succeeds().prints_part("done");
    assert!(world.home.user_home().join("ran").exists());
}
