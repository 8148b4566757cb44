//! One service in one conversation: recalls within a moment, keeps turns in the background, and is
//! left alone while it fails.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_proc::{Wake, wait_for_any};
use serde_json::{Value, json};

use crate::backend::{CompletedTurn, Failure, MemoryBackend, MemoryTool};
use crate::breaker::Breaker;
use crate::fence::{fenced, without_recalled};

/// Longest wait of a message for what is known about it.
const RECALL_WAIT: Duration = Duration::from_secs(3);
/// Turns that wait to be kept; of more the oldest is given up.
const MOST_WAITING: usize = 64;
/// Longest wait for the queue at the end of a conversation.
const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// Most characters of a message that something is recalled for.
const MOST_QUERY: usize = 2_000;
/// Most characters of one side of a kept turn.
const MOST_SAID: usize = 50_000;

/// Tells the person something, in one line.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// A memory service as a conversation uses it.
pub struct MemoryService {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    tools: Vec<MemoryTool>,
}

struct Shared {
    backend: Box<dyn MemoryBackend>,
    breaker: Breaker,
    tell: Tell,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Ends what is under way in the background.
    stop: Wake,
    /// Whether an earlier recall still runs.
    is_recalling: AtomicBool,
}

#[derive(Default)]
struct Queue {
    turns: VecDeque<CompletedTurn>,
    is_busy: bool,
    is_closing: bool,
    /// Turns that were given up.
    lost: usize,
    /// Whether the person knows that the service fails.
    is_told: bool,
}

impl std::fmt::Debug for MemoryService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MemoryService").field(&self.name()).finish()
    }
}

impl MemoryService {
    /// `tell` is called with what the person has to know.
    pub fn new(
        backend: Box<dyn MemoryBackend>,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Ok(Self {
            tools: backend.tools(),
            shared: Arc::new(Shared {
                backend,
                breaker: Breaker::default(),
                tell: Box::new(tell),
                queue: Mutex::default(),
                changed: Condvar::new(),
                stop: Wake::new()?,
                is_recalling: AtomicBool::new(false),
            }),
            writer: Mutex::new(None),
        })
    }

    /// The name in `memory.provider`.
    pub fn name(&self) -> &str {
        self.shared.backend.name()
    }

    /// The tools that the model gets.
    pub fn tools(&self) -> &[MemoryTool] {
        &self.tools
    }

    /// Whether turns are kept with the whole conversation.
    pub fn wants_conversation(&self) -> bool {
        self.shared.backend.wants_conversation()
    }

    /// What is known about a message, as a block to be sent with it. Waits 3 seconds at most.
    pub fn recall(&self, message: &str, session: &str, interrupt: &Wake) -> Option<String> {
        let query = hermes_text::cut(&without_recalled(message), MOST_QUERY).to_owned();
        if query.trim().is_empty() || self.shared.breaker.is_open(Instant::now()) {
            return None;
        }
        if self.shared.is_recalling.swap(true, Ordering::SeqCst) {
            return None;
        }
        let asked = Recall::start(&self.shared, query, session.to_owned());
        let asked = asked
            .inspect_err(|_| self.shared.is_recalling.store(false, Ordering::SeqCst))
            .ok()?;
        match asked.wait(interrupt) {
            Some(Ok(facts)) => {
                self.shared.succeeded();
                fenced(&facts)
            }
            Some(Err(failure)) => {
                self.shared.failed("recalled nothing", &failure);
                None
            }
            None if interrupt.is_raised() => None,
            None => {
                let seconds = RECALL_WAIT.as_secs();
                let failure = Failure::new(format!("no answer within {seconds} s"));
                self.shared.failed("recalled nothing", &failure);
                None
            }
        }
    }

    /// Keeps a turn, later.
    pub fn keep(&self, mut turn: CompletedTurn) {
        for text in [&mut turn.user, &mut turn.assistant] {
            let kept = without_recalled(text);
            hermes_text::cut(&kept, MOST_SAID).clone_into(text);
        }
        for said in &mut turn.conversation {
            said.text = without_recalled(&said.text);
        }
        if turn.user.is_empty() || turn.assistant.is_empty() {
            return;
        }
        {
            let mut queue = self.shared.lock();
            if queue.is_closing {
                return;
            }
            if queue.turns.len() >= MOST_WAITING {
                queue.turns.pop_front();
                queue.lost += 1;
            }
            queue.turns.push_back(turn);
        }
        self.shared.changed.notify_all();
        self.ensure_writer();
    }

    /// Calls a tool of the service.
    pub fn call(&self, tool: &str, args: &Value, interrupt: &Wake) -> Value {
        let name = self.name();
        if self.shared.breaker.is_open(Instant::now()) {
            return json!({"error": format!(
                "The memory service {name} has failed several times and is left alone for two minutes."
            )});
        }
        match self.shared.backend.call(tool, args, interrupt) {
            Ok(value) => {
                self.shared.breaker.succeeded();
                value
            }
            Err(failure) => {
                if !failure.is_of_request && !interrupt.is_raised() {
                    self.shared.breaker.failed(Instant::now());
                }
                json!({"error": format!("The memory service {name}: {failure}.")})
            }
        }
    }

    /// Ends the service. What waits to be kept gets 5 seconds, unless `interrupt` is raised.
    pub fn close(&self, interrupt: &Wake) {
        let Some(writer) = self.lock_writer().take() else {
            return;
        };
        let done = match Wake::new() {
            Ok(done) => Arc::new(done),
            Err(_) => return,
        };
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        let joined = {
            let done = Arc::clone(&done);
            std::thread::Builder::new()
                .name("hermes-memory-end".to_owned())
                .spawn(move || {
                    if writer.join().is_err() {
                        tracing::error!("keeping turns in a memory service panicked");
                    }
                    done.raise();
                })
        };
        let Ok(joined) = joined else { return };
        if wait_for_any(&[&done, interrupt], CLOSE_WAIT) != Some(0) {
            let mut queue = self.shared.lock();
            queue.lost += queue.turns.len() + usize::from(queue.is_busy);
            queue.turns.clear();
            drop(queue);
            self.shared.stop.raise();
        }
        drop(joined.join());
        let lost = std::mem::take(&mut self.shared.lock().lost);
        if lost > 0 {
            let name = self.name();
            let turns = if lost == 1 { "turn was" } else { "turns were" };
            (self.shared.tell)(&format!(
                "{lost} {turns} not given to the memory service {name}; the session has them"
            ));
        }
    }

    fn ensure_writer(&self) {
        let mut writer = self.lock_writer();
        if writer.is_some() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new()
            .name("hermes-memory".to_owned())
            .spawn(move || shared.write());
        match started {
            Ok(thread) => *writer = Some(thread),
            Err(error) => tracing::warn!(%error, "turns are not given to the memory service"),
        }
    }

    fn lock_writer(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryService {
    fn drop(&mut self) {
        let writer = self.lock_writer().take();
        if let Some(writer) = writer {
            // Nobody has closed it: a conversation that failed to open, or a panic.
            self.shared.lock().is_closing = true;
            self.shared.stop.raise();
            self.shared.changed.notify_all();
            drop(writer.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one turn after the other until the service is closed and nothing waits.
    fn write(&self) {
        while let Some(turn) = self.next_turn() {
            let kept = if self.breaker.is_open(Instant::now()) {
                Err(Failure::new("it is left alone after several failures"))
            } else {
                self.backend.keep(&turn, &self.stop)
            };
            let is_stopped = self.stop.is_raised();
            self.lock().is_busy = false;
            match kept {
                Ok(()) => self.succeeded(),
                // Counted by who has stopped it.
                Err(_) if is_stopped => {}
                Err(failure) => {
                    self.failed("did not take a turn", &failure);
                }
            }
        }
    }

    fn next_turn(&self) -> Option<CompletedTurn> {
        let mut queue = self.lock();
        loop {
            if let Some(turn) = queue.turns.pop_front() {
                queue.is_busy = true;
                return Some(turn);
            }
            if queue.is_closing {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn succeeded(&self) {
        self.breaker.succeeded();
        self.lock().is_told = false;
    }

    /// Counts a failure, and tells of it unless that was said before and nothing has worked since.
    fn failed(&self, what: &str, failure: &Failure) {
        let name = self.backend.name();
        tracing::warn!("the memory service {name} {what}: {failure}");
        if !failure.is_of_request {
            self.breaker.failed(Instant::now());
        }
        if std::mem::replace(&mut self.lock().is_told, true) {
            return;
        }
        (self.tell)(&format!(
            "the memory service {name} {what}: {failure}; the conversation goes on without it"
        ));
    }
}

/// A recall under way.
struct Recall {
    done: Arc<Wake>,
    stop: Arc<Wake>,
    found: Arc<Mutex<Option<Recalled>>>,
}

type Recalled = Result<Vec<String>, Failure>;

impl Recall {
    fn start(shared: &Arc<Shared>, query: String, session: String) -> std::io::Result<Self> {
        let recall = Self {
            done: Arc::new(Wake::new()?),
            stop: Arc::new(Wake::new()?),
            found: Arc::default(),
        };
        let (done, stop) = (Arc::clone(&recall.done), Arc::clone(&recall.stop));
        let found = Arc::clone(&recall.found);
        let shared = Arc::clone(shared);
        std::thread::Builder::new()
            .name("hermes-recall".to_owned())
            .spawn(move || {
                let facts = shared.backend.recall(&query, &session, &stop);
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
                shared.is_recalling.store(false, Ordering::SeqCst);
                done.raise();
            })?;
        Ok(recall)
    }

    /// The facts; `None` if they did not come in time, and then nobody waits for them any more.
    fn wait(self, interrupt: &Wake) -> Option<Recalled> {
        if wait_for_any(&[&self.done, interrupt], RECALL_WAIT) != Some(0) {
            self.stop.raise();
            return None;
        }
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
