//! Which tools a conversation gets.

use std::path::Path;

use hermes_config::{Config, Environment, Sources};
use hermes_tools::{
    BoardAccess, ClarifyTool, DelegateTool, PatchTool, ReadFileTool, SearchFilesTool,
    SessionSearchTool, TodoTool, Tool, ToolReach, ToolRegistry, ToolSelection, WriteFileTool,
    kanban_tools,
};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::board_stage::{BoardStage, worker_facts};

fn resolved(yaml: &str, variables: &[(&str, &str)], flag: Option<&str>) -> ToolSelection {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.yaml"), yaml).unwrap();
    let env = Environment::from_pairs(variables.iter().copied());
    let config = Config::load_read_only(&Sources::new(&env, home.path()));
    ToolSelection::resolve(&config, &env, "cli", flag)
}

fn registry(access: BoardAccess, home: &Path) -> ToolRegistry {
    let registry = ToolRegistry::default()
        .with(ReadFileTool::default())
        .with(WriteFileTool)
        .with(PatchTool)
        .with(SearchFilesTool)
        .with(TodoTool)
        .with(ClarifyTool)
        .with(DelegateTool::default())
        .with(SessionSearchTool {
            home: home.to_owned(),
        });
    kanban_tools(access).fold(registry, ToolRegistry::with)
}

const FILES: [&str; 4] = ["read_file", "write_file", "patch", "search_files"];

#[test]
fn the_list_of_the_platform_decides_then_that_of_the_profile() {
    let names = |yaml: &str| resolved(yaml, &[], None).names;
    assert_eq!(names(""), ["hermes-cli"]);
    assert_eq!(names("toolsets: [file, todo]"), ["file", "todo"]);
    let both = "toolsets: [file]\nplatform_toolsets: {cli: [todo], telegram: [web]}";
    assert_eq!(names(both), ["todo"]);
    assert_eq!(
        names("toolsets: [file]\nplatform_toolsets: {telegram: [web]}"),
        ["file"]
    );
    assert_eq!(names("platform_toolsets: {cli: []}"), [] as [&str; 0]);
    assert_eq!(
        resolved(both, &[], Some("web, file,")).names,
        ["web", "file"]
    );
}

#[test]
fn what_is_switched_off_everywhere_is_off() {
    let selection = resolved(
        "toolsets: [file, todo, search]\nagent: {disabled_toolsets: [todo]}",
        &[],
        None,
    );
    let on: Vec<String> = selection.expanded().into_iter().collect();
    assert_eq!(on, ["file", "search"]);
    assert!(selection.holds(&ReadFileTool::default()) && !selection.holds(&TodoTool));
    // A flag of one run does not bring back what is off for good.
    let flagged = resolved("agent: {disabled_toolsets: [todo]}", &[], Some("all"));
    assert!(flagged.holds(&ClarifyTool) && !flagged.holds(&TodoTool));
}

#[test]
fn an_offer_leaves_out_what_cannot_be_used_and_names_what_does_not_exist() {
    let board = BoardStage::new();
    let access = BoardAccess {
        is_orchestrator: false,
        ..board.access()
    };
    let registry = registry(access, &board.stage.root("hermes"));
    let offered = |yaml: &str, flag: Option<&str>| {
        registry.offer(&resolved(yaml, &[], flag), &board.stage.context)
    };
    let offer = offered("", None);
    let expected: Vec<&str> = FILES
        .into_iter()
        .chain(["todo", "clarify", "session_search"])
        .collect();
    assert_eq!(offer.names(), expected);
    assert!(
        offer
            .unavailable
            .iter()
            .any(|(name, _)| *name == "delegate_task")
    );
    assert!(
        offer
            .unavailable
            .iter()
            .any(|(name, _)| *name == "kanban_show")
    );
    let offer = offered("", Some("file,nosuch"));
    assert_eq!(offer.names(), FILES);
    assert_eq!(offer.unknown, ["nosuch"]);
    assert_eq!(offered("", Some("safe")).names(), [] as [&str; 0]);
}

#[test]
fn a_worker_always_has_its_card() {
    let board = BoardStage::new();
    let worker = BoardAccess {
        caller: worker_facts(&"t_1".into(), None, None),
        is_orchestrator: false,
        ..board.access()
    };
    let registry = registry(worker, &board.stage.root("hermes"));
    let selection = resolved(
        "toolsets: [todo]\nagent: {disabled_toolsets: [kanban]}",
        &[("HERMES_KANBAN_TASK", "t_1")],
        None,
    );
    let names = registry.offer(&selection, &board.stage.context).names();
    assert_eq!(names.first().unwrap(), "todo");
    assert!(
        names.iter().any(|name| name == "kanban_complete"),
        "{names:?}"
    );
    for kept in ["kanban_list", "kanban_unblock"] {
        assert!(!names.iter().any(|name| name == kept), "{names:?}");
    }
}

#[test]
fn schemas_are_plain_and_the_same_every_time() {
    let board = BoardStage::new();
    let registry = registry(board.access(), &board.stage.root("hermes"));
    let selection = resolved("", &[], Some("all"));
    let offer = registry.offer(&selection, &board.stage.context);
    assert_eq!(offer, registry.offer(&selection, &board.stage.context));
    for tool in &offer.tools {
        let schema = tool.schema();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let fields = schema["properties"].as_object().unwrap();
        for (name, field) in fields {
            assert!(field["type"].is_string(), "{}.{name}", tool.name);
            assert!(field["description"].is_string(), "{}.{name}", tool.name);
        }
        assert!(tool.description.len() > 40, "{}", tool.name);
    }
}

/// The chapter on the board names these; `kanban_complete` checks at run time.
#[test]
fn what_board_tools_require_is_what_the_chapter_says() {
    let board = BoardStage::new();
    for tool in kanban_tools(board.access()) {
        let required: &[&str] = match tool.spec().name {
            "kanban_block" => &["reason"],
            "kanban_comment" => &["task_id", "body"],
            "kanban_create" => &["title", "assignee"],
            "kanban_link" => &["parent_id", "child_id"],
            "kanban_unblock" => &["task_id"],
            "kanban_attach" => &["filename", "content_base64"],
            "kanban_attach_url" => &["url"],
            _ => &[],
        };
        let schema = tool.spec().schema();
        let said: Vec<&str> = schema["required"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(said, required, "{}", tool.spec().name);
        assert!(
            schema["properties"]["board"].is_object(),
            "{}",
            tool.spec().name
        );
    }
}

#[test]
fn what_may_run_side_by_side_is_known_of_every_tool() {
    let board = BoardStage::new();
    let registry = registry(board.access(), &board.stage.root("hermes"));
    for tool in registry.iter() {
        let reach = match tool.spec().name {
            "read_file" => ToolReach::ReadsPath,
            "write_file" | "patch" => ToolReach::ChangesPath,
            "search_files" | "session_search" => ToolReach::ReadOnly,
            _ => ToolReach::Anything,
        };
        assert_eq!(tool.spec().reach, reach, "{}", tool.spec().name);
    }
}
