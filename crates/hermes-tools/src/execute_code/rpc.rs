//! The socket through which a script of this machine calls tools: JSON lines, one client at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::calls::{Calls, MAX_REQUEST, Reply, too_long};
use crate::result::error;

/// How long a second connection waits for the first one to be closed.
const RECONNECT_TIMEOUT: Duration = Duration::from_millis(100);

pub(super) struct RpcServer {
    calls: Arc<Calls>,
    connection: Arc<ScriptConnection>,
}

#[derive(Default)]
struct ScriptConnection {
    client: Mutex<Option<UnixStream>>,
    changed: Condvar,
}

impl RpcServer {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Self {
            calls,
            connection: Arc::default(),
        }
    }

    /// Takes a connection: as the client if there is none, else it is told so and closed.
    pub(super) fn take(&self, stream: UnixStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        // A connection that was just closed may not have been noticed yet.
        let mut client = self
            .connection
            .changed
            .wait_timeout_while(self.connection.lock(), RECONNECT_TIMEOUT, |client| {
                client.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        if client.is_some() {
            drop(client);
            let refusal = error("This script already has an open connection; only one is allowed.");
            // A client that sends first and reads later still gets the line.
            return answer(&Mutex::new(stream), &refusal);
        }
        *client = Some(stream.try_clone()?);
        drop(client);
        let (calls, connection) = (Arc::clone(&self.calls), Arc::clone(&self.connection));
        std::thread::Builder::new()
            .name("script-calls".to_owned())
            .spawn(move || {
                serve(&calls, stream);
                *connection.lock() = None;
                connection.changed.notify_all();
            })
            .map(drop)
    }

    /// Asks the calls under way to end, as [`Calls::stop`] says; nothing is answered any more.
    pub(super) fn stop(&self) {
        self.hang_up();
        self.calls.stop();
    }

    /// Ends the service, as [`Calls::close`] says.
    pub(super) fn close(&self) -> (usize, Option<String>) {
        self.hang_up();
        self.calls.close()
    }

    fn hang_up(&self) {
        if let Some(client) = &*self.connection.lock() {
            // Wakes the reader; a client that has gone already is what we want.
            drop(client.shutdown(std::net::Shutdown::Both));
        }
    }
}

impl ScriptConnection {
    fn lock(&self) -> MutexGuard<'_, Option<UnixStream>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(calls: &Arc<Calls>, stream: UnixStream) {
    let writer = match stream.try_clone() {
        Ok(writer) => Mutex::new(writer),
        Err(error) => {
            tracing::warn!("a script's connection was lost: {error}");
            return;
        }
    };
    let reply: Reply = Arc::new(move |result| answer(&writer, result));
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    loop {
        let sent = match next_request(&mut reader) {
            Ok(RequestLine::End) => return,
            Ok(RequestLine::TooLong) => reply(&too_long()),
            Ok(RequestLine::Text(line)) if line.iter().all(u8::is_ascii_whitespace) => Ok(()),
            Ok(RequestLine::Text(line)) => calls.handle(&line, &reply),
            Err(error) => Err(error),
        };
        if sent.is_err() {
            // The script has ended or closed its connection.
            return;
        }
    }
}

fn answer(writer: &Mutex<UnixStream>, result: &Value) -> std::io::Result<()> {
    let mut line = result.to_string();
    line.push('\n');
    let mut stream = writer.lock().unwrap_or_else(PoisonError::into_inner);
    stream.write_all(line.as_bytes())
}

enum RequestLine {
    Text(Vec<u8>),
    TooLong,
    End,
}

fn next_request(reader: &mut impl BufRead) -> std::io::Result<RequestLine> {
    let mut line = Vec::new();
    let mut limited = reader.take(MAX_REQUEST as u64 + 1);
    limited.read_until(b'\n', &mut line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(RequestLine::Text(line));
    }
    if line.len() <= MAX_REQUEST {
        // A last line without an end is a request that was cut off.
        return Ok(RequestLine::End);
    }
    reader.skip_until(b'\n')?;
    Ok(RequestLine::TooLong)
}
