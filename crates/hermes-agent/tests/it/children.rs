//! Sub-agents: their own session, fewer tools, and an end when their parent is stopped.

use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{ChildLimits, SubAgentRunner};
use hermes_session::{NewSession, SessionStore};
use hermes_tools::{CallContext, ChildJob, ChildRunner, ChildStatus, DelegateTool, Tool, ToolSpec};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scene::Scene;

fn children(scene: &Scene, timeout: Option<Duration>) -> SubAgentRunner {
    let mut store = SessionStore::open(scene.directory.path()).unwrap();
    let parent = store
        .create_session(&NewSession {
            source: "cli".to_owned(),
            ..NewSession::default()
        })
        .unwrap();
    SubAgentRunner {
        provider: Arc::clone(&scene.provider),
        home: scene.path(),
        parent,
        source: "cli".to_owned(),
        settings: scene.settings.clone(),
        limits: ChildLimits {
            max_iterations: 5,
            timeout,
            depth: 1,
            effort: None,
            keeps_mcp: true,
        },
        auxiliary: None,
        child_context: Arc::new(|parent, key| hermes_tools::CallContext {
            session_key: key.to_owned(),
            ..parent.clone()
        }),
    }
}

fn job(goal: &str) -> ChildJob {
    ChildJob {
        goal: goal.to_owned(),
        context: Some("the file is `a`".to_owned()),
        ..ChildJob::default()
    }
}

#[test]
fn a_sub_agent_works_in_a_session_of_its_own() {
    let script = "turns:\n  - calls:\n      - {tool: write_file, arguments: {path: made, content: x}}\n  \
        - calls:\n      - {tool: delegate_task, arguments: {goal: deeper}}\n  - text: made it\n";
    let scene = Scene::playing(script, |registry| registry.with(DelegateTool::default()));
    let runner = children(&scene, None);
    let result = runner.run_child(&job("make it"), &scene.context("parent"));
    assert_eq!(result.status, ChildStatus::Completed, "{result:?}");
    assert_eq!(result.summary, "made it");
    assert_eq!(result.api_calls, 3);
    assert!(scene.path().join("made").exists());
    // The second call named a tool that sub-agents do not have.
    assert_eq!(result.tool_trace[1]["status"], "error");
    let store = SessionStore::open(scene.directory.path()).unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.total_sessions, 2);
}

/// A tool that ends the card of a worker.
struct Ender;

impl Tool for Ender {
    fn spec(&self) -> ToolSpec<'_> {
        const {
            ToolSpec {
                name: "kanban_complete",
                toolset: "kanban",
                description: "Ends the card.",
                arguments: &[],
                ..ToolSpec::DEFAULT
            }
        }
    }

    fn call(&self, _: &Value, _: &CallContext) -> Value {
        json!({"ok": true})
    }
}

#[test]
fn a_sub_agent_does_not_end_the_card_of_its_worker() {
    let script =
        "turns:\n  - calls:\n      - {tool: kanban_complete, arguments: {}}\n  - text: no\n";
    let scene = Scene::playing(script, |registry| registry.with(Ender));
    let runner = children(&scene, None);
    let result = runner.run_child(&job("end it"), &scene.context("parent"));
    assert_eq!(result.tool_trace[0]["status"], "error", "{result:?}");
}

#[test]
fn a_sub_agent_that_takes_too_long_or_whose_parent_is_stopped_ends() {
    let script = "turns:\n  - text: late\n    delay: 60\n    match: {}\n    times: 9\n";
    let scene = Scene::playing(script, |registry| registry);
    let runner = children(&scene, Some(Duration::from_millis(100)));
    let result = runner.run_child(&job("hang"), &scene.context("parent"));
    assert_eq!(result.status, ChildStatus::TimedOut);
    let runner = children(&scene, None);
    let context = scene.context("parent");
    context.interrupt.raise();
    let result = runner.run_child(&job("hang"), &context);
    assert_eq!(result.status, ChildStatus::Interrupted);
}

/// A tool of an MCP server.
struct OfServer;

impl Tool for OfServer {
    fn spec(&self) -> ToolSpec<'_> {
        ToolSpec {
            name: "mcp_notes_add",
            toolset: "mcp-notes",
            description: "Adds a note.",
            arguments: &[],
            ..ToolSpec::DEFAULT
        }
    }

    fn call(&self, _: &Value, _: &CallContext) -> Value {
        json!({"ok": true})
    }
}

#[test]
fn tools_of_servers_stay_with_a_sub_agent_that_gets_fewer_unless_the_settings_say_otherwise() {
    let script =
        "turns:\n  - calls:\n      - {tool: mcp_notes_add, arguments: {}}\n  - text: done\n";
    for keeps_mcp in [true, false] {
        let scene = Scene::playing(script, |registry| registry.with(OfServer));
        let mut runner = children(&scene, None);
        runner.limits.keeps_mcp = keeps_mcp;
        let job = ChildJob {
            toolsets: vec!["file".to_owned()],
            ..job("note it")
        };
        let result = runner.run_child(&job, &scene.context("parent"));
        let expected = if keeps_mcp { "ok" } else { "error" };
        assert_eq!(result.tool_trace[0]["status"], expected, "{result:?}");
    }
}
