//! What a server has received, and what its threads share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use super::Wire;
use super::answer::ScriptedAnswer;

pub(super) type AnswerScript = Box<dyn FnMut(&ReceivedRequest) -> ScriptedAnswer + Send>;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// `POST`, mostly.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is none.
    pub body: Value,
    /// The body as it came.
    pub raw: Vec<u8>,
    /// When it had come.
    pub at: Instant,
    /// Which connection of the server it came on.
    pub connection: usize,
}

impl ReceivedRequest {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a text is anywhere in it: headers, path or body.
    pub fn contains(&self, text: &str) -> bool {
        self.path.contains(text)
            || self.headers.iter().any(|(_, value)| value.contains(text))
            || String::from_utf8_lossy(&self.raw).contains(text)
    }
}

/// What the threads of a server share.
pub(super) struct ServerState {
    script: Mutex<AnswerScript>,
    pub(super) others: Mutex<Vec<(String, AnswerScript)>>,
    pub(super) received: Mutex<Vec<ReceivedRequest>>,
    pub(super) arrived: Condvar,
    pub(super) stopping: AtomicBool,
    pub(super) departures: AtomicUsize,
}

impl ServerState {
    pub(super) fn new(script: AnswerScript) -> Self {
        Self {
            script: Mutex::new(script),
            others: Mutex::default(),
            received: Mutex::default(),
            arrived: Condvar::new(),
            stopping: AtomicBool::new(false),
            departures: AtomicUsize::new(0),
        }
    }

    pub(super) fn answer(&self, request: &ReceivedRequest) -> ScriptedAnswer {
        if Wire::of_path(&request.path).is_some() {
            return (self.script.lock().unwrap())(request);
        }
        let mut others = self.others.lock().unwrap();
        let path = request.path.split('?').next().unwrap_or_default();
        let found = others.iter_mut().find(|(known, _)| known == path);
        found.map_or_else(
            || ScriptedAnswer::status(404, &json!({"error": "not found"})),
            |(_, script)| script(request),
        )
    }

    pub(super) fn record(&self, request: ReceivedRequest) {
        self.received.lock().unwrap().push(request);
        self.arrived.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(super) fn note_departure(&self) {
        self.departures.fetch_add(1, Ordering::SeqCst);
        drop(self.received.lock().unwrap());
        self.arrived.notify_all();
    }
}
