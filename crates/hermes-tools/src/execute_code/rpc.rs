//! The socket through which a script of this machine calls tools: JSON lines, one client at a time.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::calls::{Calls, MAX_REQUEST, Reply, too_long};
use crate::tool::error;

/// How long a second connection waits for the first to be let go.
const LET_GO: Duration = Duration::from_millis(100);

/// Serves the calls of one script.
pub(super) struct RpcServer {
    calls: Calls,
    connection: Arc<Connection>,
}

#[derive(Default)]
struct Connection {
    client: Mutex<Option<UnixStream>>,
    changed: Condvar,
}

impl RpcServer {
    pub(super) fn new(calls: Calls) -> Self {
        Self {
            calls,
            connection: Arc::default(),
        }
    }

    /// Takes a connection: as the client if there is none, else it is told so and closed.
    pub(super) fn take(&self, stream: UnixStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        // One that was closed a moment ago may not have been noticed yet.
        let mut client = self
            .connection
            .changed
            .wait_timeout_while(self.connection.lock(), LET_GO, |client| client.is_some())
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        if client.is_some() {
            drop(client);
            let refusal = error("Another connection of this script is open; it has one.");
            // Whoever sends first and reads later still finds the line.
            return answer(&Mutex::new(stream), &refusal);
        }
        *client = Some(stream.try_clone()?);
        drop(client);
        let (calls, connection) = (self.calls.clone(), Arc::clone(&self.connection));
        std::thread::Builder::new()
            .name("script-calls".to_owned())
            .spawn(move || {
                serve(&calls, stream);
                *connection.lock() = None;
                connection.changed.notify_all();
            })
            .map(drop)
    }

    /// Asks the calls under way to end, as [`Calls::stop`] says.
    pub(super) fn stop(&self) {
        self.calls.stop();
    }

    /// Ends the service, as [`Calls::close`] says.
    pub(super) fn close(&self) -> (usize, Option<String>) {
        if let Some(client) = &*self.connection.lock() {
            // Wakes the reader; a client that has gone already is what we want.
            drop(client.shutdown(std::net::Shutdown::Both));
        }
        self.calls.close()
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, Option<UnixStream>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(calls: &Calls, stream: UnixStream) {
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
            Ok(Line::End) => return,
            Ok(Line::TooLong) => reply(&too_long()),
            Ok(Line::Text(line)) if line.iter().all(u8::is_ascii_whitespace) => Ok(()),
            Ok(Line::Text(line)) => calls.handle(&line, &reply),
            Err(error) => Err(error),
        };
        if sent.is_err() {
            // The script is gone or has closed its end; nobody is left to tell.
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
