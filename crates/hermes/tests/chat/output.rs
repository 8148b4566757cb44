//! What is printed where, and with which code it ends.

use std::path::Path;

use hermes_testkit::{ModelServer, ProgramOutput, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, session_of};

#[test]
fn a_quiet_query_prints_the_answer_and_nothing_else() {
    let world = World::answering([ScriptedAnswer::text("done")]);
    let outcome = world.ask("hi");
    outcome.succeeds().prints("done\n");
    let session = session_of(&outcome);
    let parts: Vec<usize> = session.split('_').map(str::len).collect();
    assert_eq!(parts, [8, 6, 6], "{session}");
    outcome.says(&format!("\nsession_id: {session}\n"));
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0]["stream"], json!(true));
    assert_eq!(bodies[0]["stream_options"]["include_usage"], json!(true));
    assert_eq!(bodies[0]["messages"][0]["role"], json!("system"));
    assert_eq!(
        bodies[0]["messages"][1],
        json!({"role": "user", "content": "hi"})
    );
}

#[test]
fn closed_stdout_still_closes_the_session() {
    for (is_closed, code) in [(true, 0), (false, 3)] {
        let pid = "pid.txt";
        let world = World::with(ModelServer::start([
            ScriptedAnswer::call(
                "terminal",
                &json!({"command": format!("echo $$ > {pid}; exec sleep 600"), "background": true}),
            ),
            ScriptedAnswer::call(
                "terminal",
                &json!({"command": format!("until [ -s {pid} ]; do sleep 0.05; done")}),
            ),
            ScriptedAnswer::text("done"),
        ]));
        let work = world.home.outside("work");
        std::fs::create_dir(&work).unwrap();
        let run = world
            .hermes(&["chat", "-Q", "--yolo", "-q", "hi"])
            .in_directory(&work);
        let outcome = if is_closed {
            run.run_into_closed_pipe()
        } else {
            run.run_into(Path::new("/dev/full"))
        };
        outcome.exits(code);
        let pid = std::fs::read_to_string(work.join(pid)).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        assert!(
            !process.exists(),
            "the background process goes on: {outcome}"
        );
        let listed = world.home.run(["sessions", "export", "-"]).json();
        assert_eq!(listed["end_reason"], json!("agent_close"), "{listed}");
    }
}

#[test]
fn query_prints_only_its_answer_and_shows_the_rest_beside_it() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "echo one"})),
        ScriptedAnswer::text("two"),
    ]);
    let outcome = world.hermes(&["chat", "-q", "go"]).run();
    outcome
        .succeeds()
        .prints("two\n")
        .says_part("Query: go\n")
        .says_part("echo one")
        .says_part("hermes --resume ");
}

/// The events of a run, in order.
fn events(outcome: &ProgramOutput) -> Vec<Value> {
    let lines = outcome.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn json_query_prints_events() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "echo one"})),
        ScriptedAnswer::text("two"),
    ]);
    let outcome = world.hermes(&["chat", "-q", "go", "--json"]).run();
    outcome.succeeds().says("");
    let events = events(&outcome);
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let mut order = types.clone();
    order.dedup();
    assert_eq!(
        order,
        ["session", "tool_call", "tool_result", "text", "result"]
    );
    let keys = |event: &Value| -> Vec<String> {
        let fields = event.as_object().unwrap();
        fields.keys().cloned().collect()
    };
    let session = events[0]["session_id"].as_str().unwrap();
    assert_eq!(
        events[0],
        json!({"type": "session", "session_id": session, "model": "test-model",
            "provider": "custom", "resumed": false})
    );
    assert_eq!(
        events[1],
        json!({"type": "tool_call", "tool": "terminal", "arguments": {"command": "echo one"}})
    );
    assert_eq!(keys(&events[2]), ["type", "tool", "result", "seconds"]);
    assert_eq!(events[2]["result"]["output"], json!("one"));
    assert!(events[2]["seconds"].is_f64());
    let text: String = events
        .iter()
        .filter(|event| event["type"] == "text")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "two");
    let last = events.last().unwrap();
    assert_eq!(
        keys(last),
        [
            "type",
            "outcome",
            "answer",
            "session_id",
            "model",
            "provider",
            "turn_exit_reason",
            "api_calls",
            "usage",
            "estimated_cost_usd",
            "cost_status",
            "unwritten_files",
        ]
    );
    assert_eq!(last["outcome"], json!("completed"));
    assert_eq!(last["answer"], json!("two"));
    assert_eq!(last["session_id"], json!(session));
    assert_eq!(last["api_calls"], json!(2));
    assert!(last["usage"]["total_tokens"].is_u64());
    // Another turn of the same conversation.
    let resumed = world
        .hermes(&["chat", "-q", "again", "--json", "-r", session])
        .run();
    resumed.exits(1);
    let events = self::events(&resumed);
    assert_eq!(events[0]["resumed"], json!(true));
}

#[test]
fn json_query_tells_retries_and_failures() {
    let world = World::with(ModelServer::start([
        ScriptedAnswer::status(500, &json!({"error": {"message": "boom"}})),
        ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}})),
    ]));
    let outcome = world.hermes(&["chat", "-q", "go", "--json"]).run();
    outcome.exits(1).says("");
    let events = events(&outcome);
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["session", "retry", "result"]);
    assert!(events[1]["seconds"].as_f64().unwrap() > 0.0);
    assert!(events[1]["reason"].as_str().unwrap().contains("boom"));
    assert_eq!(events[2]["outcome"], json!("failed"));
    assert_eq!(events[2]["answer"], Value::Null);
    assert_eq!(events[2]["failure"]["reason"], json!("auth"));
    assert!(events[2]["failure"]["hint"].is_string());
    world.hermes(&["chat", "--json"]).run().exits(2).prints("");
}

#[test]
fn retries_are_told_on_standard_error() {
    for args in [
        &["chat", "-q", "go"][..],
        &["chat", "-Q", "-q", "go"],
        &["-z", "go"],
    ] {
        let world = World::with(ModelServer::start([
            ScriptedAnswer::status(500, &json!({"error": {"message": "boom"}})),
            ScriptedAnswer::text("done"),
        ]));
        let outcome = world.hermes(args).run();
        outcome
            .succeeds()
            .prints("done\n")
            .says_part("Retrying in ")
            .says_part("custom failed (HTTP 500): boom");
    }
}

#[test]
fn forbidden_request_is_not_called_a_rejected_key() {
    let forbidden = json!({"error": {"message": "This model is not available in your region"}});
    let world = World::answering([ScriptedAnswer::status(403, &forbidden)]);
    let outcome = world.ask("hi");
    outcome.exits(1).says_part(
        "Error: custom does not allow this request (HTTP 403): This model is not available in your \
         region\nhint: the account at custom may have no access to `test-model`",
    );
    assert!(!outcome.stderr.contains("key"), "{outcome}");
}

#[test]
fn unreachable_address_is_named() {
    let world = World::answering([]);
    // Nobody listens on a port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    world.home.put(
        "config.yaml",
        format!(
            "model:\n  default: m\n  provider: custom\n  base_url: http://user:hunter2@127.0.0.1:{port}/v1?key=x\n\
             agent: {{api_max_retries: 1}}\n"
        ),
    );
    let outcome = world.ask("hi");
    outcome
        .exits(1)
        .says_part(&format!(
            "custom could not be reached at http://127.0.0.1:{port}: "
        ))
        .says_part(&format!(
            "hint: check that http://127.0.0.1:{port} is the address"
        ));
    assert!(!outcome.stderr.contains("hunter2"), "{outcome}");
}

#[test]
fn script_reads_what_is_piped_in_behind_its_prompt() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    let run = |input: &str| {
        let outcome = world.hermes(&["-z", "Explain:"]).stdin(input).run();
        outcome.succeeds().prints("done\n").says("");
        world.last_messages()[1]["content"].clone()
    };
    assert_eq!(run("\n  one\ntwo\n\n"), json!("Explain:\n\n  one\ntwo"));
    assert_eq!(run(""), json!("Explain:"));
    let outcome = world.hermes(&["-z", "x"]).stdin("y".repeat(5 << 20)).run();
    outcome
        .exits(1)
        .prints("")
        .says_part("standard input has more than 4 MiB");
}

#[test]
fn failed_script_prints_one_line_and_writes_its_usage_report() {
    let refused = ScriptedAnswer::status(401, &json!({"error": {"message": "bad key"}}));
    let world = World::answering([refused]);
    let report = world.home.outside("usage.json");
    let outcome = world
        .hermes(&["-z", "hi", "--usage-file", report.to_str().unwrap()])
        .run();
    outcome.exits(1).prints("");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    assert_eq!(world.bodies().len(), 1);
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["failed"], json!(true));
    assert_eq!(report["completed"], json!(false));
    for counter in [
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "total_tokens",
        "api_calls",
    ] {
        assert!(report[counter].is_u64(), "{counter}: {report}");
    }
    assert!(report["failure"].is_string());
}

#[test]
fn a_script_prints_its_answer_and_stores_its_session() {
    let world = World::answering([ScriptedAnswer::text("done")]);
    let report = world.home.outside("usage.json");
    let outcome = world
        .hermes(&["-z", "hi", "--usage-file", report.to_str().unwrap()])
        .run();
    outcome.succeeds().prints("done\n").says("");
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["completed"], json!(true));
    assert_eq!(report["turn_exit_reason"], json!("text_response(stop)"));
    let session = report["session_id"].as_str().unwrap();
    assert_eq!(world.stored(session).len(), 2);
}

#[test]
fn wrong_command_line_sends_no_request() {
    let world = World::answering([]);
    for args in [
        &["-z", "hi", "--provider", "x"][..],
        &["chat", "-Q", "-q", "hi", "--toolsets", "nosuch"],
        &["chat", "--no-such-flag"],
        &["chat", "-q", ""],
        &["-z", " "],
        &["chat", "-q", "hi", "--max-turns", "0"],
        &["-m", "x", "profile", "list"],
    ] {
        let outcome = world.hermes(args).run();
        outcome.exits(2).prints("");
    }
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn unknown_toolset_beside_a_known_one_is_left_out_with_a_notice() {
    let world = World::answering([ScriptedAnswer::text("done")]);
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "hi", "-t", "file,nosuch"])
        .run();
    outcome.succeeds().prints("done\n").says_part("nosuch");
    let tools: Vec<Value> = world.bodies()[0]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"read_file") && !names.contains(&"terminal"),
        "{names:?}"
    );
}

#[test]
fn missing_provider_gives_guidance_and_no_request() {
    let world = World::answering([]);
    world.home.put("config.yaml", "");
    let outcome = world.ask("hi");
    outcome.exits(1).prints("").says_part("hint: ");
    let unknown = world
        .hermes(&["chat", "-Q", "-q", "hi", "--provider", "nosuch"])
        .run();
    unknown.exits(1).prints("").says_part("nosuch");
}

#[test]
fn lines_of_a_pipe_are_turns() {
    let world = World::answering([ScriptedAnswer::text("one"), ScriptedAnswer::text("two")]);
    let outcome = world
        .hermes(&["chat", "-Q"])
        .stdin("first\n\nsecond\n")
        .run();
    outcome.succeeds().prints("one\ntwo\n");
    let messages = world.last_messages();
    let texts: Vec<&str> = messages[1..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["first", "one", "second"]);
}

#[test]
fn no_command_starts_a_conversation() {
    let world = World::answering([ScriptedAnswer::text("one")]);
    let outcome = world.home.hermes::<_, &str>([]).stdin("first\n").run();
    outcome.succeeds().prints_part("one");
}

#[test]
fn failed_query_exits_1_and_75_in_a_worker_at_its_quota() {
    let wall =
        || ScriptedAnswer::status(402, &json!({"error": {"message": "insufficient credits"}}));
    let world = World::with(ModelServer::always(wall()));
    world.ask("hi").exits(1).prints("").says_part("Error: ");
    let worker = world
        .hermes(&["chat", "-Q", "-q", "hi"])
        .env("HERMES_KANBAN_TASK", "t_0000000a")
        .run();
    worker.exits(75).prints("");
}
