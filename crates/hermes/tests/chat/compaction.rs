//! Conversations that grow too long.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, assert_paired, is_summary_request, session_of};

/// Tokens as the program estimates them.
fn tokens(body: &Value) -> usize {
    body.to_string().chars().count() / 4
}

/// Twelve calls of 50 KB each, each with a word of its own; summaries as the function says.
pub(crate) fn working(summary: impl Fn() -> ScriptedAnswer + Send + 'static) -> ModelServer {
    calling(12, 49_000, summary)
}

/// As many calls, with as many bytes each.
fn calling(
    calls: usize,
    bytes: usize,
    summary: impl Fn() -> ScriptedAnswer + Send + 'static,
) -> ModelServer {
    let mut count = 0;
    ModelServer::start_with(move |request| {
        if is_summary_request(request) {
            return summary();
        }
        count += 1;
        if count > calls {
            return ScriptedAnswer::text("done").usage(&json!({}));
        }
        let command = format!("echo needle{count}; head -c {bytes} /dev/zero | tr '\\0' 'x'");
        ScriptedAnswer::call("terminal", &json!({"command": command})).usage(&json!({}))
    })
}

#[test]
fn long_conversation_is_compacted_without_loss() {
    let world = World::with(working(|| ScriptedAnswer::text("## Goal\nsummed up")));
    world.configure("context_length: 64000", "");
    let outcome = world.ask("do the long work");
    outcome.succeeds().prints("done\n");
    outcome.says_part("The conversation was compacted");
    let session = session_of(&outcome);
    let questions = world.server.questions();
    let summaries = questions.iter().filter(|q| is_summary_request(q)).count();
    assert!(summaries >= 1);
    for question in questions.iter().filter(|q| !is_summary_request(q)) {
        assert!(
            tokens(&question.body) < 64_000,
            "{}",
            tokens(&question.body)
        );
        assert_paired(&question.body);
        assert!(question.body.to_string().contains("do the long work"));
    }
    let last = questions.last().unwrap().body.to_string();
    assert!(
        last.contains("[CONTEXT COMPACTION"),
        "no summary in the last request"
    );
    // Every result is in the export, and found by search, under the same session.
    let stored = world.stored(&session);
    let text = Value::Array(stored).to_string();
    for number in 1..=12 {
        let word = format!("needle{number}");
        assert!(text.contains(&word), "{word} is lost");
    }
    let found = world.home.run([
        "tools",
        "call",
        "session_search",
        &json!({"query": "needle3"}).to_string(),
    ]);
    found.prints_part(&session);
    let goes_on = world
        .hermes(&["chat", "-Q", "-q", "more", "-r", &session])
        .run();
    goes_on.succeeds();
    assert_eq!(session_of(&goes_on), session);
}

#[test]
fn failed_summary_loses_nothing_and_warns_once() {
    let refused = || ScriptedAnswer::status(403, &json!({"error": {"message": "no summaries"}}));
    let world = World::with(working(refused));
    world.configure("context_length: 64000", "");
    let outcome = world.ask("do the long work");
    let warnings = outcome.stderr.matches("No summary could be made").count();
    assert_eq!(warnings, 1, "{outcome}");
    let session = session_of(&outcome);
    let text = Value::Array(world.stored(&session)).to_string();
    for number in 1..=12 {
        assert!(
            text.contains(&format!("needle{number}")),
            "{number} is lost"
        );
    }
    outcome.succeeds().prints("done\n");
}

#[test]
fn context_window_stated_by_the_provider_is_adopted() {
    let mut refused = false;
    let world = World::with(ModelServer::start_with(move |request| {
        if is_summary_request(request) {
            return ScriptedAnswer::text("summed up");
        }
        let length = request.body["messages"].as_array().unwrap().len();
        if length >= 14 && !refused {
            refused = true;
            return ScriptedAnswer::status(
                400,
                &json!({"error": {"message":
                    "This model's maximum context length is 32768 tokens, however you requested \
                     40000 tokens", "code": "context_length_exceeded"}}),
            );
        }
        if refused {
            return ScriptedAnswer::text("done");
        }
        ScriptedAnswer::call("terminal", &json!({"command": format!("echo {length}")}))
    }));
    let outcome = world.ask("go");
    outcome.succeeds().prints("done\n").says_part("32768");
    assert_paired(&world.bodies().pop().unwrap());
    let cache = world.home.read("context_length_cache.yaml");
    assert!(cache.contains("32768"), "{cache}");
    // Where settings state no other window, the next start knows this one, and works.
    world.configure("max_tokens: 1000", "");
    world.ask("again").succeeds().prints("done\n");
}

#[test]
fn unstated_context_window_is_unchanged() {
    let mut refused = false;
    let world = World::with(ModelServer::start_with(move |request| {
        if is_summary_request(request) {
            return ScriptedAnswer::text("summed up");
        }
        let length = request.body["messages"].as_array().unwrap().len();
        if length >= 14 && !refused {
            refused = true;
            let message = "Your input exceeds the context window of this model";
            return ScriptedAnswer::status(400, &json!({"error": {"message": message}}));
        }
        if refused {
            return ScriptedAnswer::text("done");
        }
        ScriptedAnswer::call("terminal", &json!({"command": format!("echo {length}")}))
    }));
    world.configure("context_length: 1000000", "");
    world.ask("go").succeeds().prints("done\n");
    assert!(!world.home.has("context_length_cache.yaml"));
    assert_paired(&world.bodies().pop().unwrap());
}

/// Short turns at first; then whether the next one is preceded by a summary.
fn is_compacted_after(turns: usize, settings: &str) -> bool {
    let server = ModelServer::start_with(|request| {
        if is_summary_request(request) {
            ScriptedAnswer::text("## Goal\nsummed up")
        } else {
            ScriptedAnswer::text("ok")
        }
    });
    let world = World::configured(server, settings);
    let lines = "one more turn\n".repeat(turns);
    let call = world.hermes(&["chat", "-Q"]).stdin(lines);
    call.run().succeeds();
    world.server.questions().iter().any(is_summary_request)
}

#[test]
fn conversation_of_many_messages_is_compacted_however_short() {
    assert!(!is_compacted_after(9, ""));
    assert!(is_compacted_after(
        9,
        "compression: {hygiene_hard_message_limit: 16}"
    ));
}

#[test]
fn protected_messages_at_the_end_stay_word_for_word() {
    let kept = |protect: usize| {
        let world = World::with(calling(14, 20_000, || {
            ScriptedAnswer::text("## Goal\nsummed up")
        }));
        world.configure(
            "context_length: 64000",
            &format!("compression: {{target_ratio: 0.05, protect_last_n: {protect}}}"),
        );
        world.ask("do the long work").succeeds();
        let questions = world.server.questions();
        let at = questions.iter().position(is_summary_request).unwrap();
        let after = &questions[at + 1].body["messages"];
        let results = after.as_array().unwrap().iter();
        let results = results.filter(|message| message["role"] == "tool");
        results
            .filter(|message| message["content"].as_str().unwrap().len() > 15_000)
            .count()
    };
    assert_eq!((kept(0), kept(8), kept(20)), (2, 4, 5));
}

#[test]
fn larger_share_of_the_window_at_the_codex_service_is_told_once() {
    let ask = |world: &World, model: &str| {
        let args = [
            "chat",
            "-Q",
            "-q",
            "hi",
            "-m",
            model,
            "--provider",
            "openai-codex",
        ];
        let call = world.hermes(&args);
        let call = call.env("HERMES_CODEX_BASE_URL", world.server.base_url());
        let outcome = call.run();
        outcome.succeeds();
        outcome
            .stderr
            .contains("shortened at 85 % of it instead of 50 %")
    };
    let open = |settings: &str| {
        World::configured(ModelServer::always(ScriptedAnswer::text("ok")), settings)
    };
    let world = open("");
    assert!(!ask(&world, "gpt-5.2"));
    assert!(ask(&world, "gpt-5.5"));
    assert!(!ask(&world, "gpt-5.5"));
    assert_eq!(
        world.home.read(".codex_gpt55_autoraise_notice"),
        "gpt-5.5:50:85"
    );
    for quiet in ["codex_gpt55_autoraise_notice", "codex_gpt55_autoraise"] {
        let world = open(&format!("compression: {{{quiet}: false}}"));
        assert!(!ask(&world, "gpt-5.5"), "{quiet}");
    }
}
