//! What happens in the conversation, on its way to the thread that owns the terminal.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_agent::{TurnEvent, TurnObserver};
use hermes_proc::Wake;
use hermes_providers::StreamEvent;
use serde_json::Value;

use crate::look::Look;
use crate::question::Question;
use crate::setup::{CommandName, Facts, Job, PastMessage, TurnEnd, Typed};

/// An event for the screen.
pub(crate) enum Event {
    Text(String),
    Reasoning(String),
    /// The text so far is void.
    Restart,
    Waiting {
        seconds: f64,
        reason: String,
    },
    Notice(String),
    /// The answer to something that was asked beside this conversation.
    Aside {
        title: String,
        text: String,
    },
    Warning {
        message: String,
        hint: Option<String>,
    },
    /// A long step goes on.
    Progress(String),
    CallBegan {
        id: String,
        tool: String,
        arguments: Value,
    },
    CallEnded {
        id: String,
        tool: String,
        result: String,
        took: Duration,
    },
    TurnEnded(TurnEnd),
    Facts(Box<Facts>),
    Look(Box<Look>),
    /// More commands that can be typed.
    Commands(Vec<CommandName>),
    Asked(Question),
    /// Messages from before this program was started.
    Past(Vec<PastMessage>),
    /// The person's messages, to edit one of them.
    Messages(Vec<String>),
    /// A job that had the terminal is done; the text to go on with, if it gives one.
    JobDone(Option<String>),
    /// The same, and a turn follows, with this message if it has one.
    JobTurn(Option<String>),
    /// What was typed in earlier sessions and contains the words of a search.
    Found {
        query: String,
        messages: Vec<Typed>,
    },
    /// The files for completions are known.
    FilesListed,
    /// The interface ends.
    End,
}

/// Both directions between the conversation and the screen.
pub(crate) struct Exchange {
    events: Mutex<Vec<Event>>,
    /// Readable while there are events.
    pub(crate) arrived: Wake,
    jobs: Mutex<VecDeque<Job>>,
    job_arrived: Condvar,
    /// Whether something that the person has sent waits for the end of the turn.
    has_waiting: AtomicBool,
}

impl Exchange {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            events: Mutex::default(),
            arrived: Wake::new()?,
            jobs: Mutex::default(),
            job_arrived: Condvar::new(),
            has_waiting: AtomicBool::new(false),
        })
    }

    /// Hands an event over. Text is joined with text that still waits.
    pub(crate) fn send(&self, event: Event) {
        let mut events = lock(&self.events);
        match (events.last_mut(), event) {
            (Some(Event::Text(last)), Event::Text(more))
            | (Some(Event::Reasoning(last)), Event::Reasoning(more)) => last.push_str(&more),
            (_, event) => events.push(event),
        }
        if events.len() == 1 {
            self.arrived.raise();
        }
    }

    /// Wakes the screen without an event.
    pub(crate) fn nudge(&self) {
        self.arrived.raise();
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        let mut events = lock(&self.events);
        self.arrived.clear();
        std::mem::take(&mut *events)
    }

    pub(crate) fn has_waiting_message(&self) -> bool {
        self.has_waiting.load(Ordering::SeqCst)
    }

    pub(crate) fn note_waiting(&self, has_waiting: bool) {
        self.has_waiting.store(has_waiting, Ordering::SeqCst);
    }

    pub(crate) fn submit(&self, job: Job) {
        lock(&self.jobs).push_back(job);
        self.job_arrived.notify_one();
    }

    /// Waits for the next job.
    pub(crate) fn next_job(&self) -> Job {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.pop_front() {
                return job;
            }
            let waited = self.job_arrived.wait(jobs);
            jobs = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists are changed by whole entries: each is intact after a panic of another thread.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the events of a turn.
pub struct ChatObserver(pub(crate) Arc<Exchange>);

impl TurnObserver for ChatObserver {
    fn on(&mut self, event: TurnEvent<'_>) {
        self.0.send(match event {
            TurnEvent::Stream(StreamEvent::Text(text)) => Event::Text(text),
            TurnEvent::Stream(StreamEvent::Reasoning(text)) => Event::Reasoning(text),
            TurnEvent::Stream(StreamEvent::ToolCall { .. }) | TurnEvent::Stored => return,
            TurnEvent::Stream(StreamEvent::Restart) => Event::Restart,
            TurnEvent::Stream(StreamEvent::Waiting { seconds, reason }) => {
                Event::Waiting { seconds, reason }
            }
            TurnEvent::Stream(StreamEvent::Switched(text)) | TurnEvent::Notice(text) => {
                Event::Notice(text)
            }
            TurnEvent::Calling {
                id,
                tool,
                arguments,
            } => Event::CallBegan {
                id: id.to_owned(),
                tool: tool.to_owned(),
                arguments: arguments.clone(),
            },
            TurnEvent::Called {
                id,
                tool,
                result,
                took,
            } => Event::CallEnded {
                id: id.to_owned(),
                tool: tool.to_owned(),
                result: result.to_owned(),
                took,
            },
        });
    }
}
