//! What a script may call, however its requests arrive: the token, the tools, the limits.
//!
//! A request is `{"tool", "args", "token"[, "id"]}`; the answer is the tool's JSON. Requests with an
//! `id` get it back and run side by side, those without run one after the other. Nothing is called
//! without the token, beyond the limit, or after the script has ended.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::hooked::call_with_hooks;
use crate::result::error;
use crate::tool::CallContext;

/// A longer request is not kept in memory.
pub(super) const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// Calls that run side by side.
const MAX_PARALLEL: usize = 8;
/// How long calls that were under way when the script ended may take to notice.
const WIND_DOWN: Duration = Duration::from_secs(10);
/// Arguments of `terminal` that would let a call outlive its script.
const STRIPPED_OF_TERMINAL: &[&str] =
    &["background", "pty", "notify_on_complete", "watch_patterns"];

pub(super) struct CallRules {
    pub(super) token: String,
    pub(super) allowed: Vec<&'static str>,
    pub(super) max_calls: usize,
    pub(super) context: CallContext,
}

/// Sends an answer. Called once for each request, from any thread.
pub(super) type Reply = Arc<dyn Fn(&Value) -> io::Result<()> + Send + Sync>;

/// The calls of one script.
pub(super) struct Calls {
    rules: CallRules,
    state: Mutex<CallState>,
    changed: Condvar,
}

#[derive(Default)]
struct CallState {
    calls_made: usize,
    under_way: usize,
    ids: HashSet<String>,
    closed: bool,
}

impl Calls {
    pub(super) fn new(rules: CallRules) -> Arc<Self> {
        Arc::new(Self {
            rules,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Answers one request, now or from a thread of its own.
    pub(super) fn handle(self: &Arc<Self>, request: &[u8], reply: &Reply) -> io::Result<()> {
        let Ok(Value::Object(mut request)) = serde_json::from_slice(request) else {
            return reply(&error("The request is not a JSON object on one line."));
        };
        let id = request.remove("id").filter(|id| !id.is_null());
        let refuse = |refusal: Value| reply(&with_id(refusal, id.as_ref()));
        let text = |name: &str| {
            request
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (token, tool) = (text("token"), text("tool").to_owned());
        if !equal_in_constant_time(token.as_bytes(), self.rules.token.as_bytes()) {
            return refuse(error("Unauthorized RPC request"));
        }
        let mut args = request
            .remove("args")
            .unwrap_or_else(|| Value::Object(Map::new()));
        if tool == "terminal"
            && let Value::Object(args) = &mut args
        {
            args.retain(|name, _| !STRIPPED_OF_TERMINAL.contains(&name.as_str()));
        }
        if let Some(id) = &id
            && !self.take_id(id)
        {
            return refuse(error("A call with this id is still running."));
        }
        if let Err(refusal) = self.admit(&tool) {
            if let Some(id) = &id {
                self.give_id_back(id);
            }
            return refuse(refusal);
        }
        let Some(id) = id else {
            return reply(&self.run(&tool, &args));
        };
        let worker = {
            let (calls, reply) = (Arc::clone(self), Arc::clone(reply));
            let job = (tool.clone(), args.clone(), id.clone());
            move || calls.finish(&reply, job)
        };
        let started = std::thread::Builder::new()
            .name("script-call".to_owned())
            .spawn(worker);
        if started.is_err() {
            // The system gives no more threads: run it in this one.
            return self.finish(reply, (tool, args, id));
        }
        Ok(())
    }

    /// Asks the calls under way to end, and waits for none of them.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.closed = true;
        if state.under_way > 0 {
            self.rules.context.interrupt.raise();
        }
    }

    /// Ends the service: no further call, those under way are interrupted and waited for. Returns
    /// the number of calls, and a remark if one did not end in time.
    pub(super) fn close(&self) -> (usize, Option<String>) {
        let mut state = self.lock();
        state.closed = true;
        if state.under_way > 0 {
            self.rules.context.interrupt.raise();
        }
        let changed = &self.changed;
        let (state, waited) = changed
            .wait_timeout_while(state, WIND_DOWN, |state| state.under_way > 0)
            .unwrap_or_else(PoisonError::into_inner);
        let remark = "A tool call of the script was still running when the script ended.";
        let remark = waited.timed_out().then(|| remark.to_owned());
        (state.calls_made, remark)
    }

    fn lock(&self) -> MutexGuard<'_, CallState> {
        // Counters and flags: each is whole after a panic of another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an id, when few enough calls run side by side; `false` if it is in use.
    fn take_id(&self, id: &Value) -> bool {
        let is_full = |state: &mut CallState| state.ids.len() >= MAX_PARALLEL && !state.closed;
        self.changed
            .wait_while(self.lock(), is_full)
            .unwrap_or_else(PoisonError::into_inner)
            .ids
            .insert(id.to_string())
    }

    fn give_id_back(&self, id: &Value) {
        self.lock().ids.remove(&id.to_string());
        self.changed.notify_all();
    }

    /// Counts a call, if one more is allowed.
    fn admit(&self, tool: &str) -> Result<(), Value> {
        let rules = &self.rules;
        if !rules.allowed.contains(&tool) {
            let tool = hermes_text::cut(tool, 60);
            let available = match rules.allowed.as_slice() {
                [] => "none in this session".to_owned(),
                names => names.join(", "),
            };
            return Err(error(format!(
                "Tool '{tool}' is not available in scripts. Available: {available}."
            )));
        }
        let mut state = self.lock();
        if state.closed {
            return Err(error("The script has ended."));
        }
        if state.calls_made >= rules.max_calls {
            return Err(error(format!(
                "The limit of {} tool calls per script is reached; this call was not made.",
                rules.max_calls
            )));
        }
        state.calls_made += 1;
        state.under_way += 1;
        Ok(())
    }

    fn run(&self, tool: &str, args: &Value) -> Value {
        let context = &self.rules.context;
        let result = call_with_hooks(tool, args, "", context);
        self.lock().under_way -= 1;
        self.changed.notify_all();
        result
    }

    fn finish(&self, reply: &Reply, (tool, args, id): (String, Value, Value)) -> io::Result<()> {
        let result = self.run(&tool, &args);
        // Before the answer, so that the script may use the id again when it gets it.
        self.give_id_back(&id);
        reply(&with_id(result, Some(&id)))
    }
}

fn with_id(mut result: Value, id: Option<&Value>) -> Value {
    let Some(id) = id else { return result };
    match &mut result {
        Value::Object(fields) => {
            fields.insert("id".to_owned(), id.clone());
            result
        }
        _ => json!({"id": id, "result": result}),
    }
}

/// The answer to a request that was too long to be read.
pub(super) fn too_long() -> Value {
    error(format!("The request is longer than {MAX_REQUEST} bytes."))
}

/// Whether two texts are equal, in a time that depends on their lengths only.
fn equal_in_constant_time(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        assert!(equal_in_constant_time(b"abc", b"abc"));
        for other in ["", "ab", "abd", "abcd", "Abc"] {
            assert!(!equal_in_constant_time(b"abc", other.as_bytes()), "{other}");
        }
    }
}
