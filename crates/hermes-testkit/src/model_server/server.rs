//! The server itself: a thread that accepts, and one per connection.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Wire;
use super::answer::ScriptedAnswer;
use super::connection::serve;
use super::state::{ReceivedRequest, ServerState};

/// A scripted model server on loopback. Ends when dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Gives these answers to questions, in order. A question too many is refused as a bad request,
    /// which nobody asks again.
    pub fn start(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        let mut answers: VecDeque<ScriptedAnswer> = answers.into_iter().collect();
        Self::start_with(move |_| {
            answers.pop_front().unwrap_or_else(|| {
                ScriptedAnswer::status(
                    400,
                    &json!({"error": {"message": "the script of the server is at its end"}}),
                )
            })
        })
    }

    /// Gives the same answer to every question.
    pub fn always(answer: ScriptedAnswer) -> Self {
        Self::start_with(move |_| answer.clone())
    }

    /// Answers as the function says.
    pub fn start_with(
        script: impl FnMut(&ReceivedRequest) -> ScriptedAnswer + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(ServerState::new(Box::new(script)));
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
    pub fn with(self, path: &str, answer: ScriptedAnswer) -> Self {
        self.with_script(path, move |_| answer.clone())
    }

    /// Answers another path as the function says.
    #[must_use]
    pub fn with_script(
        self,
        path: &str,
        script: impl FnMut(&ReceivedRequest) -> ScriptedAnswer + Send + 'static,
    ) -> Self {
        let mut others = self.shared.others.lock().unwrap();
        others.push((path.to_owned(), Box::new(script)));
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
