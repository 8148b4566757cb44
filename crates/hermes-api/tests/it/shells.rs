//! What an agent's shells are in a server: confined, and known as an agent's, while the server is
//! not.

use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::World;

/// What a turn's shell prints.
fn printed(command: &str, settings: &str) -> (World, String) {
    let script = format!(
        "turns:\n  - {{match: {{step: 1}}, calls: [{{tool: terminal, arguments: {{command: {}}}}}]}}\n  - {{match: {{step: 2}}, text: done}}",
        json!(command)
    );
    let world = World::with(&script, settings, &[]);
    let body = json!({"input": "go"});
    let reply = world.post("/v1/responses", &body).json();
    let output = reply["output"][1]["output"][0]["text"].as_str();
    let output = output.unwrap_or_else(|| panic!("{reply}")).to_owned();
    (world, output)
}

#[test]
fn shells_carry_a_mark_that_outlives_their_environment_and_the_server_none() {
    let command = "echo mark=$HERMES_AGENT_SHELL; env -i bash -c 'ulimit -x'";
    for sandbox in ["'off'", "auto"] {
        let (_world, output) = printed(command, &format!("terminal: {{sandbox: {sandbox}}}"));
        assert!(output.contains("mark=1"), "{output}");
        let limit = output
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|number| number.parse::<u64>().ok())
            .find(|number| *number > 1 << 32);
        let limit = limit.unwrap_or_else(|| panic!("no limit in {output}"));
        assert_eq!(limit & (1 << 31), 0, "{output}");
    }
    // Whatever else the server starts is nobody's shell.
    let name = std::fs::read_to_string("/proc/self/comm").unwrap();
    assert_ne!(name.trim(), "hermes-agent");
    let own = Command::new("bash")
        .args(["-c", "ulimit -x"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&own.stdout).trim(), "unlimited");
    assert!(!hermes_proc::agent_shell::caller(None).is_agent());
}

#[test]
fn commands_of_turns_are_confined_where_nobody_is_asked() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = outside.path().join("escaped");
    let command = format!("echo x > {}; echo tried", file.display());
    let (world, output) = printed(&command, "");
    assert!(output.contains("tried"), "{output}");
    assert!(
        !file.exists(),
        "a sandboxed command wrote outside of its workspace"
    );
    drop(world);
    let (_world, _) = printed(&command, "terminal: {sandbox: 'off'}");
    assert!(file.exists());
}
