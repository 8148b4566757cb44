//! Tools that are found instead of listed.

use std::sync::{Arc, Mutex};

use hermes_agent::{Agent, TurnEvent, TurnInput, tool_schemas};
use hermes_session::{NewSession, SessionId};
use hermes_tools::{
    ArgKind, Argument, CallContext, SearchMode, Tool, ToolRegistry, ToolSearchSettings,
    ToolSelection, ToolSpec, with_tool_search,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::scene::{Fake, Scene, calling, say, words};

/// A tool that a server has brought.
struct Foreign {
    name: String,
    description: &'static str,
}

impl Tool for Foreign {
    fn spec(&self) -> ToolSpec<'_> {
        ToolSpec {
            name: &self.name,
            toolset: "mcp-tracker",
            description: self.description,
            arguments: const { &[Argument::optional("title", ArgKind::Text, "Its title.")] },
            is_deferrable: true,
            ..ToolSpec::DEFAULT
        }
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        json!({"called": self.name, "title": args["title"]})
    }
}

fn with_tracker(registry: ToolRegistry) -> ToolRegistry {
    [
        ("create_issue", "Opens an issue in the tracker."),
        ("close_issue", "Closes an issue."),
        ("list_labels", "Shows all labels."),
    ]
    .into_iter()
    .fold(
        with_tool_search(registry),
        |registry, (name, description)| {
            let name = format!("mcp__tracker__{name}");
            registry.with(Foreign { name, description })
        },
    )
}

/// A conversation whose foreign tools are deferred.
fn searching(scene: &Scene, withheld: &[&str]) -> Agent {
    let mut parts = scene.parts();
    let settings = ToolSearchSettings {
        mode: SearchMode::Always,
        most_results: 2,
        ..ToolSearchSettings::default()
    };
    parts.context.conversation.tool_search = settings;
    let selection = ToolSelection {
        names: vec!["all".to_owned()],
        ..ToolSelection::default()
    };
    let mut offer = scene.registry.offer(&selection, &parts.context);
    offer.defer(&settings, 100_000);
    parts.context.enabled_tools = offer.names();
    parts
        .context
        .enabled_tools
        .retain(|name| !withheld.contains(&name.as_str()));
    parts.tools = tool_schemas(offer.tools);
    let id = SessionId::generate();
    Agent::begin(parts, id, NewSession::default(), "You are a test.")
}

/// The results of these calls, one a request, what the observer saw, and the tools of every request.
fn results(calls: Vec<(&'static str, Value)>) -> (Vec<Value>, Vec<String>) {
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let count = calls.len();
    let kept = Arc::clone(&sent);
    let provider = Fake::new(100_000, move |request, number| {
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        kept.lock().unwrap().push(names.join(" "));
        Ok(match calls.get(number) {
            Some((tool, arguments)) => calling(number, tool, arguments),
            None => words("done"),
        })
    });
    let scene = Scene::asking(provider, with_tracker);
    let mut agent = searching(&scene, &[]);
    let mut seen = Vec::new();
    let mut observer = |event: TurnEvent<'_>| {
        if let TurnEvent::Calling { tool, .. } = event {
            seen.push(tool.to_owned());
        }
    };
    let result = agent.turn(TurnInput::text("go"), &mut observer);
    assert_eq!(result.final_response.as_deref(), Some("done"));
    let sent = sent.lock().unwrap().clone();
    assert_eq!(sent.len(), count + 1);
    let listed = "read_file write_file tool_search tool_describe tool_call";
    assert!(sent.iter().all(|names| names == listed), "{sent:?}");
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    let texts = history.messages.iter().map(|stored| stored.message.text());
    let results = texts
        .enumerate()
        .filter(|(index, _)| *index >= 2 && index % 2 == 0)
        .map(|(_, text)| {
            let inner = text.split("</untrusted").next().unwrap_or_default();
            let inner = inner.split_once(">\n").map_or(inner, |(_, inner)| inner);
            serde_json::from_str(inner.trim()).unwrap_or(Value::String(text))
        });
    (results.collect(), seen)
}

#[test]
fn a_tool_is_found_looked_at_and_called() {
    let name = "mcp__tracker__create_issue";
    let (results, seen) = results(vec![
        ("tool_search", json!({"query": "create an issue"})),
        ("tool_describe", json!({"name": name})),
        (
            "tool_call",
            json!({"name": name, "arguments": {"title": "one"}}),
        ),
        // Models nest JSON as text, and call by name what they have seen.
        (
            "tool_call",
            json!({"name": name, "arguments": "{\"title\": \"two\"}"}),
        ),
        (name, json!({"title": "three"})),
    ]);
    let found = &results[0];
    assert_eq!(found["total_available"], 3);
    assert_eq!(found["matches"].as_array().unwrap().len(), 2);
    let best = json!({
        "name": name, "source": "mcp", "source_name": "mcp-tracker",
        "description": "Opens an issue in the tracker.",
    });
    assert_eq!(found["matches"][0], best);
    assert_eq!(
        results[1]["parameters"]["properties"]["title"]["type"],
        "string"
    );
    for (result, title) in results[2..5].iter().zip(["one", "two", "three"]) {
        assert_eq!(*result, json!({"called": name, "title": title}));
    }
    // Whoever watches sees the tool, not the way to it.
    assert_eq!(seen, ["tool_search", "tool_describe", name, name, name]);
}

#[test]
fn wrong_calls_get_a_sentence() {
    let calls = vec![
        (
            "tool_call",
            json!({"name": "mcp__tracker__nothing", "arguments": {}}),
        ),
        (
            "tool_call",
            json!({"name": "read_file", "arguments": {"path": "x"}}),
        ),
        ("tool_call", json!({"name": "tool_call", "arguments": {}})),
        (
            "tool_call",
            json!({"name": "mcp__tracker__close_issue", "arguments": [1]}),
        ),
        ("tool_describe", json!({"name": "read_file"})),
        ("tool_search", json!({"query": "  "})),
        ("tool_search", json!({"query": "zebra"})),
    ];
    let (results, _) = results(calls);
    let errors: Vec<&str> = results[..6]
        .iter()
        .map(|result| result["error"].as_str().unwrap())
        .collect();
    assert_eq!(
        errors,
        [
            "No such tool: 'mcp__tracker__nothing'. Find the names of tools with tool_search.",
            "'read_file' is listed among your tools; call it directly.",
            "'tool_call' is listed among your tools; call it directly.",
            "'arguments' has to be an object with the arguments of the tool.",
            "'read_file' is listed among your tools; call it directly.",
            "The query is empty. Say in a few words what is to be done.",
        ]
    );
    assert_eq!(results[6]["matches"], json!([]));
}

#[test]
fn tools_that_a_session_was_not_given_cannot_be_found() {
    let provider = Fake::new(100_000, |_, number| {
        Ok(match number {
            0 => calling(0, "tool_search", &json!({"query": "issue"})),
            1 => calling(
                1,
                "tool_call",
                &json!({"name": "mcp__tracker__close_issue", "arguments": {}}),
            ),
            _ => words("done"),
        })
    });
    let scene = Scene::asking(provider, with_tracker);
    let mut agent = searching(&scene, &["mcp__tracker__close_issue"]);
    say(&mut agent, "go");
    let id = agent.session_id().clone();
    let history = agent.store().load_history(&id).unwrap();
    let text = |index: usize| history.messages[index].message.text();
    assert!(
        text(2).contains("create_issue") && !text(2).contains("close_issue"),
        "{}",
        text(2)
    );
    assert!(text(4).contains("No such tool"), "{}", text(4));
}
