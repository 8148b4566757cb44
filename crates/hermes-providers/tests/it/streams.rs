//! Answers that stream, break, stall or are interrupted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_providers::{ErrorClass, FinishReason, StreamEvent};
use hermes_testkit::{ModelServer, ScriptedAnswer, ScriptedCall};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, hear, question};

#[test]
fn an_answer_streams_and_the_request_is_as_specified() {
    let server = ModelServer::start([ScriptedAnswer::pieces(&["do", "ne"]).thinking("hm")]);
    let bench = Bench::custom(&server.base_url(), "");
    let provider = bench.open();
    let (response, events) = hear(&*provider, &question("hi"));
    let response = response.unwrap();
    assert_eq!(response.text, "done");
    assert_eq!(response.finish, FinishReason::Stop);
    assert_eq!(response.usage.unwrap().total(), 18);
    assert_eq!(
        events,
        [
            StreamEvent::Reasoning("hm".to_owned()),
            StreamEvent::Text("do".to_owned()),
            StreamEvent::Text("ne".to_owned()),
        ]
    );
    let questions = server.questions();
    let [sent] = &questions[..] else {
        panic!("one question, not {}", questions.len())
    };
    assert_eq!(sent.path, "/v1/chat/completions");
    assert_eq!(sent.header("authorization"), Some("Bearer no-key-required"));
    assert!(sent.header("user-agent").unwrap().starts_with("hermes/"));
    assert_eq!(
        sent.body,
        json!({
            "model": "test-model",
            "messages": [
                {"role": "system", "content": "You are brief."},
                {"role": "user", "content": "hi"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn a_plain_connection_is_used_once() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let provider = Bench::custom(&server.base_url(), "  context_length: 9000\n").open();
    for _ in 0..5 {
        assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok");
    }
    let connections: Vec<usize> = server.questions().iter().map(|q| q.connection).collect();
    assert_eq!(connections, [0, 1, 2, 3, 4]);
}

#[test]
fn several_threads_ask_at_once() {
    let server = ModelServer::always(ScriptedAnswer::text("ok").after(Duration::from_millis(300)));
    let provider = Bench::custom(&server.base_url(), "").open();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "ok"));
        }
    });
    let questions = server.questions();
    let first = questions.iter().map(|question| question.at).min().unwrap();
    let last = questions.iter().map(|question| question.at).max().unwrap();
    assert!(
        last - first < Duration::from_millis(600),
        "they waited for each other"
    );
}

#[test]
fn stream_that_breaks_before_any_text_is_requested_again() {
    let server = ModelServer::start([
        ScriptedAnswer::text("x").cut_after(0),
        ScriptedAnswer::close(),
        ScriptedAnswer::text("done"),
    ]);
    let provider = Bench::custom(&server.base_url(), "").open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "done");
    assert_eq!(server.questions().len(), 3);
}

#[test]
fn text_that_came_before_the_break_is_kept() {
    let server = ModelServer::start([ScriptedAnswer::pieces(&["par", "tial"]).cut_after(1)]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!(
        (response.text.as_str(), response.finish),
        ("par", FinishReason::Truncated)
    );
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn broken_tool_call_is_requested_again_and_then_reported_as_lost() {
    let broken = || {
        ScriptedAnswer::call("write_file", &json!({"path": "a"}))
            .saying("Now.")
            .cut_after(3)
    };
    let server = ModelServer::start([broken(), broken(), broken()]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let (response, events) = hear(&*provider, &question("hi"));
    let response = response.unwrap();
    assert_eq!(response.finish, FinishReason::Truncated);
    assert_eq!(response.lost_calls, ["write_file"]);
    assert_eq!(response.tool_calls, []);
    assert_eq!(response.text, "Now.");
    assert_eq!(server.questions().len(), 3);
    let restarts = events
        .iter()
        .filter(|event| **event == StreamEvent::Restart);
    assert_eq!(restarts.count(), 2);
}

#[test]
fn closed_connection_without_an_end_is_a_broken_stream() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n";
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}"
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4_096];
        assert!(stream.read(&mut bytes).unwrap() > 0);
        stream.write_all(answer.as_bytes()).unwrap();
        // Closing with unread bytes would reset the connection instead of ending it.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    // The server takes one connection only, so nothing else may be asked of it.
    let window = "  context_length: 9000\n";
    let provider = Bench::custom(&format!("http://{address}/v1"), window).open();
    let response = ask(&*provider, &question("hi")).unwrap();
    server.join().unwrap();
    assert_eq!(
        (response.text.as_str(), response.finish),
        ("par", FinishReason::Truncated)
    );
}

#[test]
fn half_arguments_are_never_a_call() {
    let call = ScriptedCall {
        id: "c1".to_owned(),
        name: "terminal".to_owned(),
        arguments: "{\"command\":\"tru".to_owned(),
    };
    let server = ModelServer::start([ScriptedAnswer::raw_calls(vec![call])]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!(response.finish, FinishReason::Length);
}

#[test]
fn calls_that_all_have_index_zero_are_two() {
    let call = |id: &str, arguments: &str| {
        let function = json!({"name": "terminal", "arguments": arguments});
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": id, "function": function}]}}]})
            .to_string()
    };
    let server = ModelServer::start([ScriptedAnswer::events(&[
        call("a", "{\"command\":\"ls\"}"),
        call("b", "{\"command\":\"id\"}"),
        "[DONE]".to_owned(),
    ])]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!(response.finish, FinishReason::ToolCalls);
    let ids: Vec<&str> = response
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn an_interrupt_drops_the_connection_at_once() {
    let server = ModelServer::always(ScriptedAnswer::text("late").after(Duration::from_mins(2)));
    let provider = Bench::custom(&server.base_url(), "").open();
    let interrupt = Arc::new(Wake::new().unwrap());
    let raiser = Arc::clone(&interrupt);
    let asked = std::thread::spawn(move || {
        let result = provider.complete(&question("hi"), &mut |_| {}, &interrupt);
        (result, Instant::now())
    });
    server.wait_for_questions(1);
    let raised = Instant::now();
    raiser.raise();
    let (result, ended) = asked.join().unwrap();
    assert_eq!(result.unwrap_err().class, ErrorClass::Interrupted);
    // 300 ms on an idle machine; this bound only tells it from waiting for the answer.
    assert!(ended.duration_since(raised) < Duration::from_secs(20));
    server.wait_for_departure();
}

#[test]
fn silent_stream_ends_by_its_timeout() {
    let slow = ScriptedAnswer::pieces(&["a", "b"]).slowly(Duration::from_mins(2));
    let server = ModelServer::start([slow]);
    let bench = Bench::custom(&server.base_url(), "").env("HERMES_STREAM_STALE_TIMEOUT", "0.5");
    let response = ask(&*bench.open(), &question("hi")).unwrap();
    assert_eq!(
        (response.text.as_str(), response.finish),
        ("a", FinishReason::Truncated)
    );
}

#[test]
fn server_without_streaming_is_asked_for_a_whole_answer() {
    let no = json!({"error": {"message": "Streaming is not supported by this model"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &no),
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("two"),
    ]);
    let provider = Bench::custom(&server.base_url(), "").open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "one");
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "two");
    let streamed: Vec<bool> = server
        .questions()
        .iter()
        .map(|question| question.body["stream"] == true)
        .collect();
    assert_eq!(streamed, [true, false, false]);
}

#[test]
fn whole_answer_to_a_streaming_request_is_accepted() {
    let server =
        ModelServer::start([
            ScriptedAnswer::calls(&[("a", json!({"x": 1})), ("b", json!({}))]).whole(),
        ]);
    let provider = Bench::custom(&server.base_url(), "").open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!(response.tool_calls.len(), 2);
    assert_eq!(response.tool_calls[0].arguments, "{\"x\":1}");
}
