//! The socket through which a script calls tools: JSON lines, one client at a time.
//!
//! A request is `{"tool", "args", "token"[, "id"]}`; the answer is the tool's JSON. Requests with an
//! `id` get it back and run side by side, those without run one after the other. Nothing is called
//! without the token, beyond the limit, or after the script has ended.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::context::CallContext;
use crate::tool::error;

/// A longer request is not kept in memory.
const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// Calls that run side by side.
const MAX_PARALLEL: usize = 8;
/// How long calls that were under way when the script ended may take to notice.
const WIND_DOWN: Duration = Duration::from_secs(10);
/// How long a second connection waits for the first to be let go.
const LET_GO: Duration = Duration::from_millis(100);
/// Arguments of `terminal` that would let a call outlive its script.
const STRIPPED_OF_TERMINAL: &[&str] =
    &["background", "pty", "notify_on_complete", "watch_patterns"];

/// What the script may do.
pub(super) struct RpcRules {
    pub(super) token: String,
    pub(super) allowed: Vec<&'static str>,
    pub(super) max_calls: usize,
    /// The context of the calls.
    pub(super) context: CallContext,
}

/// Serves the calls of one script.
pub(super) struct RpcServer {
    shared: Arc<Shared>,
}

struct Shared {
    rules: RpcRules,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    client: Option<UnixStream>,
    calls_made: usize,
    under_way: usize,
    ids: HashSet<String>,
    closed: bool,
}

impl RpcServer {
    pub(super) fn new(rules: RpcRules) -> Self {
        Self {
            shared: Arc::new(Shared {
                rules,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// Takes a connection: as the client if there is none, else it is told so and closed.
    pub(super) fn take(&self, stream: UnixStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        // One that was closed a moment ago may not have been noticed yet.
        let mut state = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), LET_GO, |state| state.client.is_some())
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        if state.client.is_some() || state.closed {
            drop(state);
            let refusal = error("Another connection of this script is open; it has one.");
            // Whoever sends first and reads later still finds the line.
            return answer(&Mutex::new(stream), &refusal);
        }
        state.client = Some(stream.try_clone()?);
        drop(state);
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new()
            .name("script-calls".to_owned())
            .spawn(move || {
                serve(&shared, stream);
                shared.lock().client = None;
                shared.changed.notify_all();
            })
            .map(drop)
    }

    /// Ends the service: no further call, those under way are interrupted and waited for. Returns
    /// the number of calls, and a remark if one did not end in time.
    pub(super) fn close(&self) -> (usize, Option<String>) {
        let mut state = self.shared.lock();
        state.closed = true;
        if let Some(client) = &state.client {
            // Wakes the reader; a client that has gone already is what we want.
            drop(client.shutdown(std::net::Shutdown::Both));
        }
        let mut remark = None;
        if state.under_way > 0 {
            self.shared.rules.context.interrupt.raise();
            let deadline = Instant::now() + WIND_DOWN;
            while state.under_way > 0 {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    remark = Some(
                        "A tool call of the script was still running when the script ended."
                            .to_owned(),
                    );
                    break;
                }
                state = self
                    .shared
                    .changed
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
        }
        (state.calls_made, remark)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Counters and flags: each is whole after a panic of another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, if one more is allowed.
    fn admit(&self, tool: &str) -> Result<(), Value> {
        let rules = &self.rules;
        if !rules.allowed.contains(&tool) {
            let tool: String = tool.chars().take(60).collect();
            return Err(error(format!(
                "Tool '{tool}' is not available in scripts. Available: {}.",
                rules.allowed.join(", ")
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
        let result = context.registry.call(tool, args, context);
        self.lock().under_way -= 1;
        self.changed.notify_all();
        result
    }
}

fn serve(shared: &Arc<Shared>, stream: UnixStream) {
    let writer = match stream.try_clone() {
        Ok(writer) => Arc::new(Mutex::new(writer)),
        Err(error) => {
            tracing::warn!("a script's connection was lost: {error}");
            return;
        }
    };
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    loop {
        let sent = match next_request(&mut reader) {
            Ok(Line::End) => return,
            Ok(Line::TooLong) => answer(
                &writer,
                &error(format!("The request is longer than {MAX_REQUEST} bytes.")),
            ),
            Ok(Line::Text(line)) => handle(shared, &writer, &line),
            Err(error) => Err(error),
        };
        if sent.is_err() {
            // The script is gone or has closed its end; nobody is left to tell.
            return;
        }
    }
}

/// Answers one request, now or from a thread of its own.
fn handle(
    shared: &Arc<Shared>,
    writer: &Arc<Mutex<UnixStream>>,
    line: &[u8],
) -> std::io::Result<()> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let Ok(Value::Object(mut request)) = serde_json::from_slice(line) else {
        return answer(
            writer,
            &error("The request is not a JSON object on one line."),
        );
    };
    let id = request.remove("id").filter(|id| !id.is_null());
    let reply = |result: Value| answer(writer, &with_id(result, id.as_ref()));
    let token = request
        .get("token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !same(token.as_bytes(), shared.rules.token.as_bytes()) {
        return reply(error("Unauthorized RPC request"));
    }
    let tool = request
        .get("tool")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut args = request
        .remove("args")
        .unwrap_or_else(|| Value::Object(Map::new()));
    if tool == "terminal"
        && let Value::Object(args) = &mut args
    {
        args.retain(|name, _| !STRIPPED_OF_TERMINAL.contains(&name.as_str()));
    }
    if let Some(id) = &id {
        let mut state = shared.lock();
        while state.ids.len() >= MAX_PARALLEL && !state.closed {
            state = shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if !state.ids.insert(id.to_string()) {
            drop(state);
            return reply(error("A call with this id is still running."));
        }
    }
    if let Err(refusal) = shared.admit(&tool) {
        if let Some(id) = &id {
            shared.lock().ids.remove(&id.to_string());
        }
        return reply(refusal);
    }
    let Some(id) = id else {
        return answer(writer, &shared.run(&tool, &args));
    };
    let worker = {
        let (shared, writer) = (Arc::clone(shared), Arc::clone(writer));
        let job = (tool.clone(), args.clone(), id.clone());
        move || finish(&shared, &writer, job)
    };
    let started = std::thread::Builder::new()
        .name("script-call".to_owned())
        .spawn(worker);
    if started.is_err() {
        // No thread to be had: then one after the other.
        return finish(shared, writer, (tool, args, id));
    }
    Ok(())
}

fn finish(
    shared: &Shared,
    writer: &Mutex<UnixStream>,
    (tool, args, id): (String, Value, Value),
) -> std::io::Result<()> {
    let result = shared.run(&tool, &args);
    // Before the answer, so that whoever has it may use the id again.
    shared.lock().ids.remove(&id.to_string());
    shared.changed.notify_all();
    answer(writer, &with_id(result, Some(&id)))
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

fn answer(writer: &Mutex<UnixStream>, result: &Value) -> std::io::Result<()> {
    let mut line = result.to_string();
    line.push('\n');
    let mut stream = writer.lock().unwrap_or_else(PoisonError::into_inner);
    stream.write_all(line.as_bytes())
}

/// Whether two texts are equal, in a time that depends on their lengths only.
fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

fn next_request(reader: &mut impl BufRead) -> std::io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            // A last line without an end is a request that was cut off.
            return Ok(Line::End);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (piece, taken) = match end {
            Some(end) => (buffer.get(..end).unwrap_or_default(), end + 1),
            None => (buffer, buffer.len()),
        };
        too_long |= line.len() + piece.len() > MAX_REQUEST;
        if !too_long {
            line.extend_from_slice(piece);
        }
        reader.consume(taken);
        if end.is_some() {
            return Ok(if too_long {
                Line::TooLong
            } else {
                Line::Text(line)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        assert!(same(b"abc", b"abc"));
        for other in ["", "ab", "abd", "abcd", "Abc"] {
            assert!(!same(b"abc", other.as_bytes()), "{other}");
        }
    }
}
