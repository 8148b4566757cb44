//! The API server of a gateway that is killed or stopped in the middle of turns: runs go on, requests
//! are reported, and nothing is done twice.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::post::{Post, end, ready, until};

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A gateway whose API server is on.
pub(crate) struct Api {
    pub(crate) post: Post,
    port: u16,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Api {
    /// A home whose model counts its first call in a file and hangs in it, and answers once it is told
    /// of a restart.
    fn new(settings: &str) -> Self {
        let api = Self::playing("turns: []", settings);
        let command = format!("echo x >> {} && sleep 60", api.effects().display());
        let script = format!(
            "turns:\n  - {{match: {{seen: gateway was restarted}}, text: Went on.}}\n  - {{calls: \
             [{{tool: terminal, arguments: {{command: {}}}}}]}}\n",
            json!(command)
        );
        api.post.home.put("script.yaml", script);
        api
    }

    pub(crate) fn playing(script: &str, settings: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let post = Post::new();
        post.home.put("script.yaml", script);
        post.configure(&format!(
            "{settings}model: {{provider: replay, script: script.yaml}}\nterminal: {{sandbox: 'off'}}\n"
        ));
        post.home.put(
            ".env",
            format!("API_SERVER_KEY={KEY}\nAPI_SERVER_PORT={port}\n"),
        );
        Self { post, port }
    }

    /// Where the first call of the model leaves a line.
    fn effects(&self) -> PathBuf {
        self.post.home.outside("effects")
    }

    fn effect_count(&self) -> usize {
        let text = std::fs::read_to_string(self.effects()).unwrap_or_default();
        text.lines().count()
    }

    #[track_caller]
    fn start(&self) -> Running {
        self.post.gateway(&[])
    }

    fn begin(&self, method: &str, path: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\
             Connection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let mut reader = self.begin(method, path, headers, body);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply {
            status,
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "", "")
    }

    #[track_caller]
    fn begin_run(&self) -> String {
        let body = json!({"input": "deploy", "session_id": "work"}).to_string();
        let reply = self.send("POST", "/v1/runs", "", &body);
        assert_eq!(reply.status, 202, "{}", reply.body);
        reply.json()["run_id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn until_status(&self, run: &str, status: &str) -> Value {
        until(status, || {
            let shown = self.get(&format!("/v1/runs/{run}")).json();
            (shown["status"] == status).then_some(shown)
        })
    }

    /// The names of the events after a number, from a stream that has ended.
    fn events(&self, run: &str, after: u64) -> Vec<String> {
        let headers = format!("Last-Event-ID: {after}\r\n");
        let reply = self.send("GET", &format!("/v1/runs/{run}/events"), &headers, "");
        let data = reply
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let names = data.map(|data| {
            let event: Value = serde_json::from_str(data).unwrap();
            event["event"].as_str().unwrap().to_owned()
        });
        let mut names: Vec<String> = names.collect();
        names.dedup();
        names
    }

    fn messages(&self, session: &str) -> Vec<Value> {
        let reply = self.get(&format!("/api/sessions/{session}/messages"));
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["data"].as_array().unwrap().clone()
    }

    fn until_effects(&self, count: usize) {
        until("the effect of a call", || {
            (self.effect_count() == count).then_some(())
        });
    }
}

fn kill_hard(gateway: &mut Running) {
    end(gateway, Signal::KILL);
}

#[test]
fn a_run_that_is_killed_goes_on_once_and_can_be_read_from_its_beginning() {
    let api = Api::new("");
    let mut gateway = api.start();
    let run = api.begin_run();
    api.until_effects(1);
    kill_hard(&mut gateway);
    let mut gateway = api.start();
    let status = api.until_status(&run, "completed");
    assert_eq!(status["output"], "Went on.");
    assert_eq!(status["session_id"], "work");
    assert_eq!(api.effect_count(), 1, "the call was not repeated");
    let all = [
        "tool.started",
        "run.resumed",
        "message.delta",
        "run.completed",
    ];
    assert_eq!(api.events(&run, 0), all);
    assert_eq!(api.events(&run, 1), all[1..]);
    let messages = api.messages("work");
    let note = messages[1]["content"].as_str().unwrap();
    assert!(note.contains("gateway was restarted"), "{note}");
    assert!(note.contains("terminal: echo x"), "{note}");
    api.post
        .until_logged("was cut off by the end of the gateway and goes on");
    // What is over stays over.
    kill_hard(&mut gateway);
    let _gateway = api.start();
    assert_eq!(api.until_status(&run, "completed")["output"], "Went on.");
    assert_eq!(api.messages("work").len(), messages.len());
    assert_eq!(api.events(&run, 0), all);
}

// gateway 13
#[test]
fn a_run_that_was_killed_three_times_is_reported_and_not_resumed() {
    let api = Api::new("  restart_loop_guard: {max_restarts: 0}\n");
    // Every try hangs.
    let command = format!("echo x >> {} && sleep 60", api.effects().display());
    let script = format!(
        "turns:\n  - {{calls: [{{tool: terminal, arguments: {{command: {}}}}}]}}\n",
        json!(command)
    );
    api.post.home.put("script.yaml", script);
    let mut gateway = api.start();
    let run = api.begin_run();
    for count in 1..=3 {
        api.until_effects(count);
        kill_hard(&mut gateway);
        gateway = api.start();
    }
    let status = api.until_status(&run, "failed");
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("3 times"), "{error}");
    assert_eq!(api.events(&run, 0).last().unwrap(), "run.failed");
    let last = api.messages("work").pop().unwrap();
    assert_eq!(last["finish_reason"], "interrupted");
    assert!(
        last["content"].as_str().unwrap().contains("3 times"),
        "{last}"
    );
    api.post.until_logged("does not go on");
    assert_eq!(api.effect_count(), 3);
}

#[test]
fn a_gateway_that_is_killed_over_and_over_stops_taking_runs_up() {
    let api = Api::new("  restart_loop_guard: {max_restarts: 1, window_seconds: 600}\n");
    let mut gateway = api.start();
    let run = api.begin_run();
    api.until_effects(1);
    kill_hard(&mut gateway);
    let _gateway = api.start();
    let error = api.until_status(&run, "failed")["error"].to_string();
    assert!(error.contains("gateway.restart_loop_guard"), "{error}");
}

#[test]
fn a_stream_that_is_killed_is_reported_in_its_session_and_the_log() {
    let api = Api::new("");
    let mut gateway = api.start();
    let body = json!({"stream": true, "messages": [{"role": "user", "content": "deploy"}]});
    let header = "X-Hermes-Session-Id: talk\r\n";
    let mut stream = api.begin("POST", "/v1/chat/completions", header, &body.to_string());
    let mut line = String::new();
    while !line.contains("hermes.tool.progress") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
    }
    api.until_effects(1);
    kill_hard(&mut gateway);
    let _gateway = api.start();
    api.post
        .until_logged("a turn was cut off by the end of the gateway");
    let messages = api.messages("talk");
    assert_eq!(messages[0]["content"], "deploy");
    let last = messages.last().unwrap();
    assert_eq!(last["finish_reason"], "interrupted");
    assert!(
        last["content"].as_str().unwrap().contains("cut off"),
        "{last}"
    );
    assert_eq!(messages.len(), 2);
    // Its client decides whether it goes on.
    assert_eq!(api.effect_count(), 1);
}

#[test]
fn a_stored_response_that_is_killed_has_failed() {
    let api = Api::new("");
    let mut gateway = api.start();
    let body = json!({"stream": true, "input": "deploy"});
    let mut stream = api.begin("POST", "/v1/responses", "", &body.to_string());
    let mut line = String::new();
    let id = loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            break event["response"]["id"].as_str().unwrap().to_owned();
        }
    };
    api.until_effects(1);
    kill_hard(&mut gateway);
    let _gateway = api.start();
    let response = api.get(&format!("/v1/responses/{id}")).json();
    assert_eq!(response["status"], "failed");
    let error = response["error"]["message"].as_str().unwrap();
    assert!(error.contains("cut off"), "{error}");
}

#[test]
fn a_request_with_a_key_goes_on_when_it_is_sent_again_and_is_answered_once() {
    let api = Api::new("");
    let mut gateway = api.start();
    let body = json!({"messages": [{"role": "user", "content": "deploy"}]}).to_string();
    let header = "Idempotency-Key: once\r\nX-Hermes-Session-Id: talk\r\n";
    let _lost = api.begin("POST", "/v1/chat/completions", header, &body);
    api.until_effects(1);
    kill_hard(&mut gateway);
    let mut gateway = api.start();
    let again = || api.send("POST", "/v1/chat/completions", header, &body);
    let reply = again();
    assert_eq!(reply.status, 200, "{}", reply.body);
    let content = &reply.json()["choices"][0]["message"]["content"];
    assert_eq!(content, "Went on.");
    assert_eq!(again().body, reply.body);
    kill_hard(&mut gateway);
    let _gateway = api.start();
    assert_eq!(again().body, reply.body, "kept over a restart");
    assert_eq!(api.effect_count(), 1);
    let runs = "Idempotency-Key: once\r\n";
    let run = json!({"input": "deploy"}).to_string();
    let first = api.send("POST", "/v1/runs", runs, &run).json();
    assert_eq!(api.send("POST", "/v1/runs", runs, &run).json(), first);
}

// gateway 12
#[test]
fn a_stop_waits_for_a_run_or_leaves_it_to_the_next_start() {
    let slow = "turns: [{match: {seen: gateway was restarted}, text: Went on.}, {match: {unseen: gateway was restarted}, delay: 4, text: In time.}]";
    let api = Api::playing(slow, "");
    let settings = |seconds: u32| {
        api.post.configure(&format!(
            "model: {{provider: replay, script: script.yaml}}\nagent: {{restart_drain_timeout: {seconds}}}\n"
        ));
    };
    settings(30);
    let mut gateway = api.start();
    let run = api.begin_run();
    api.until_status(&run, "running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert!(api.post.home.path(".clean_shutdown").exists());
    settings(1);
    let mut gateway = api.start();
    assert_eq!(api.until_status(&run, "completed")["output"], "In time.");
    let run = api.begin_run();
    api.until_status(&run, "running");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    assert!(!api.post.home.path(".clean_shutdown").exists());
    let _gateway = ready(api.post.call(&["run"]).start());
    assert_eq!(api.until_status(&run, "completed")["output"], "Went on.");
    let events = api.events(&run, 0);
    let resumed = events.iter().filter(|name| *name == "run.resumed").count();
    assert_eq!(resumed, 1, "{events:?}");
}

// gateway 38
#[test]
fn a_damaged_record_of_turns_is_kept_aside_and_the_service_goes_on() {
    let api = Api::new("");
    let garbage = "this is no database, and it is long enough to be taken for one".repeat(20);
    api.post.home.put("api_turns.db", &garbage);
    let _gateway = api.start();
    assert_eq!(api.get("/health").status, 200);
    api.begin_run();
    api.until_effects(1);
    api.post.until_logged("a new file was begun");
    let files = std::fs::read_dir(api.post.home.root()).unwrap();
    let kept = files
        .map(|file| file.unwrap().path())
        .find(|path| path.display().to_string().contains("api_turns.db.corrupt"));
    assert_eq!(std::fs::read_to_string(kept.unwrap()).unwrap(), garbage);
}

#[test]
fn a_record_of_turns_that_cannot_be_written_is_named_before_anything_is_done() {
    let api = Api::new("");
    std::fs::create_dir_all(api.post.home.path("api_turns.db")).unwrap();
    let _gateway = api.start();
    let body = json!({"input": "x"}).to_string();
    for path in ["/v1/runs", "/v1/responses"] {
        let reply = api.send("POST", path, "", &body);
        assert_eq!(reply.status, 503, "{}", reply.body);
        assert_eq!(reply.json()["error"]["code"], "turn_store_unavailable");
    }
    assert_eq!(api.get("/v1/models").status, 200);
    assert_eq!(api.effect_count(), 0);
}

#[test]
fn the_log_tells_of_a_turn_that_takes_long_or_is_silent() {
    let script = "turns: [{delay: 30, text: late}]\n";
    let settings =
        "agent: {gateway_timeout: 3, gateway_timeout_warning: 1, gateway_notify_interval: 2}\n";
    let api = Api::playing(script, settings);
    let mut gateway = api.start();
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    let reply = api.send(
        "POST",
        "/v1/chat/completions",
        "Content-Type: application/json\r\n",
        &body.to_string(),
    );
    assert_eq!(reply.status, 502, "{}", reply.body);
    api.post
        .until_logged("nothing was heard of a turn for 1 s; it is ended after 3 s");
    api.post.until_logged("a turn has been on its way for 2 s");
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
    // Nothing of that if the settings say so.
    let quiet = settings
        .replace("warning: 1", "warning: 0")
        .replace("interval: 2", "interval: 0");
    let api = Api::playing(script, &quiet);
    let mut gateway = api.start();
    let reply = api.send(
        "POST",
        "/v1/chat/completions",
        "Content-Type: application/json\r\n",
        &body.to_string(),
    );
    assert_eq!(reply.status, 502, "{}", reply.body);
    let log = api.post.log();
    assert!(
        !log.contains("of a turn for 1 s") && !log.contains("on its way"),
        "{log}"
    );
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
