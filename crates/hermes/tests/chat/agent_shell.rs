//! An agent that calls this program from its shell cannot free itself: not by settings, keys or
//! yolo, nor by answering its own questions. (Issue 12, 11.)

use std::fmt::Write as _;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use serde_json::{Value, json};

use crate::world::World;

/// Approval is off and nothing is confined: what is refused here is refused for its own sake.
const FREE: &str = "approvals: {mode: off}\nterminal: {sandbox: off}\n";

/// An agent that runs one command and ends.
fn running(command: &str, settings: &str) -> World {
    let command = command.to_owned();
    let server = ModelServer::start_with(move |question| {
        let messages = question.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        if last["role"] == "tool" {
            ScriptedAnswer::text("the end")
        } else if last["content"].as_str().unwrap().contains("inner") {
            ScriptedAnswer::call("terminal", &json!({"command": "rm -rf ./heap"}))
        } else {
            ScriptedAnswer::call("terminal", &json!({"command": command}))
        }
    });
    World::configured(server, settings)
}

/// The output of the command.
fn output(world: &World) -> String {
    world.ask("go").succeeds();
    let messages = world.last_messages();
    let content = messages.last().unwrap()["content"].as_str().unwrap();
    let result: Value = serde_json::from_str(content).unwrap();
    result["output"].as_str().unwrap_or(content).to_owned()
}

/// A script that makes each attempt and says how it ended.
fn attempts(attempts: &[&str]) -> String {
    let mut script = String::new();
    for attempt in attempts {
        writeln!(
            script,
            "{attempt} </dev/null >out 2>&1; echo \"$? $(cat out)\""
        )
        .unwrap();
    }
    script
}

#[test]
fn agent_cannot_change_what_it_may_do() {
    let refused = [
        "hermes config set approvals.mode off",
        "hermes config set approvals.noninteractive_mode approve",
        "hermes config set approvals '{mode: off}'",
        "hermes config unset approvals.deny",
        "hermes config unset approvals",
        "hermes config set command_allowlist '[\"*\"]'",
        "hermes config set terminal.sandbox off",
        "hermes config set terminal '{sandbox: off}'",
        "hermes config unset terminal",
        "hermes config set terminal.sandbox_write '[/]'",
        "hermes config set kanban.workspace_roots '[/]'",
        "hermes config set security.redact_secrets false",
        "hermes config set hooks.x y",
        "hermes config set mcp_servers.x.command evil",
        "hermes config set model.base_url http://127.0.0.1:1/",
        "hermes config set HERMES_YOLO_MODE 1",
        "hermes config set OPENAI_API_KEY abc",
        "hermes config unset OPENAI_API_KEY",
        "EDITOR=true hermes config edit",
        "hermes -p default config set approvals.mode off",
        "HERMES_AGENT_SHELL= hermes config set approvals.mode off",
        "env -u HERMES_AGENT_SHELL hermes config set approvals.mode off",
        "env -i HOME=$HOME HERMES_HOME=$HERMES_HOME $(command -v hermes) config set approvals.mode off",
        "(unset HERMES_AGENT_SHELL; exec hermes config set approvals.mode off)",
        "env -i HOME=$HOME setsid -w $(command -v hermes) config set approvals.mode off",
        "hermes auth add openrouter --api-key sk-evil-000000000000",
        "hermes auth remove openrouter 1",
        "hermes auth reset openrouter",
        "hermes auth logout openrouter",
        "hermes logout --provider openrouter",
        "hermes profile create other --clone",
        "hermes profile create other --inherit-keys",
        "hermes profile delete other --yes",
        "hermes profile import /nowhere.tar.gz",
        "hermes profile install /nowhere",
        "hermes profile alias default",
        "hermes backup -o ./everything.zip",
        "hermes import ./everything.zip --force",
        "hermes tools enable web",
        "hermes fallback add openrouter x",
        "hermes kanban create x --sandbox off",
        "hermes sessions export - --no-redact",
        "hermes chat --yolo -q inner",
        "hermes --yolo chat -q inner",
        "hermes --yolo -z inner",
        "HERMES_YOLO_MODE=1 hermes chat -q inner",
        "HERMES_YOLO_MODE=yes hermes -z inner",
    ];
    let world = running("sh ./attempts.sh", FREE);
    let before = world.home.read("config.yaml");
    let script = world.home.user_home().join("attempts.sh");
    std::fs::write(&script, attempts(&refused)).unwrap();
    let output = output(&world);
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.starts_with("hint: "))
        .collect();
    assert_eq!(lines.len(), refused.len(), "{output}");
    for (attempt, line) in refused.iter().zip(lines) {
        assert!(
            line.starts_with("1 ")
                && if attempt.contains("--sandbox off") {
                    line.ends_with("an agent cannot let a worker run commands without the sandbox")
                } else {
                    line.ends_with("is refused in an agent's shell")
                },
            "{attempt}: {line}"
        );
    }
    assert_eq!(world.home.read("config.yaml"), before);
    assert!(!world.home.has(".env") && !world.home.has("profiles/other"));
    assert!(!world.home.user_home().join("everything.zip").exists());
}

#[test]
fn agent_and_person_may_do_what_frees_nobody() {
    let allowed = [
        "hermes config set display.skin mono",
        "hermes config get approvals.mode",
        "hermes config check",
        "hermes auth list",
        "hermes profile create other --no-alias",
        "hermes kanban create x",
        "hermes exec -- true",
    ];
    let world = running("sh ./attempts.sh", FREE);
    let script = world.home.user_home().join("attempts.sh");
    std::fs::write(&script, attempts(&allowed)).unwrap();
    let output = output(&world);
    let succeeded = output
        .lines()
        .filter(|line| *line == "0" || line.starts_with("0 "))
        .count();
    assert_eq!(succeeded, allowed.len(), "{output}");
    // The same program in a person's hand does what it is told.
    world
        .home
        .run(["config", "set", "approvals.mode", "manual"])
        .succeeds();
    let script = world.home.user_home().join("settings.sh");
    std::fs::write(&script, "hermes config set approvals.mode smart\n").unwrap();
    let shell = world.home.run(["exec", "--", "sh ~/settings.sh"]);
    shell.succeeds();
    assert!(world.home.read("config.yaml").contains("mode: smart"));
}

/// A command deletes a directory, for which approval is needed.
fn heap(world: &World) -> std::path::PathBuf {
    let heap = world.home.user_home().join("heap");
    std::fs::create_dir(&heap).unwrap();
    heap
}

#[test]
fn inner_agent_is_not_freer_than_the_settings_were() {
    for command in [
        // Without a person -z runs everything, but not here.
        "hermes -z inner",
        "hermes chat -Q -q inner",
        "printf '/yolo\\ninner\\n' | hermes chat",
    ] {
        let world = running(command, FREE);
        let heap = heap(&world);
        output(&world);
        assert!(heap.exists(), "{command}");
    }
}

#[test]
fn yolo_typed_into_an_inner_conversation_is_refused() {
    let world = running("printf '/yolo\\n' | hermes chat 2>&1", FREE);
    let output = output(&world);
    assert!(
        output.contains("/yolo is refused in an agent's shell"),
        "{output}"
    );
}

#[test]
fn agent_cannot_approve_its_own_commands_at_a_terminal_it_opens() {
    let settings = "approvals: {mode: manual, timeout: 5}\nterminal: {sandbox: off}\n";
    // `script` gives the inner program a terminal, at which the answer is typed.
    let world = running(
        "(sleep 2; printf 'o\\n'; sleep 1) | script -qec 'hermes chat -q inner' /dev/null; true",
        settings,
    );
    let heap = heap(&world);
    let output = output(&world);
    assert!(!output.contains("[d]eny"), "{output}");
    assert!(heap.exists());
}

#[test]
fn scripts_run_sandboxed_without_a_person_and_carry_the_mark() {
    let code = "import os\nprint(os.environ.get('HERMES_AGENT_SHELL'))\n\
                open(os.path.expanduser('~/escaped'), 'w')";
    let call = json!({ "code": code });
    let answers = [
        ScriptedAnswer::call("execute_code", &call),
        ScriptedAnswer::text("the end"),
    ];
    let world = World::with(ModelServer::start(answers));
    let work = world.home.user_home().join("work");
    std::fs::create_dir(&work).unwrap();
    let chat = world.hermes(&["chat", "-Q", "-q", "go"]);
    chat.in_directory(&work).run().succeeds();
    let messages = world.last_messages();
    let content = messages.last().unwrap()["content"].as_str().unwrap();
    let result: Value = serde_json::from_str(content).unwrap();
    assert_eq!(result["sandboxed"], true, "{result}");
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("1\n"), "{result}");
    assert!(output.contains("Read-only file system"), "{result}");
    assert!(!world.home.user_home().join("escaped").exists());
}

#[test]
fn file_tools_do_not_write_hermes_own_files() {
    let world = World::with(ModelServer::start([]));
    let home = &world.home;
    let alias = home.alias_dir().join("other");
    home.run(["profile", "create", "other"]).succeeds();
    let alias_before = std::fs::read(&alias).unwrap();
    let paths = [
        "config.yaml",
        ".env",
        "auth.json",
        "hooks/evil/HOOK.yaml",
        "mem0.json",
        "hindsight/config.json",
        "active_profile",
        "kanban.db",
        "profiles/other/config.yaml",
        "profiles/other/hooks/x",
    ]
    .map(|name| home.path(name));
    for path in paths.iter().chain([&alias]) {
        let before = std::fs::read(path).ok();
        let call = json!({"path": path, "content": "x"}).to_string();
        let outcome = home.run(["tools", "call", "write_file", &call]);
        outcome.exits(1).prints_part("Write denied");
        assert_eq!(std::fs::read(path).ok(), before, "{path:?}");
    }
    assert_eq!(std::fs::read(&alias).unwrap(), alias_before);
    // Nor does a shell, whoever is asked.
    for command in [
        "echo x >> ~/.hermes/config.yaml",
        "echo x > $HERMES_HOME/.env",
    ] {
        let outcome = home.run(["exec", "--", command]);
        outcome.exits(1).says_part("Hermes' own settings");
    }
}

#[test]
fn agent_at_a_terminal_does_not_answer_its_own_questions() {
    let world = running("true", "terminal: {sandbox: off}\n");
    let heap = world.home.user_home().join("heap");
    std::fs::create_dir_all(&heap).unwrap();
    let command = format!("rm -rf {}", heap.display());
    let call = || world.hermes(&["exec", "--", &command]).env("NO_COLOR", "1");
    let mut agent = call().env("HERMES_AGENT_SHELL", "1").start_at_terminal();
    // The answer is there before anything could be asked.
    agent.press("o\r");
    let outcome = agent.wait();
    assert_ne!(outcome.code, Some(0), "{outcome}");
    assert!(!outcome.stdout.contains("[d]eny"), "{outcome}");
    assert!(heap.exists(), "{outcome}");
    // A person is asked.
    let mut person = call().start_at_terminal();
    person.wait_for("[d]eny");
    person.press("o\r");
    person.wait().succeeds();
    assert!(!heap.exists());
}
