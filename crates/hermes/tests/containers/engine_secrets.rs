//! Values that are handed into containers are seen there and nowhere else.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fake_place::FakePlace;

/// Tokens of a shape that is known, made up.
const PROCESS: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const FILE: &str = "ghp_zyxwvutsrqponmlkjihgZYXWVUTSRQ987654";
const CONFIG: &str = "ghp_cccccccccccccccccccccccccccccccccccc";
const PROVIDER: &str = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz";

fn place() -> FakePlace {
    let place = FakePlace::with(json!({
        "docker_forward_env": ["GITHUB_TOKEN", "ANTHROPIC_API_KEY"],
        "env_passthrough": ["OPENAI_API_KEY", "PLAIN"],
        "docker_env": {"GITHUB_TOKEN": "from-config", "OTHER": "o"},
    }));
    place.home.put(".env", format!("GITHUB_TOKEN={FILE}\n"));
    place
        .env("OPENAI_API_KEY", PROVIDER)
        .env("ANTHROPIC_API_KEY", PROVIDER)
        .env("PLAIN", "plain")
}

/// Nowhere in the arguments of any call, in the log or in what is shown.
#[track_caller]
fn is_nowhere(place: &FakePlace, shown: &str, secret: &str) {
    for call in place.engine.calls() {
        assert!(
            !call.line().contains(secret),
            "in arguments: {}",
            call.line()
        );
    }
    let log = place.log();
    assert!(!log.is_empty());
    assert!(!log.contains(secret), "logged: {log}");
    assert!(!shown.contains(secret), "shown: {shown}");
}

#[test]
fn a_forwarded_value_comes_from_the_process_or_the_file_and_beats_the_settings() {
    // check 29
    let place = place();
    let command = format!(
        "case $GITHUB_TOKEN in {PROCESS}) echo process;; {FILE}) echo file;; *) echo other;; esac"
    );
    for (value, expected) in [
        (Some(PROCESS), "process"),
        (Some(""), "file"),
        (None, "file"),
    ] {
        let run = place.hermes(&["exec", "--", &command]);
        let run = match value {
            Some(value) => run.env("GITHUB_TOKEN", value),
            None => run,
        };
        run.run().succeeds().prints(&format!("{expected}\n"));
    }
    // What the user wrote into the settings is no secret of ours; it is in the arguments.
    let runs = place.engine.calls_of("run");
    assert!(runs[0].line().contains("-e GITHUB_TOKEN=from-config"));
}

#[test]
fn credentials_are_forwarded_only_where_they_are_listed_for_containers() {
    // check 29
    let place = place();
    let command = "echo \"${OPENAI_API_KEY:-none} ${PLAIN:-none} ${#ANTHROPIC_API_KEY}\"";
    let outcome = place.exec(command);
    outcome
        .succeeds()
        .prints(&format!("none plain {}\n", PROVIDER.len()));
}

#[test]
fn a_forwarded_value_is_in_no_argument_no_log_and_no_result() {
    // check 29
    let place = place().env("GITHUB_TOKEN", PROCESS);
    let mut talk = place.talk();
    let mut shown = String::new();
    for command in [
        "echo $GITHUB_TOKEN",
        "env",
        "echo \"$GITHUB_TOKEN\" >&2; exit 3",
        "no_such_program_$GITHUB_TOKEN",
        "cd /nonexistent/$GITHUB_TOKEN",
    ] {
        shown += &talk.run(command).to_string();
    }
    shown += &talk
        .terminal(json!({"command": "echo $GITHUB_TOKEN; sleep 60", "timeout": 1}))
        .to_string();
    assert_eq!(talk.end(), Some(0));
    shown += &talk.hermes.errors().concat();
    assert!(shown.contains("timed out"), "{shown}");
    for secret in [PROCESS, PROVIDER, FILE] {
        is_nowhere(&place, &shown, secret);
    }
}

#[test]
fn an_engine_that_repeats_its_arguments_does_not_give_values_away() {
    let place = place().env("GITHUB_TOKEN", PROCESS);
    place.configure(
        json!({"docker_env": {"MY_TOKEN": CONFIG}, "docker_forward_env": ["GITHUB_TOKEN"]}),
    );
    place
        .engine
        .answer("run", "echo \"docker: bad call: $*\" >&2; exit 125");
    let outcome = place.exec("true");
    outcome
        .exits(1)
        .says_part("bad call")
        .says_part("MY_TOKEN=***");
    let shown = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(!shown.contains(CONFIG), "{shown}");
    assert!(!place.log().contains(CONFIG), "{}", place.log());
    is_nowhere(&place, &shown, PROCESS);
}

#[test]
fn the_engine_has_the_users_home_and_its_own_variables_and_no_secrets() {
    let place = place()
        .env("GITHUB_TOKEN", PROCESS)
        .env("DOCKER_HOST", "unix:///nowhere.sock")
        .env("DOCKER_CONFIG", "/some/config")
        .env("CONTAINER_HOST", "x");
    place.exec("true").succeeds();
    for call in place.engine.calls() {
        let has = |name: &str| call.variables.iter().any(|known| known == name);
        for name in [
            "HOME",
            "PATH",
            "DOCKER_HOST",
            "DOCKER_CONFIG",
            "CONTAINER_HOST",
        ] {
            assert!(has(name), "{name} is not there: {call:?}");
        }
        for name in ["GITHUB_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            assert!(!has(name), "{name} for {}", call.line());
        }
    }
}
