//! One run: its status, its events, and the questions it waits for.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_policy::{Answer, ApprovalRequest};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::clock::unix_time;
use crate::turn::{TurnApprover, TurnControl};

/// Events that can be read again.
const MOST_EVENTS: usize = 1_000;
/// Their bytes.
const MOST_BYTES: usize = 4 << 20;
/// A stopped run is noticed by a question that waits at least this often.
const LOOK: Duration = Duration::from_millis(200);

/// A numbered event.
#[derive(Debug, Clone)]
pub(super) struct RunEvent {
    pub(super) number: u64,
    pub(super) text: Arc<str>,
}

/// A run.
pub(crate) struct Run {
    pub(super) id: String,
    pub(super) control: Arc<TurnControl>,
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
    finished: Option<Instant>,
    /// Questions that wait, oldest first; the answer once there is one.
    questions: VecDeque<(u64, Option<Answer>)>,
    last_question: u64,
}

impl Run {
    pub(super) fn new(id: String, session: &str, model: &str) -> Self {
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
        Self {
            id,
            control: Arc::default(),
            state: Mutex::new(RunState {
                status: status.into_iter().collect(),
                events: VecDeque::new(),
                bytes: 0,
                last: 0,
                finished: None,
                questions: VecDeque::new(),
                last_question: 0,
            }),
            answered: Condvar::new(),
            news: watch::Sender::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Value {
        Value::Object(self.state().status.clone())
    }

    /// When it was over; `None` while it is not.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.state().finished
    }

    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Events after this number, and whether there will be no more.
    pub(super) fn events_after(&self, number: u64) -> (Vec<RunEvent>, bool) {
        let state = self.state();
        let events = state.events.iter().filter(|event| event.number > number);
        (events.cloned().collect(), state.finished.is_some())
    }

    /// Changes fields of the status.
    pub(super) fn set(&self, fields: Value) {
        self.state().set(fields);
    }

    /// Adds an event.
    pub(super) fn tell(&self, name: &str, fields: Value) {
        let mut state = self.state();
        state.tell(&self.id, name, fields);
        let last = state.last;
        drop(state);
        self.news.send_replace(last);
    }

    /// The last event.
    pub(super) fn finish(&self, status: &str, event: &str, fields: &Value) {
        let mut state = self.state();
        state.set(json!({"status": status}));
        state.set(fields.clone());
        state.tell(&self.id, event, fields.clone());
        state.finished = Some(Instant::now());
        state.questions.clear();
        let last = state.last;
        drop(state);
        self.answered.notify_all();
        self.news.send_replace(last);
    }

    /// Stops the run; `false` if it is over already.
    pub(super) fn stop(&self) -> bool {
        let mut state = self.state();
        if state.finished.is_some() {
            return false;
        }
        state.set(json!({"status": "stopping", "last_event": "run.stopping"}));
        drop(state);
        self.control.stop();
        self.answered.notify_all();
        true
    }

    /// Answers the oldest question, or all of them. Gives how many were waiting for one.
    pub(super) fn answer(&self, answer: &Answer, all: bool, choice: &str) -> usize {
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
            state.tell(&self.id, "approval.responded", fields);
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

    fn tell(&mut self, id: &str, name: &str, fields: Value) {
        let mut event = json!({"event": name, "run_id": id, "timestamp": unix_time()});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.last += 1;
        self.set(json!({"last_event": name}));
        let text: Arc<str> = event.to_string().into();
        self.bytes += text.len();
        self.events.push_back(RunEvent {
            number: self.last,
            text,
        });
        while self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES && self.events.len() > 1 {
            let gone = self.events.pop_front();
            self.bytes -= gone.map_or(0, |gone| gone.text.len());
        }
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
        state.tell(&self.id, "approval.request", fields);
        self.news.send_replace(state.last);
        loop {
            let place = state
                .questions
                .iter()
                .position(|(number, _)| *number == own);
            let given = place.and_then(|at| state.questions.get(at)?.1.clone());
            let left = until.saturating_duration_since(Instant::now());
            let is_over = place.is_none() || left.is_zero() || self.control.is_stopped();
            if given.is_some() || is_over {
                if let Some(at) = place {
                    drop(state.questions.remove(at));
                }
                if given.is_none() && !self.control.is_stopped() {
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
