//! Models for side tasks: which route, which key, how often, and when another one steps in.

use std::time::Duration;

use hermes_providers::{AuxiliaryModels, AuxiliaryTask, ErrorClass, ModelOverrides, ModelRequest};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, question};

fn side(bench: &Bench) -> AuxiliaryModels {
    AuxiliaryModels::new(&bench.config(), ModelOverrides::default())
}

fn about(task: AuxiliaryTask) -> ModelRequest {
    ModelRequest {
        task: Some(task),
        ..question("hi")
    }
}

#[test]
fn auxiliary_task_has_its_own_route_and_keys() {
    let main = ModelServer::always(ScriptedAnswer::text("main"));
    let own = ModelServer::always(ScriptedAnswer::text("side"));
    let auxiliary = format!(
        "auxiliary:\n  compression: {{provider: auto, model: ''}}\n  title_generation: {{model: small, base_url: '{}', extra_body: {{top_k: 1}}, timeout: 30, reasoning_effort: low}}\n",
        own.base_url()
    );
    let bench = Bench::custom(
        &main.base_url(),
        &format!("  api_key: sk-canary-main-123\n{auxiliary}"),
    )
    .env("OPENAI_API_KEY", "sk-canary-openai-123");
    let side = side(&bench);
    let titles = side.open(AuxiliaryTask::TitleGeneration).unwrap();
    assert_eq!(ask(&*titles, &question("hi")).unwrap().text, "side");
    let sent = &own.questions()[0];
    assert_eq!(
        (
            &sent.body["model"],
            &sent.body["top_k"],
            &sent.body["reasoning_effort"]
        ),
        (&json!("small"), &json!(1), &json!("low"))
    );
    assert!(
        own.received()
            .iter()
            .all(|request| !request.contains("canary"))
    );
    // What names nothing goes where the conversation is held, with its key.
    let summaries = side.open(AuxiliaryTask::Compression).unwrap();
    assert_eq!(ask(&*summaries, &question("hi")).unwrap().text, "main");
    assert!(main.questions()[0].contains("sk-canary-main-123"));
}

#[test]
fn auxiliary_answers_are_not_streamed_and_ask_for_no_window() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::custom(&server.base_url(), "");
    let provider = side(&bench).open(AuxiliaryTask::GoalJudge).unwrap();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    assert_eq!(server.received().len(), 1);
    let body = &server.questions()[0].body;
    assert!(body.get("stream").is_none(), "{body}");
}

#[test]
fn auxiliary_tasks_use_the_model_of_the_command_line_unless_one_is_set() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::custom(
        &server.base_url(),
        "auxiliary: {goal_judge: {model: judge}}\n",
    );
    let main = ModelOverrides {
        model: Some("flag".to_owned()),
        ..ModelOverrides::default()
    };
    let side = AuxiliaryModels::new(&bench.config(), main);
    let model = |task| side.open(task).unwrap().route().model;
    assert_eq!(model(AuxiliaryTask::Compression), "flag");
    assert_eq!(model(AuxiliaryTask::GoalJudge), "judge");
}

#[test]
fn auxiliary_fallback_is_used_only_without_credit() {
    let second = ModelServer::always(ScriptedAnswer::text("second"));
    let refusing = |status: u16| {
        let first = ModelServer::always(ScriptedAnswer::status(
            status,
            &json!({"error": {"message": "insufficient credits"}}),
        ));
        let bench = Bench::custom(&first.base_url(), "")
            .env("CUSTOM_BASE_URL", &second.base_url())
            .env("OPENAI_API_KEY", "sk-canary-openai-123");
        let provider = side(&bench).open(AuxiliaryTask::TitleGeneration).unwrap();
        let answer = ask(&*provider, &question("hi")).map(|response| response.text);
        assert_eq!(first.questions().len(), 1);
        answer
    };
    assert_eq!(refusing(402).unwrap(), "second");
    assert_eq!(second.questions()[0].body["model"], "test-model");
    assert!(!second.questions()[0].contains("canary"));
    assert_eq!(refusing(401).unwrap_err().class, ErrorClass::Auth);
    assert_eq!(second.questions().len(), 1);
}

#[test]
fn transient_errors_are_retried_as_often_as_set() {
    for (setting, most) in [("transient_retries: 0", 1), ("transient_retries: 1", 2)] {
        let server = ModelServer::always(ScriptedAnswer::status(503, &json!({"error": "busy"})));
        let bench = Bench::custom(
            &server.base_url(),
            &format!("agent: {{api_max_retries: 5}}\nauxiliary: {{{setting}}}\n"),
        );
        let provider = side(&bench).open(AuxiliaryTask::TitleGeneration).unwrap();
        let error = ask(&*provider, &question("hi")).unwrap_err();
        assert_eq!(error.class, ErrorClass::Overloaded);
        assert_eq!(server.questions().len(), most, "{setting}");
    }
}

#[test]
fn auxiliary_task_ends_by_its_timeout() {
    let late = ScriptedAnswer::text("late").after(Duration::from_mins(1));
    let server = ModelServer::always(late);
    let bench = Bench::custom(
        &server.base_url(),
        "auxiliary: {transient_retries: 0, goal_judge: {timeout: 0.2}}\n",
    );
    let provider = side(&bench).open(AuxiliaryTask::GoalJudge).unwrap();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn auxiliary_route_that_cannot_be_opened_is_an_error() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let bench = Bench::custom(
        &server.base_url(),
        "auxiliary: {goal_judge: {provider: nosuch, model: m}, compression: 3}\n",
    );
    let side = side(&bench);
    let error = side.open(AuxiliaryTask::GoalJudge).err().unwrap();
    assert!(error.to_string().contains("nosuch"), "{error}");
    assert!(side.open(AuxiliaryTask::Compression).is_ok());
}

#[test]
fn script_answers_auxiliary_tasks_by_turns_that_name_them() {
    let bench = Bench::new("model: {provider: replay, script: turns.yaml}\n");
    std::fs::write(
        bench.home().join("turns.yaml"),
        "turns:\n  - match: hi\n    text: to hi\n  - match: {task: goal_judge}\n    text: judged\n  - text: next\n",
    )
    .unwrap();
    let side = side(&bench);
    let judge = side.open(AuxiliaryTask::GoalJudge).unwrap();
    let judged = ask(&*judge, &about(AuxiliaryTask::GoalJudge)).unwrap();
    assert_eq!(judged.text, "judged");
    assert_eq!(ask(&*judge, &question("hi")).unwrap().text, "to hi");
    let titles = side.open(AuxiliaryTask::TitleGeneration).unwrap();
    let error = ask(&*titles, &about(AuxiliaryTask::TitleGeneration)).unwrap_err();
    assert_eq!(error.class, ErrorClass::Script);
    assert!(error.message.contains("title_generation"), "{error}");
}
