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

pub(super) struct RequestFiles {
    pub(super) host: Arc<dyn ScriptRunner>,
    /// The directory of the script.
    pub(super) stage: String,
    pub(super) calls: Arc<Calls>,
    /// Ends the fetching.
    pub(super) enough: Wake,
    /// Ends the script.
    pub(super) stop: Wake,
    /// Why the script has to end because it can no longer be served: a request or an answer was
    /// lost, and whoever waits for it would wait for ever.
    pub(super) trouble: Mutex<Option<String>>,
}

impl RequestFiles {
    /// Serves until the script has ended, or until it cannot be served any longer.
    pub(super) fn serve(self: &Arc<Self>) {
        while !self.enough.is_raised() {
            match self.fetch() {
                Ok(true) => {}
                Ok(false) => return,
                Err(message) => return self.note(&message),
            }
        }
    }

    /// The first of what went wrong.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock();
        trouble.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, message: &str) {
        if self.enough.is_raised() {
            return;
        }
        let trouble = self.trouble.lock();
        trouble
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| message.to_owned());
        self.stop.raise();
    }

    /// Fetches requests once; whether there may be more.
    fn fetch(self: &Arc<Self>) -> Result<bool, String> {
        let numbers = [LOOKS as usize, MAX_REQUEST, MOST_REQUESTS].map(|number| number.to_string());
        let mut arguments = vec![self.stage.as_bytes()];
        arguments.extend(numbers.iter().map(String::as_bytes));
        let mut answer = ScriptQuery {
            arguments: &arguments,
            most_output: MOST_REQUESTS + MAX_REQUEST,
            ..ScriptQuery::new(POLL, &self.enough)
        }
        .ask(self.host.as_ref())?;
        match answer.text()?.as_str() {
            "requests" => {
                while !answer.rest().is_empty() {
                    self.take(&mut answer)?;
                }
                Ok(true)
            }
            "nothing" => Ok(true),
            "done" | "gone" => Ok(false),
            _ => Err(answer.nonsense()),
        }
    }

    fn take(self: &Arc<Self>, answer: &mut ScriptAnswer) -> Result<(), String> {
        let number = answer.text()?;
        let size = usize::try_from(answer.number()?).unwrap_or(usize::MAX);
        let request = answer.take(size)?;
        // The name of a file the script made; ours are numbers.
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        let files = Arc::clone(self);
        let reply: Reply = Arc::new(move |result| files.bring(&number, result));
        let handled = if size == 0 {
            reply(&too_long())
        } else {
            self.calls.handle(&request, &reply)
        };
        handled.map_err(|error| error.to_string())
    }

    /// Brings the answer to a request.
    fn bring(&self, number: &str, result: &Value) -> io::Result<()> {
        let text = result.to_string();
        let length = text.len().to_string();
        let answered = ScriptQuery {
            arguments: &[self.stage.as_bytes(), number.as_bytes(), length.as_bytes()],
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
            self.note(&message);
            io::Error::other(message)
        })
    }
}
