//! One run: its status, its events, and the questions it waits for. Everything that clients are told is
//! on disk first, so that another process can tell it again.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::response::Response;
use hermes_policy::{Answer, ApprovalRequest};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::clock::unix_time;
use crate::http::json_response;
use crate::ledger::{MOST_EVENTS, StoredRun, TurnLedger};
use crate::turn::{StopCause, TurnApprover, TurnControl};

/// Bytes of events that are kept in memory.
const MOST_BYTES: usize = 4 << 20;
/// A stopped run is noticed by a question that waits at least this often.
const LOOK: Duration = Duration::from_millis(200);

/// A numbered event.
#[derive(Debug, Clone)]
pub(crate) struct RunEvent {
    pub(crate) number: u64,
    pub(crate) text: Arc<str>,
}

/// Where a run is recorded.
#[derive(Debug, Clone)]
pub(crate) struct RunLog {
    pub(crate) ledger: Arc<TurnLedger>,
    pub(crate) home: PathBuf,
}

/// The answer to whoever asked for a run.
pub(crate) fn accepted(id: &str) -> Response {
    let status = json!({"run_id": id, "status": "started"});
    json_response(StatusCode::ACCEPTED, &status)
}

/// A run.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) control: Arc<TurnControl>,
    /// None for a run that is only read.
    log: Option<RunLog>,
    state: Mutex<RunState>,
    /// Told of every answer to a question.
    answered: Condvar,
    /// Told of every event.
    news: watch::Sender<u64>,
}

struct RunState {
    status: Map<String, Value>,
    events: VecDeque<RunEvent>,
    bytes: usize,
    last: u64,
    /// Whether no more events will come from this process.
    is_over: bool,
    /// Questions that wait, oldest first; the answer once there is one.
    questions: VecDeque<(u64, Option<Answer>)>,
    last_question: u64,
}

impl Run {
    /// A run that was just asked for.
    pub(crate) fn new(id: String, session: &str, model: &str, log: RunLog) -> Self {
        let now = unix_time();
        let fields = [
            ("object", json!("hermes.run")),
            ("run_id", json!(id)),
            ("status", json!("queued")),
            ("created_at", json!(now)),
            ("updated_at", json!(now)),
            ("session_id", json!(session)),
            ("model", json!(model)),
            ("last_event", Value::Null),
        ];
        let status = fields.map(|(name, value)| (name.to_owned(), value));
        let stored = StoredRun {
            status: status.into_iter().collect(),
            events: Vec::new(),
        };
        Self::of(id, stored, Some(log))
    }

    /// A run of which an earlier process has told.
    pub(crate) fn again(id: String, stored: StoredRun, log: RunLog) -> Self {
        Self::of(id, stored, Some(log))
    }

    /// A run that can only be read.
    pub(crate) fn past(id: String, stored: StoredRun) -> Self {
        let run = Self::of(id, stored, None);
        run.state().is_over = true;
        run
    }

    fn of(id: String, stored: StoredRun, log: Option<RunLog>) -> Self {
        let events: VecDeque<RunEvent> = stored
            .events
            .into_iter()
            .map(|(number, text)| RunEvent {
                number,
                text: text.into(),
            })
            .collect();
        let last = events.back().map_or(0, |event| event.number);
        Self {
            id,
            control: Arc::default(),
            log,
            state: Mutex::new(RunState {
                status: stored.status,
                bytes: events.iter().map(|event| event.text.len()).sum(),
                events,
                last,
                is_over: false,
                questions: VecDeque::new(),
                last_question: 0,
            }),
            answered: Condvar::new(),
            news: watch::Sender::new(last),
        }
    }

    /// What stops the run.
    pub(crate) fn control(&self) -> Arc<TurnControl> {
        Arc::clone(&self.control)
    }

    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> Value {
        Value::Object(self.state().status.clone())
    }

    /// Whether no more events will come.
    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Events after this number, and whether there will be no more.
    pub(crate) fn events_after(&self, number: u64) -> (Vec<RunEvent>, bool) {
        let state = self.state();
        let events = state.events.iter().filter(|event| event.number > number);
        (events.cloned().collect(), state.is_over)
    }

    /// Changes fields of the status.
    pub(crate) fn set(&self, fields: Value) {
        let mut state = self.state();
        state.set(fields);
        if let Some(log) = &self.log {
            let set = log
                .ledger
                .set_run_status(&log.home, &self.id, &state.status);
            noted(set);
        }
    }

    /// Adds an event.
    pub(crate) fn tell(&self, name: &str, fields: Value) {
        let mut state = self.state();
        self.add(&mut state, name, fields);
        let last = state.last;
        drop(state);
        self.news.send_replace(last);
    }

    /// The last event.
    pub(crate) fn finish(&self, status: &str, event: &str, fields: &Value) {
        let mut state = self.state();
        if state.is_over {
            return;
        }
        state.is_over = true;
        state.set(json!({"status": status}));
        state.set(fields.clone());
        self.add(&mut state, event, fields.clone());
        state.questions.clear();
        let last = state.last;
        drop(state);
        self.answered.notify_all();
        self.news.send_replace(last);
    }

    /// This process tells no more of the run; the next one will.
    pub(crate) fn suspend(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.questions.clear();
        let last = state.last;
        drop(state);
        self.answered.notify_all();
        self.news.send_replace(last);
    }

    /// Adds an event; on disk before anybody reads it.
    fn add(&self, state: &mut RunState, name: &str, fields: Value) {
        let mut event = json!({"event": name, "run_id": self.id, "timestamp": unix_time()});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        state.last += 1;
        state.set(json!({"last_event": name}));
        let text: Arc<str> = event.to_string().into();
        if let Some(log) = &self.log {
            let event = (state.last, &*text);
            let status = &state.status;
            let added = log
                .ledger
                .add_event(&log.home, &self.id, event, status, state.is_over);
            noted(added);
        }
        state.push(text);
    }

    /// Stops the run; `false` if it is over already.
    pub(crate) fn stop(&self) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        state.set(json!({"status": "stopping", "last_event": "run.stopping"}));
        drop(state);
        self.control.stop(StopCause::Client);
        self.answered.notify_all();
        true
    }

    /// Answers the oldest question, or all of them. Gives how many were waiting for one.
    pub(crate) fn answer(&self, answer: &Answer, all: bool, choice: &str) -> usize {
        let mut state = self.state();
        let waiting = state
            .questions
            .iter_mut()
            .filter(|(_, known)| known.is_none());
        let most = if all { usize::MAX } else { 1 };
        let mut count = 0;
        for (_, place) in waiting.take(most) {
            *place = Some(answer.clone());
            count += 1;
        }
        if count > 0 {
            state.set(json!({"status": "running"}));
            let fields = json!({"choice": choice, "resolved": count});
            self.add(&mut state, "approval.responded", fields);
        }
        let last = state.last;
        drop(state);
        self.answered.notify_all();
        self.news.send_replace(last);
        count
    }
}

impl RunState {
    fn set(&mut self, fields: Value) {
        if let Value::Object(fields) = fields {
            self.status.extend(fields);
        }
        self.status
            .insert("updated_at".to_owned(), json!(unix_time()));
    }

    fn push(&mut self, text: Arc<str>) {
        self.bytes += text.len();
        self.events.push_back(RunEvent {
            number: self.last,
            text,
        });
        let most = usize::try_from(MOST_EVENTS).unwrap_or(usize::MAX);
        while self.events.len() > most || self.bytes > MOST_BYTES && self.events.len() > 1 {
            let gone = self.events.pop_front();
            self.bytes -= gone.map_or(0, |gone| gone.text.len());
        }
    }
}

/// Clients hear of a run also where it cannot be recorded.
fn noted(outcome: hermes_store::Result<()>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "an event of a run was not recorded");
    }
}

/// The client of a run, who approves by request.
impl TurnApprover for Run {
    fn approve(&self, request: &ApprovalRequest) -> Answer {
        let mut choices = vec!["once"];
        if request.offer_session {
            choices.push("session");
        }
        if request.offer_always {
            choices.push("always");
        }
        choices.push("deny");
        let until = Instant::now() + request.timeout;
        let mut state = self.state();
        state.last_question += 1;
        let own = state.last_question;
        state.questions.push_back((own, None));
        state.set(json!({"status": "waiting_for_approval"}));
        let fields = json!({
            "command": request.command,
            "description": request.description,
            "pattern_keys": request.keys,
            "advice": request.advice,
            "timeout_seconds": request.timeout.as_secs(),
            "choices": choices,
        });
        self.add(&mut state, "approval.request", fields);
        self.news.send_replace(state.last);
        loop {
            let place = state
                .questions
                .iter()
                .position(|(number, _)| *number == own);
            let given = place.and_then(|at| state.questions.get(at)?.1.clone());
            let left = until.saturating_duration_since(Instant::now());
            let is_over = place.is_none() || left.is_zero() || self.control.cause().is_some();
            if given.is_some() || is_over {
                if let Some(at) = place {
                    drop(state.questions.remove(at));
                }
                if given.is_none() && self.control.cause().is_none() {
                    state.set(json!({"status": "running"}));
                }
                let answer = given.unwrap_or(Answer::Deny(None));
                return within(answer, request);
            }
            let waited = self.answered.wait_timeout(state, left.min(LOOK));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// No more than was offered.
fn within(answer: Answer, request: &ApprovalRequest) -> Answer {
    match answer {
        Answer::Always if request.offer_always => Answer::Always,
        Answer::Always | Answer::Session if request.offer_session => Answer::Session,
        Answer::Always | Answer::Session | Answer::Once => Answer::Once,
        Answer::Deny(reason) => Answer::Deny(reason),
    }
}
