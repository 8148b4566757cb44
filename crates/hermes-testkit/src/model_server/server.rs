//! The server itself: a thread that accepts, and one per connection.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Wire;
use super::answer::Answer;
use super::connection::{ReceivedRequest, serve};

type AnswerScript = Box<dyn FnMut(&ReceivedRequest) -> Answer + Send>;

/// A scripted model server on loopback. Ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

/// What its threads share.
pub(super) struct ServerState {
    script: Mutex<AnswerScript>,
    others: Mutex<Vec<(String, Answer)>>,
    received: Mutex<Vec<ReceivedRequest>>,
    arrived: Condvar,
    stopping: AtomicBool,
    departures: AtomicUsize,
}

impl ServerState {
    pub(super) fn answer(&self, request: &ReceivedRequest) -> Answer {
        if Wire::of_path(&request.path).is_some() {
            return (self.script.lock().unwrap())(request);
        }
        let others = self.others.lock().unwrap();
        let path = request.path.split('?').next().unwrap_or_default();
        let found = others.iter().find(|(known, _)| known == path);
        found.map_or_else(
            || Answer::status(404, &json!({"error": "not found"})),
            |(_, answer)| answer.clone(),
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

impl ModelServer {
    /// Gives these answers to questions, in order. A question too many is refused as a bad request,
    /// which nobody asks again.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::start_with(move |_| {
            answers.pop_front().unwrap_or_else(|| {
                Answer::status(
                    400,
                    &json!({"error": {"message": "the script of the server is at its end"}}),
                )
            })
        })
    }

    /// Gives the same answer to every question.
    pub fn always(answer: Answer) -> Self {
        Self::start_with(move |_| answer.clone())
    }

    /// Answers as the function says.
    pub fn start_with(script: impl FnMut(&ReceivedRequest) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(ServerState {
            script: Mutex::new(Box::new(script)),
            others: Mutex::default(),
            received: Mutex::default(),
            arrived: Condvar::new(),
            stopping: AtomicBool::new(false),
            departures: AtomicUsize::new(0),
        });
        let threads = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if threads.is_stopping() {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&threads);
                std::thread::spawn(move || serve(stream, &shared, number));
            }
        });
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Answers another path, such as `/v1/models`.
    #[must_use]
    pub fn with(self, path: &str, answer: Answer) -> Self {
        let mut others = self.shared.others.lock().unwrap();
        others.push((path.to_owned(), answer));
        drop(others);
        self
    }

    /// `http://127.0.0.1:PORT`
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root())
    }

    /// All requests so far.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.received.lock().unwrap().clone()
    }

    /// All questions to the model so far.
    pub fn questions(&self) -> Vec<ReceivedRequest> {
        let all = self.received();
        all.into_iter()
            .filter(|request| Wire::of_path(&request.path).is_some())
            .collect()
    }

    /// Waits until so many questions have come.
    pub fn wait_for_questions(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut received = self.shared.received.lock().unwrap();
        loop {
            let questions = received
                .iter()
                .filter(|request| Wire::of_path(&request.path).is_some());
            if questions.count() >= count {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "fewer than {count} questions in a minute");
            received = self.shared.arrived.wait_timeout(received, left).unwrap().0;
        }
    }

    /// Waits until a client went away in the middle of an answer.
    pub fn wait_for_departure(&self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut received = self.shared.received.lock().unwrap();
        while self.shared.departures.load(Ordering::SeqCst) == 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no client went away within a minute");
            received = self.shared.arrived.wait_timeout(received, left).unwrap().0;
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}
