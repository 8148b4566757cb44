//! Tools that need a conversation around them: questions, other agents, earlier conversations.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use hermes_session::{
    ConversationStep, MessageRole, NewSession, SessionId, SessionMessage, SessionStore,
};
use hermes_tools::{
    Answerer, CallContext, ChildJob, ChildResult, ChildRunner, ChildStatus, ClarifyQuestion,
    ClarifyTool, DelegateTool, SessionSearchTool, ToolRegistry,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::stage::{SECRET, Stage};

struct Always(Option<&'static str>);

impl Answerer for Always {
    fn answer(&self, question: &ClarifyQuestion) -> Option<String> {
        assert!(question.choices.len() <= 4);
        self.0
            .map(|answer| format!("{answer} ({})", question.choices.len()))
    }
}

#[test]
fn a_question_is_answered_or_decided_at_once() {
    let mut stage = Stage::with(ToolRegistry::default().with(ClarifyTool));
    let ask = |stage: &Stage| {
        stage.call(
            "clarify",
            json!({"question": "Which?", "choices": ["a", " ", "b", "c", "d", "e"]}),
        )
    };
    let alone = ask(&stage);
    assert!(
        alone["user_response"]
            .as_str()
            .unwrap()
            .contains("Decide yourself"),
        "{alone}"
    );
    assert_eq!(alone["choices_offered"], json!(["a", "b", "c", "d"]));
    stage.context.conversation.answerer = Some(Arc::new(Always(Some("b"))));
    assert_eq!(ask(&stage)["user_response"], "b (4)");
    let open = stage.call("clarify", json!({"question": "Why?"}));
    assert_eq!(
        open,
        json!({"question": "Why?", "choices_offered": null, "user_response": "b (0)"})
    );
    stage.context.conversation.answerer = Some(Arc::new(Always(None)));
    assert!(
        ask(&stage)["user_response"]
            .as_str()
            .unwrap()
            .contains("did not answer")
    );
    assert_eq!(
        stage.refused("clarify", json!({"question": " "})),
        "The question is empty."
    );
    assert!(stage.refused("clarify", json!({})).contains("question"));
}

/// Answers with what it was given; waits until all are there, so that they must run side by side.
struct Meeting {
    all: std::sync::Barrier,
    jobs: Mutex<Vec<ChildJob>>,
}

impl ChildRunner for Meeting {
    fn run_child(&self, job: &ChildJob, _: &CallContext) -> ChildResult {
        self.jobs.lock().unwrap().push(job.clone());
        self.all.wait();
        assert_ne!(job.goal, "panic", "on purpose");
        ChildResult {
            status: ChildStatus::Completed,
            summary: format!("did {}", job.goal),
            api_calls: 2,
            duration: Duration::from_millis(1500),
            model: "m".to_owned(),
            exit_reason: "stop".to_owned(),
            input_tokens: 10,
            output_tokens: 3,
            tool_trace: vec![json!({"tool": "todo"})],
        }
    }
}

fn delegating(children: usize) -> (Stage, Arc<Meeting>) {
    let mut stage = Stage::with(ToolRegistry::default().with(DelegateTool::default()));
    let meeting = Arc::new(Meeting {
        all: std::sync::Barrier::new(children),
        jobs: Mutex::default(),
    });
    stage.context.conversation.children = Some(meeting.clone());
    (stage, meeting)
}

#[test]
fn one_goal_is_one_agent() {
    let (stage, meeting) = delegating(1);
    let args = json!({"goal": " count ", "context": "in /srv", "toolsets": "file", "role": "orchestrator"});
    let mut result = stage.call("delegate_task", args);
    assert!(result["total_duration_seconds"].is_number());
    assert_eq!(
        result["results"].take(),
        json!([{
            "task_index": 0, "status": "completed", "summary": "did count", "api_calls": 2,
            "duration_seconds": 1.5, "model": "m", "exit_reason": "stop",
            "tokens": {"input": 10, "output": 3}, "tool_trace": [{"tool": "todo"}],
        }])
    );
    let expected = ChildJob {
        goal: "count".to_owned(),
        context: Some("in /srv".to_owned()),
        toolsets: vec!["file".to_owned()],
        may_delegate: true,
    };
    assert_eq!(*meeting.jobs.lock().unwrap(), [expected]);
}

#[test]
fn several_agents_work_side_by_side_and_answer_in_order() {
    let (stage, _) = delegating(3);
    let args = json!({"tasks": [{"goal": "a"}, {"goal": "panic"}, {"goal": "c"}]});
    let result = stage.call("delegate_task", args);
    let summaries: Vec<&str> = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["summary"].as_str().unwrap())
        .collect();
    assert_eq!((summaries[0], summaries[2]), ("did a", "did c"));
    assert_eq!(result["results"][1]["status"], "failed");
    assert!(!summaries[1].contains("on purpose"));
}

#[test]
fn what_cannot_be_delegated_is_said() {
    let (mut stage, _) = delegating(1);
    for (args, part) in [
        (json!({}), "Give a goal"),
        (json!({"tasks": []}), "Give a goal"),
        (json!({"goal": " "}), "goal is empty"),
        (json!({"goal": "a", "tasks": [{"goal": "b"}]}), "not both"),
        (
            json!({"tasks": [{"goal": "a"}, {"goal": "b"}, {"goal": "c"}, {"goal": "d"}]}),
            "At most 3",
        ),
        (
            json!({"tasks": [{"context": "b"}]}),
            "tasks, item 1: Missing argument 'goal'",
        ),
        (
            json!({"goal": "a", "role": "king"}),
            "one of leaf, orchestrator",
        ),
    ] {
        let message = stage.refused("delegate_task", args);
        assert!(message.contains(part), "{message}");
    }
    stage.context.conversation.children = None;
    let message = stage.refused("delegate_task", json!({"goal": "a"}));
    assert!(
        message.contains("sub-agents are not available"),
        "{message}"
    );
}

fn searching() -> (Stage, SessionStore) {
    let mut stage = Stage::with(ToolRegistry::default());
    let home = stage.root("hermes");
    let store = SessionStore::open(&home).unwrap();
    let registry = ToolRegistry::default().with(SessionSearchTool { home });
    stage.context.registry = Arc::new(registry);
    (stage, store)
}

/// A conversation of `turns` exchanges, one of which says `word`.
fn conversation(store: &mut SessionStore, turns: usize, word: &str) -> SessionId {
    let id = store
        .create_session(&NewSession {
            source: "cli".to_owned(),
            ..NewSession::default()
        })
        .unwrap();
    for turn in 0..turns {
        let said = if turn == turns / 2 {
            word
        } else {
            "nothing much"
        };
        store
            .append_user(
                &id,
                &SessionMessage::user(format!("question {turn} {said}")),
            )
            .unwrap();
        let step = ConversationStep {
            assistant: SessionMessage {
                content: Some(format!("answer {turn}").into()),
                ..SessionMessage::new(MessageRole::Assistant)
            },
            results: Vec::new(),
            usage: None,
        };
        store.append_step(&id, &step).unwrap();
    }
    id
}

#[test]
fn earlier_conversations_are_found_with_their_surroundings() {
    let (mut stage, mut store) = searching();
    let old = conversation(&mut store, 20, "walrus");
    let own = conversation(&mut store, 2, "walrus");
    stage.context.conversation.session_id = Some(own.to_string());
    let found = stage.call("session_search", json!({"query": "walrus"}));
    assert_eq!(
        (&found["mode"], &found["count"]),
        (&json!("discover"), &json!(1)),
        "{found}"
    );
    let hit = &found["results"][0];
    assert_eq!(hit["session_id"], json!(old));
    assert_eq!(hit["snippet"], "question 10 >>>walrus<<<");
    assert_eq!(hit["messages"].as_array().unwrap().len(), 11);
    assert_eq!(
        hit["bookend_start"][0]["content"],
        "question 0 nothing much"
    );
    assert_eq!(hit["bookend_end"][2]["content"], "answer 19");
    assert_eq!(
        (&hit["messages_before"], &hit["messages_after"]),
        (&json!(5), &json!(5))
    );
    let scrolled = stage.call(
        "session_search",
        json!({
            "session_id": old, "around_message_id": hit["match_message_id"], "window": 1,
        }),
    );
    assert_eq!(scrolled["mode"], "scroll");
    let said: Vec<&str> = scrolled["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["answer 9", "question 10 walrus", "answer 10"]);
}

#[test]
fn the_latest_conversations_are_listed_without_the_own_one() {
    let (mut stage, mut store) = searching();
    let first = conversation(&mut store, 1, "one");
    let own = conversation(&mut store, 1, "two");
    stage.context.conversation.session_id = Some(own.to_string());
    let listed = stage.call("session_search", json!({}));
    assert_eq!(
        (&listed["mode"], &listed["count"]),
        (&json!("browse"), &json!(1))
    );
    assert_eq!(listed["results"][0]["session_id"], json!(first));
    assert!(
        listed["results"][0]["preview"]
            .as_str()
            .unwrap()
            .contains("question 0")
    );
}

#[test]
fn what_only_a_tool_said_is_found_too() {
    let (stage, mut store) = searching();
    let id = conversation(&mut store, 1, "x");
    let calls = json!([{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}]);
    let step = ConversationStep {
        assistant: SessionMessage {
            tool_calls: Some(calls),
            ..SessionMessage::new(MessageRole::Assistant)
        },
        results: vec![SessionMessage::tool_result(
            "c1",
            "terminal",
            format!("platypus {SECRET}"),
        )],
        usage: None,
    };
    store.append_step(&id, &step).unwrap();
    let found = stage.call("session_search", json!({"query": "platypus"}));
    assert_eq!(found["results"][0]["matched_role"], "tool", "{found}");
    assert!(!found.to_string().contains(SECRET));
    let none = stage.call(
        "session_search",
        json!({"query": "platypus", "role_filter": "user, assistant"}),
    );
    assert_eq!(none["count"], 0);
}

#[test]
fn searches_that_make_no_sense_are_answered() {
    let (stage, mut store) = searching();
    let id = conversation(&mut store, 1, "x");
    let missing = stage.call(
        "session_search",
        json!({"session_id": id, "around_message_id": 999}),
    );
    assert_eq!(missing["success"], false);
    assert!(
        missing["error"]
            .as_str()
            .unwrap()
            .contains("no message 999"),
        "{missing}"
    );
    let half = stage.call("session_search", json!({"session_id": id}));
    assert!(
        half["error"].as_str().unwrap().contains("go together"),
        "{half}"
    );
    let unknown = stage.call(
        "session_search",
        json!({"session_id": "nope", "around_message_id": 1}),
    );
    assert!(unknown["error"].is_string());
    for odd in ["\"", "AND", "***", "(", "' OR 1=1 --"] {
        assert_eq!(
            stage.call("session_search", json!({"query": odd}))["success"],
            true,
            "{odd}"
        );
    }
    let nothing = Stage::with(ToolRegistry::default().with(SessionSearchTool {
        home: "/nonexistent".into(),
    }));
    let result: Value = nothing.call("session_search", json!({"query": "x"}));
    assert_eq!(result["count"], 0);
}
