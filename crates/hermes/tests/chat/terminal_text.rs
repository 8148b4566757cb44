//! Nothing that others wrote steers the terminal of whoever looks at it, in any command. (Issue 12,
//! 16.)

use hermes_testkit::{ModelServer, ScriptedAnswer};
use serde_json::{Value, json};

use crate::world::World;

/// A title, colours that blink, a cleared screen, the one-byte form of the same, turned writing, a
/// bell and a step back.
const HOSTILE: &str = "evil\u{1b}]0;title\u{7}\u{1b}[5m\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{8}text";

/// Whether a terminal would act on a character instead of showing it.
fn is_order(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}

#[track_caller]
fn is_harmless(call: &str, shown: &str) {
    let order = shown.find(is_order).and_then(|at| shown.get(at..));
    let around = order.map(|rest| rest.chars().take(20).collect::<String>());
    assert_eq!(around, None, "`{call}` shows an order: {shown:?}");
}

/// A home full of hostile text: settings, logs, cards, conversations, profiles, skills, keys.
fn prepared() -> (World, String) {
    let server = ModelServer::start_with(|question| {
        let messages = question.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let asked = last["content"].as_str().unwrap_or_default();
        if asked.contains("fail") {
            let message = json!({"error": {"message": HOSTILE, "type": HOSTILE}});
            ScriptedAnswer::status(400, &message)
        } else if last["role"] == "tool" {
            ScriptedAnswer::text(HOSTILE)
        } else {
            let command = format!("printf '%s' \"$1\" # {HOSTILE}");
            ScriptedAnswer::call("terminal", &json!({"command": command, HOSTILE: HOSTILE}))
        }
    });
    let quoted: String = HOSTILE
        .chars()
        .map(|one| match one {
            '\\' | '"' => format!("\\{one}"),
            ' '..='~' => one.to_string(),
            other => format!("\\u{:04x}", u32::from(other)),
        })
        .collect();
    let quoted = format!("\"{quoted}\"");
    let more = format!(
        "agent: {{system_prompt: {quoted}, max_turns: {quoted}}}\ndisplay: {{skin: {quoted}}}\n\
         {quoted}: {quoted}\ncommand_allowlist: [{quoted}]\n\
         fallback_providers: [{{provider: {quoted}, model: {quoted}}}]\n\
         mcp_servers: {{{quoted}: {{command: {quoted}}}}}\n"
    );
    let world = World::configured(server, &more);
    let home = &world.home;
    home.put(
        "logs/agent.log",
        format!("2026-11-05 13:45:00,000 INFO x: {HOSTILE}\n"),
    );
    home.put("logs/errors.log", format!("{HOSTILE}\n"));
    home.put(".env", format!("SOME_TOKEN=\"{HOSTILE}\"\n"));
    home.put(
        "skills/evil/SKILL.md",
        format!("---\nname: evil\ndescription: {quoted}\n---\n{HOSTILE}\n"),
    );
    home.run(["profile", "create", "other", "--description", HOSTILE])
        .succeeds();
    let card = [
        "kanban",
        "create",
        HOSTILE,
        "--body",
        HOSTILE,
        "--assignee",
        "other",
    ];
    let made = home.run(card);
    let id = made.stdout.split_whitespace().nth(1).unwrap().to_owned();
    home.run(["kanban", "comment", &id, HOSTILE]).succeeds();
    home.put(
        &format!("kanban/logs/{id}.log"),
        format!("{HOSTILE}\n{HOSTILE}\r\nend\n"),
    );
    let asked = home.run(["chat", "-q", HOSTILE]);
    asked.succeeds();
    let sessions = home.run(["sessions", "list", "--json"]).json();
    let session = sessions[0]["id"]
        .as_str()
        .or(sessions["sessions"][0]["id"].as_str());
    let session = session.unwrap().to_owned();
    home.run(["sessions", "rename", &session, HOSTILE]);
    (world, id)
}

/// What a command shows at a terminal.
fn shown(world: &World, args: &[&str]) -> String {
    let call = world
        .hermes(args)
        .env("NO_COLOR", "1")
        .env("TERM", "xterm-256color");
    call.start_at_terminal().wait().stdout
}

#[test]
fn no_command_passes_on_orders_of_others() {
    let (world, id) = prepared();
    let commands: &[&[&str]] = &[
        &["config", "show"],
        &["config", "get", "display.skin"],
        &["config", "get", "display.skin", "--origin"],
        &["config", "get", "agent.system_prompt"],
        &["config", "check"],
        &["config", "set", "display.skin", HOSTILE],
        &["config", "set", HOSTILE, HOSTILE],
        &["config", "get", HOSTILE],
        &["logs"],
        &["logs", "errors"],
        &["logs", "list"],
        &["logs", HOSTILE],
        &["status"],
        &["doctor"],
        &["dump"],
        &["auth", "list"],
        &["auth", "status"],
        &["fallback", "list"],
        &["tools", "list"],
        &["tools"],
        &["profile", "list"],
        &["profile", "show", "other"],
        &["profile", "describe", "other"],
        &["profile", "show", HOSTILE],
        &["sessions", "list"],
        &["sessions", "search", "evil"],
        &["sessions", "stats"],
        &["sessions", "export", "-"],
        &["sessions", "export", "-", "--format", "md"],
        &["sessions", "delete", HOSTILE],
        &["kanban", "list"],
        &["kanban", "show", &id],
        &["kanban", "show", HOSTILE],
        &["kanban", "log", &id],
        &["kanban", "log", &id, "--tail", "100"],
        &["kanban", "context", &id],
        &["kanban", "why", &id],
        &["kanban", "runs", &id],
        &["kanban", "stats"],
        &["kanban", "diagnostics"],
        &["kanban", "assignees"],
        &["kanban", "boards", "list"],
        &["kanban", "create", HOSTILE],
        &["kanban", "comment", &id, HOSTILE],
        &["kanban", "board", "--once"],
        &["chat", "-q", HOSTILE],
        &["chat", "-v", "-q", HOSTILE],
        &["chat", "-Q", "-q", "fail"],
        &["chat", "-v", "-q", "fail"],
        &["-z", HOSTILE],
        &["sandbox", "policy"],
        &["backup", "-o", "/nowhere/\u{1b}[2J/x.zip"],
        &[HOSTILE],
        &["kanban", HOSTILE],
    ];
    for args in commands {
        let shown = shown(&world, args);
        assert!(!shown.is_empty(), "{args:?}");
        // The line that says how far a backup is replaces itself.
        is_harmless(&args.join(" "), &shown.replace("\u{1b}[K", ""));
    }
    // The text itself is still there.
    let answer = shown(&world, &["chat", "-Q", "-q", HOSTILE]);
    assert!(answer.contains("evil\\u{1b}]0;title"), "{answer}");
}

#[test]
fn json_escapes_orders_and_stays_the_same_value() {
    let (world, id) = prepared();
    let commands: &[&[&str]] = &[
        &["config", "show", "--json"],
        &["config", "get", "display.skin", "--json"],
        &["status", "--json"],
        &["doctor", "--json"],
        &["profile", "list", "--json"],
        &["sessions", "list", "--json"],
        &["sessions", "search", "evil", "--json"],
        &["kanban", "show", &id, "--json"],
        &["kanban", "list", "--json"],
        &["tools", "list", "--json"],
        &[
            "tools",
            "call",
            "read_file",
            r#"{"path": "skills/evil/SKILL.md"}"#,
        ],
    ];
    for args in commands {
        is_harmless(&args.join(" "), &shown(&world, args));
        let piped = world.home.run(*args).stdout;
        is_harmless(&args.join(" "), &piped);
        serde_json::from_str::<Value>(&piped)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {piped}"));
    }
    let card = world.home.run(["kanban", "show", &id, "--json"]).json();
    let body = card["task"]["body"].as_str().or(card["body"].as_str());
    assert_eq!(body, Some(HOSTILE));
}

#[test]
fn models_to_choose_from_are_shown_harmless() {
    let (world, _) = prepared();
    let mut running = world
        .hermes(&["model"])
        .env("TERM", "dumb")
        .start_at_terminal();
    running.wait_for("Number");
    running.press("\u{4}");
    is_harmless("model", &running.wait().stdout);
}

/// What the picker itself orders: the cursor away and back, lines up, the rest cleared, bold.
fn without_orders_of_the_picker(shown: &str) -> String {
    let mut rest = shown.to_owned();
    for own in ["?25l", "?25h", "1G", "J", "1m", "0m"] {
        rest = rest.replace(&format!("\u{1b}[{own}"), "");
    }
    for lines in 1..=20 {
        rest = rest.replace(&format!("\u{1b}[{lines}A"), "");
    }
    rest
}

#[test]
fn picker_at_a_full_terminal_shows_hostile_models_harmless() {
    const TURNED: &str = "a-\u{202e}lived\u{2066}\u{200f}";
    let (world, _) = prepared();
    world
        .home
        .run(["config", "set", "model.default", HOSTILE])
        .succeeds();
    let listed = json!({"data": [{"id": HOSTILE}, {"id": TURNED}, {"id": "b-plain"}]});
    let server = ModelServer::always(ScriptedAnswer::text("x"))
        .with("/v1/models", ScriptedAnswer::status(200, &listed))
        .with(
            "/api/v1/models",
            ScriptedAnswer::status(200, &json!({"models": []})),
        );
    let mut running = world
        .hermes(&["model"])
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .env("OLLAMA_HOST", "127.0.0.1:1")
        .env("LM_BASE_URL", server.base_url())
        .start_at_terminal();
    running.wait_for("LM Studio here");
    running.wait_for("Esc goes back");
    running.press("\r");
    running.wait_for("a-\\u{202e}lived\\u{2066}\\u{200f}");
    running.wait_for("b-plain");
    running.wait_for("Esc goes back");
    // The filter is typed text, and shown again.
    running.press("a-\u{9b}\u{202e}");
    running.wait_for("Esc goes back");
    running.press("\u{15}a-\r");
    let outcome = running.wait();
    let shown = &outcome.succeeds().stdout;
    assert!(shown.contains("Model: a-\\u{202e}lived"), "{shown}");
    is_harmless("model", &without_orders_of_the_picker(shown));
    let config = world.home.run(["config", "get", "model.default"]);
    assert_eq!(config.stdout, format!("{TURNED}\n"));
}

#[test]
fn question_before_a_command_shows_it_harmless() {
    let (world, _) = prepared();
    let command = format!("rm -rf ./x # {HOSTILE}");
    let call = world.hermes(&["exec", "--", &command]);
    let mut running = call.env("NO_COLOR", "1").start_at_terminal();
    running.wait_for("[d]eny");
    running.press("d\r");
    is_harmless("exec", &running.wait().stdout);
}

#[test]
fn own_colours_are_the_only_orders_at_a_terminal() {
    let (world, _) = prepared();
    let call = world.hermes(&["doctor"]).env("TERM", "xterm-256color");
    let shown = call.start_at_terminal().wait().stdout;
    assert!(shown.contains("\u{1b}[32m✓\u{1b}[0m"), "{shown}");
    let mut rest = shown;
    for own in ["32", "33", "31", "1;36", "0"] {
        rest = rest.replace(&format!("\u{1b}[{own}m"), "");
    }
    is_harmless("doctor", &rest);
    // What a person runs is theirs, as it is.
    let raw = world.hermes(&["exec", "--", "printf 'a\\342\\200\\256b'"]);
    let shown = raw.start_at_terminal().wait().stdout;
    assert!(shown.contains('\u{202e}'), "{shown}");
    // So is data in a pipe.
    let piped = world.home.run(["config", "get", "display.skin"]);
    assert_eq!(piped.stdout, format!("{HOSTILE}\n"));
}
