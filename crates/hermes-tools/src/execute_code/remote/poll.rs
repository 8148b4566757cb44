//! The tool calls of a script on a remote host: requests are fetched, answers are brought.
//!
//! Each fetch waits there for a while, so that an idle script costs one query every few seconds.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_proc::Wake;
use hermes_terminal::remote::ScriptRunner;
use serde_json::Value;

use crate::execute_code::calls::{Calls, MAX_REQUEST, Reply, too_long};
use crate::remote::{ScriptAnswer, ScriptQuery};

const POLL: &str = include_str!("scripts/poll.sh");
const ANSWER: &str = include_str!("scripts/answer.sh");

/// How often one fetch looks for requests, 20 times a second.
const LOOKS: u32 = 40;
/// Bytes of requests after which a fetch ends.
const MOST_REQUESTS: usize = 16 * 1024 * 1024;
/// How long an answer may be on its way.
const DELIVERY_LIMIT: Duration = Duration::from_mins(1);

/// Fetches requests until the script has ended.
pub(super) struct Fetcher {
    pub(super) host: Arc<dyn ScriptRunner>,
    /// The directory of the script.
    pub(super) stage: String,
    pub(super) calls: Calls,
    /// Ends the fetching.
    pub(super) enough: Arc<Wake>,
    pub(super) trouble: Arc<Trouble>,
}

/// Why a script has to end because it can no longer be served: a request or an answer was lost, and
/// whoever waits for it would wait for ever.
pub(super) struct Trouble {
    /// Ends the script.
    pub(super) stop: Wake,
    reason: Mutex<Option<String>>,
}

impl Trouble {
    pub(super) fn new(stop: Wake) -> Self {
        Self {
            stop,
            reason: Mutex::default(),
        }
    }

    /// The first of what went wrong.
    pub(super) fn reason(&self) -> Option<String> {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.clone()
    }

    fn note(&self, message: &str) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert_with(|| message.to_owned());
        drop(reason);
        self.stop.raise();
    }
}

impl Fetcher {
    /// Serves until the script has ended, or until it cannot be served any longer.
    pub(super) fn serve(&self) {
        while !self.enough.is_raised() {
            match self.fetch() {
                Ok(Fetched::Requests) => {}
                Ok(Fetched::End) => return,
                Err(_) if self.enough.is_raised() => return,
                Err(message) => return self.trouble.note(&message),
            }
        }
    }

    fn fetch(&self) -> Result<Fetched, String> {
        let looks = LOOKS.to_string();
        let longest = MAX_REQUEST.to_string();
        let room = MOST_REQUESTS.to_string();
        let mut answer = ScriptQuery {
            arguments: &[
                self.stage.as_bytes(),
                looks.as_bytes(),
                longest.as_bytes(),
                room.as_bytes(),
            ],
            most_output: MOST_REQUESTS + MAX_REQUEST,
            ..ScriptQuery::new(POLL, &self.enough)
        }
        .ask(self.host.as_ref())?;
        match answer.text()?.as_str() {
            "requests" => {
                while !answer.rest().is_empty() {
                    self.take(&mut answer)?;
                }
                Ok(Fetched::Requests)
            }
            "nothing" => Ok(Fetched::Requests),
            "done" | "gone" => Ok(Fetched::End),
            _ => Err(answer.nonsense()),
        }
    }

    fn take(&self, answer: &mut ScriptAnswer) -> Result<(), String> {
        let number = answer.text()?;
        let size = usize::try_from(answer.number()?).unwrap_or(usize::MAX);
        let request = answer.take(size)?;
        // The name of a file the script made; ours are numbers.
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        let delivery = Delivery {
            host: Arc::clone(&self.host),
            stage: self.stage.clone(),
            number,
            trouble: Arc::clone(&self.trouble),
            enough: Arc::clone(&self.enough),
        };
        let reply: Reply = Arc::new(move |result| delivery.bring(result));
        let handled = if size == 0 {
            reply(&too_long())
        } else {
            self.calls.handle(&request, &reply)
        };
        handled.map_err(|error| error.to_string())
    }
}

enum Fetched {
    /// Some or none; there may be more.
    Requests,
    /// The script has ended.
    End,
}

/// The way of one answer.
struct Delivery {
    host: Arc<dyn ScriptRunner>,
    stage: String,
    number: String,
    trouble: Arc<Trouble>,
    enough: Arc<Wake>,
}

impl Delivery {
    fn bring(&self, result: &Value) -> io::Result<()> {
        let text = result.to_string();
        let length = text.len().to_string();
        let answered = ScriptQuery {
            arguments: &[
                self.stage.as_bytes(),
                self.number.as_bytes(),
                length.as_bytes(),
            ],
            input: text.as_bytes(),
            limit: DELIVERY_LIMIT,
            ..ScriptQuery::new(ANSWER, &self.enough)
        }
        .ask(self.host.as_ref())
        .and_then(|mut answer| match answer.text()?.as_str() {
            // A script that has ended needs no answer.
            "answered" | "gone" => Ok(()),
            kind => Err(answer.refusal(kind, self.stage.as_ref(), "write to")),
        });
        answered.map_err(|message| {
            if !self.enough.is_raised() {
                self.trouble.note(&message);
            }
            io::Error::other(message)
        })
    }
}
