//! `hermes tools list|enable|disable`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::Desk;

fn is_on(desk: &Desk, platform: &str, tool: &str) -> bool {
    let args = ["tools", "list", "--json", "--platform", platform];
    let tools = desk.home.run(args).succeeds().json();
    let mut tools = tools.as_array().unwrap().iter();
    let found = tools.find(|one| one["name"] == tool);
    found.unwrap_or_else(|| panic!("no {tool}"))["enabled"] == Value::Bool(true)
}

#[test]
fn toolsets_are_switched_for_one_platform() {
    let desk = Desk::new();
    desk.home
        .put("config.yaml", "# mine\nagent:\n  max_turns: 7 # few\n");
    assert!(is_on(&desk, "cli", "todo"));
    let off = desk.home.run(["tools", "disable", "todo", "file_tools"]);
    off.succeeds()
        .prints("Switched off for cli: file, todo. Takes effect in new conversations.\n");
    assert!(!is_on(&desk, "cli", "todo") && !is_on(&desk, "cli", "patch"));
    assert!(is_on(&desk, "cli", "terminal") && is_on(&desk, "telegram", "todo"));
    let text = desk.home.read("config.yaml");
    assert!(
        text.starts_with("# mine\nagent:\n  max_turns: 7 # few\n"),
        "{text}"
    );
    assert!(
        !text.contains("hermes-cli") && text.contains("terminal"),
        "{text}"
    );
    let again = desk.home.run(["tools", "disable", "todo"]);
    again.succeeds().prints("Already off for cli.\n");
    desk.home.run(["tools", "enable", "todo"]).succeeds();
    assert!(is_on(&desk, "cli", "todo") && !is_on(&desk, "cli", "patch"));
    let args = ["tools", "disable", "todo", "--platform", "telegram"];
    desk.home.run(args).succeeds();
    assert!(is_on(&desk, "cli", "todo") && !is_on(&desk, "telegram", "todo"));
}

#[test]
fn unknown_toolset_names_change_nothing() {
    let desk = Desk::new();
    desk.home.put("config.yaml", "toolsets: [file]\n");
    let refused = desk.home.run(["tools", "enable", "todo", "webb"]);
    refused.refuses(
        1,
        "there is no toolset 'webb' that can be switched on or off",
    );
    let refused = desk
        .home
        .run(["tools", "enable", "todo", "--platform", "a.b"]);
    refused.exits(2);
    desk.home.run(["tools", "enable"]).exits(2);
    assert_eq!(desk.home.read("config.yaml"), "toolsets: [file]\n");
}

#[test]
fn toolset_disabled_everywhere_gives_a_warning() {
    let desk = Desk::new();
    desk.home.put(
        "config.yaml",
        "toolsets: [file]\nagent: {disabled_toolsets: [todo]}\n",
    );
    let on = desk.home.run(["tools", "enable", "todo"]);
    on.succeeds()
        .says_part("agent.disabled_toolsets keeps todo off everywhere");
    assert!(!is_on(&desk, "cli", "todo"));
}

#[test]
fn toolset_names_of_other_programs_are_kept() {
    let desk = Desk::new();
    desk.home.put(
        "config.yaml",
        "platform_toolsets: {cli: [hermes-cli, mcp-github]}\n",
    );
    desk.home.run(["tools", "disable", "todo"]).succeeds();
    let text = desk.home.read("config.yaml");
    assert!(
        text.contains("mcp-github") && !text.contains("todo"),
        "{text}"
    );
}

#[test]
fn a_worker_has_its_board_whatever_the_profile_says() {
    let desk = Desk::new();
    desk.home.put("config.yaml", "toolsets: [file]\n");
    let tools = |worker: bool| {
        let mut run = desk.home.hermes(["tools", "list", "--json"]);
        if worker {
            run = run.env("HERMES_KANBAN_TASK", "t_1");
        }
        let tools = run.run().succeeds().json();
        let offered = |tool: &&Value| tool["enabled"] == true && tool["available"] == true;
        let names = tools.as_array().unwrap().iter().filter(offered);
        let names = names.filter_map(|tool| tool["name"].as_str());
        names
            .filter(|name| name.starts_with("kanban_"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(tools(false), [] as [&str; 0]);
    let offered = tools(true);
    assert!(offered.contains(&"kanban_complete".to_owned()));
    assert!(!offered.contains(&"kanban_list".to_owned()));
}

#[test]
fn a_plain_chat_gets_no_board_by_switching_something_else_off() {
    let desk = Desk::new();
    let offered = || {
        let tools = desk.home.run(["tools", "list", "--json"]).succeeds().json();
        let tools = tools.as_array().unwrap().iter();
        let offered = tools.filter(|one| one["enabled"] == true && one["available"] == true);
        let names = offered.filter_map(|one| one["name"].as_str().map(str::to_owned));
        names.filter(|name| name.starts_with("kanban_")).count()
    };
    assert_eq!(offered(), 0);
    desk.home.run(["tools", "disable", "web"]).succeeds();
    assert_eq!(offered(), 0);
    desk.home
        .put("config.yaml", "toolsets: [hermes-cli, kanban]\n");
    assert_eq!(offered(), 12);
}
