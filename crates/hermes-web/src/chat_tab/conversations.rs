//! The conversations of one client of `/api/ws`: each turn is a run of this process, whose events are
//! told in the words of that protocol.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use hermes_home::ProfileName;
use http_body_util::{BodyExt as _, Limited};
use hyper::Method;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::app::App;
use crate::call::{Answered, flag_of, text_of};
use crate::chat_runs::ask;
use crate::http::ApiError;

/// Conversations of one client at once.
const MOST: usize = 64;
/// Largest answer about a run.
const MOST_ANSWER: usize = 64 << 10;
/// The request cannot be carried out as it is.
const UNUSABLE: i64 = 4004;
/// There is no such conversation.
const UNKNOWN: i64 = 4001;
/// A turn is on its way, or there are too many conversations.
const BUSY: i64 = 4009;
/// The runs refused it.
const REFUSED: i64 = 5000;

/// Why a request was not carried out.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        let code = if error.status().as_u16() == 422 {
            UNUSABLE
        } else {
            REFUSED
        };
        Self::new(code, error.message())
    }
}

struct Conversation {
    /// Its id among the stored ones.
    stored: String,
    ends_with_client: bool,
    /// The turn on its way; empty while it is being begun.
    run: Option<String>,
}

type All = HashMap<String, Conversation>;

pub(super) struct Conversations {
    app: Arc<App>,
    all: Arc<Mutex<All>>,
    events: mpsc::Sender<Value>,
}

impl Conversations {
    pub(super) fn new(app: Arc<App>, events: mpsc::Sender<Value>) -> Self {
        Self {
            app,
            all: Arc::default(),
            events,
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        locked(&self.all)
    }

    /// `session.create`. Nothing is stored before something is said.
    pub(super) fn create(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let context = self.app.context();
        let own = context.current.as_ref().map(ProfileName::as_str);
        if let Some(profile) = text_of(params, "profile")?.filter(|name| !name.is_empty())
            && own != Some(profile)
        {
            let shown = hermes_text::shown(profile, 80);
            let message = format!(
                "this dashboard talks to its own profile; `hermes -p {shown} dashboard` serves that one"
            );
            return Err(Fault::new(UNUSABLE, message));
        }
        let ends_with_client = flag_of(params, "close_on_disconnect")?.unwrap_or_default();
        let id = hermes_fs::random_hex(8);
        let stored = format!("web_{}", hermes_fs::random_hex(32));
        {
            let mut all = self.all();
            if all.len() >= MOST {
                let message = format!("a client has at most {MOST} conversations; close one");
                return Err(Fault::new(BUSY, message));
            }
            let conversation = Conversation {
                stored: stored.clone(),
                ends_with_client,
                run: None,
            };
            all.insert(id.clone(), conversation);
        }
        let info = self.info(&stored, false);
        let told = json!({"type": "session.info", "session_id": id, "payload": info});
        // Beside the answer: events are taken by whoever waits for it, and may be as many as fit.
        let events = self.events.clone();
        tokio::spawn(async move { events.send(told).await });
        Ok(json!({
            "session_id": id,
            "stored_session_id": stored,
            "message_count": 0,
            "messages": [],
            "info": info,
        }))
    }

    fn info(&self, stored: &str, is_running: bool) -> Value {
        info(&self.app, stored, is_running)
    }

    /// The conversation that a request is about.
    fn named<T>(
        &self,
        params: &Map<String, Value>,
        look: impl FnOnce(&mut Conversation) -> T,
    ) -> Result<(String, T), Fault> {
        let id = text_of(params, "session_id")?.unwrap_or_default();
        let mut all = self.all();
        let found = all.get_mut(id).ok_or_else(|| {
            let shown = hermes_text::shown(id, 80);
            Fault::new(UNKNOWN, format!("there is no open conversation {shown}"))
        })?;
        Ok((id.to_owned(), look(found)))
    }

    /// `prompt.submit`.
    pub(super) async fn submit(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let text = text_of(params, "text")?.unwrap_or_default().trim();
        if text.is_empty() {
            return Err(Fault::new(UNUSABLE, "`text` must say something"));
        }
        let (id, stored) = self.named(params, |one| {
            if one.run.is_some() {
                return Err(Fault::new(
                    BUSY,
                    "a turn is on its way; `session.interrupt` stops it",
                ));
            }
            one.run = Some(String::new());
            Ok(one.stored.clone())
        })?;
        let stored = stored?;
        let body = json!({"input": text, "session_id": stored});
        let begun = answer_of(ask(&self.app, Method::POST, "/v1/runs", (Some(&body), None)).await);
        let run = match begun.await {
            Ok(answer) => answer["run_id"].as_str().unwrap_or_default().to_owned(),
            Err(error) => {
                set_run(&self.all, &id, None);
                return Err(error.into());
            }
        };
        set_run(&self.all, &id, Some(run.clone()));
        let turn = Turn {
            app: Arc::clone(&self.app),
            all: Arc::clone(&self.all),
            events: self.events.clone(),
            id,
            stored,
        };
        tokio::spawn(turn.follow(run));
        Ok(json!({"status": "streaming"}))
    }

    /// `session.interrupt`.
    pub(super) async fn interrupt(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let (_, run) = self.named(params, |one| one.run.clone())?;
        stop(&self.app, run).await;
        Ok(json!({"status": "interrupted"}))
    }

    /// `approval.respond`.
    pub(super) async fn approve(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let (_, run) = self.named(params, |one| one.run.clone())?;
        let Some(run) = run.filter(|run| !run.is_empty()) else {
            return Ok(json!({"resolved": 0}));
        };
        let choice = text_of(params, "choice")?.unwrap_or("deny");
        let all = flag_of(params, "all")?.unwrap_or_default();
        let body = json!({"choice": choice, "all": all});
        let path = format!("/v1/runs/{run}/approval");
        let answer = answer_of(ask(&self.app, Method::POST, &path, (Some(&body), None)).await);
        Ok(json!({"resolved": answer.await?["resolved"]}))
    }

    /// `session.close`.
    pub(super) async fn close(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let id = text_of(params, "session_id")?.unwrap_or_default();
        let gone = self.all().remove(id);
        let closed = gone.is_some();
        stop(&self.app, gone.and_then(|one| one.run)).await;
        Ok(json!({"closed": closed}))
    }

    /// The client has gone. Turns go on, except for those that were to end with it.
    pub(super) async fn leave(&self) {
        let ended: Vec<_> = self.all().drain().map(|(_, one)| one).collect();
        for one in ended.into_iter().filter(|one| one.ends_with_client) {
            stop(&self.app, one.run).await;
        }
    }
}

fn locked(all: &Mutex<All>) -> MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set_run(all: &Mutex<All>, id: &str, run: Option<String>) {
    if let Some(one) = locked(all).get_mut(id) {
        one.run = run;
    }
}

/// What a client is told of a conversation.
fn info(app: &App, stored: &str, is_running: bool) -> Value {
    let context = app.context();
    let (model, provider) = context.config().model();
    json!({
        "model": model.unwrap_or_default(),
        "provider": provider.unwrap_or_default(),
        "running": is_running,
        "stored_session_id": stored,
    })
}

/// Stops a turn, if there is one.
async fn stop(app: &App, run: Option<String>) {
    let Some(run) = run.filter(|run| !run.is_empty()) else {
        return;
    };
    let path = format!("/v1/runs/{run}/stop");
    // One that is over needs no end.
    if let Err(error) = ask(app, Method::POST, &path, (None, None)).await {
        tracing::debug!("a turn was not stopped: {}", error.message());
    }
}

/// The JSON of an answer of the runs.
async fn answer_of(answered: Answered) -> Result<Value, ApiError> {
    let body = Limited::new(answered?.into_body(), MOST_ANSWER).collect();
    let body = body
        .await
        .map_err(|error| ApiError::internal(error.to_string()))?;
    serde_json::from_slice(&body.to_bytes()).map_err(|error| ApiError::internal(error.to_string()))
}

/// A turn that is being told to its client.
struct Turn {
    app: Arc<App>,
    all: Arc<Mutex<All>>,
    events: mpsc::Sender<Value>,
    id: String,
    stored: String,
}

impl Turn {
    async fn follow(self, run: String) {
        self.tell("message.start", None).await;
        let path = format!("/v1/runs/{run}/events");
        let end = match ask(&self.app, Method::GET, &path, (None, None)).await {
            Ok(response) => self.read(response).await,
            Err(error) => Some(failed(error.message())),
        };
        // The next prompt is taken before the client hears of the end.
        set_run(&self.all, &self.id, None);
        let end = end.unwrap_or_else(|| failed("the turn broke off; the log has the reason"));
        if let Some(message) = end["error"].as_str() {
            let message = json!({"message": message});
            self.tell("error", Some(message)).await;
        }
        self.tell("message.complete", Some(end)).await;
        let info = info(&self.app, &self.stored, false);
        self.tell("session.info", Some(info)).await;
    }

    /// Tells what happens until the end, and gives that.
    async fn read(&self, response: axum::response::Response) -> Option<Value> {
        let mut pieces = response.into_body().into_data_stream();
        while let Some(Ok(piece)) = pieces.next().await {
            // Every event is one piece.
            let text = String::from_utf8_lossy(&piece);
            let data = text.lines().find_map(|line| line.strip_prefix("data: "));
            let Some(Ok(event)) = data.map(serde_json::from_str::<Value>) else {
                continue;
            };
            match translated(&event) {
                Told::Event(name, payload) => self.tell(name, Some(payload)).await,
                Told::End(payload) => return Some(payload),
                Told::Nothing => {}
            }
        }
        None
    }

    async fn tell(&self, name: &str, payload: Option<Value>) {
        let mut event = json!({"type": name, "session_id": self.id});
        if let Some(payload) = payload {
            event["payload"] = payload;
        }
        // A turn goes on without its client.
        drop(self.events.send(event).await);
    }
}

enum Told {
    Event(&'static str, Value),
    /// The last one: how the answer ended.
    End(Value),
    Nothing,
}

fn failed(message: &str) -> Value {
    json!({"text": format!("Error: {message}"), "status": "error", "error": message})
}

/// An event of a run in the words of the protocol.
fn translated(event: &Value) -> Told {
    match event["event"].as_str().unwrap_or_default() {
        "message.delta" => Told::Event("message.delta", json!({"text": event["delta"]})),
        "reasoning.available" => Told::Event("reasoning.available", json!({"text": event["text"]})),
        "tool.started" => {
            let payload = json!({
                "tool_id": event["tool_call_id"],
                "name": event["tool"],
                "context": event["preview"],
            });
            Told::Event("tool.start", payload)
        }
        "tool.completed" => {
            let mut payload = json!({
                "tool_id": event["tool_call_id"],
                "name": event["tool"],
                "duration_s": event["duration"],
            });
            if event["error"] == true {
                payload["error"] = json!("the call failed");
            }
            Told::Event("tool.complete", payload)
        }
        "approval.request" => {
            let payload = json!({
                "command": event["command"],
                "description": event["description"],
                "pattern_keys": event["pattern_keys"],
                "choices": event["choices"],
            });
            Told::Event("approval.request", payload)
        }
        "run.completed" => {
            let payload =
                json!({"text": event["output"], "usage": event["usage"], "status": "complete"});
            Told::End(payload)
        }
        "run.cancelled" => Told::End(json!({"text": "", "status": "interrupted"})),
        "run.failed" => Told::End(failed(event["error"].as_str().unwrap_or("the turn failed"))),
        _ => Told::Nothing,
    }
}
