//! Messages as lines over the pipes of a process, with bounds on what a server may print.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;

use crate::fault::Fault;

/// Longest message: a resource of 50 MiB as base64 and some room.
const MAX_MESSAGE: usize = 72 << 20;
/// Lines that are no messages, one after the other, before a server is given up.
const MAX_GARBAGE_LINES: usize = 1_000;
const MAX_GARBAGE_BYTES: usize = 4 << 20;
/// Messages nobody asked for, a window.
const MAX_UNASKED: u32 = 10_000;
const WINDOW: Duration = Duration::from_secs(10);
const READ_BUFFER: usize = 64 * 1024;
const READ_PIECE: usize = 16 * 1024;

/// The pipes of a process.
pub(crate) struct StdioTransport {
    input: Arc<Mutex<Option<pipe::Sender>>>,
    output: pipe::Receiver,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are known to hold no end of line.
    searched: usize,
    garbage_lines: usize,
    garbage_bytes: usize,
    /// Requests of ours without an answer so far.
    open_requests: usize,
    unasked: u32,
    window: Instant,
    fault: Fault,
}

impl StdioTransport {
    pub(super) fn new(input: pipe::Sender, output: pipe::Receiver) -> Self {
        Self {
            input: Arc::new(Mutex::new(Some(input))),
            output,
            buffer: Vec::new(),
            searched: 0,
            garbage_lines: 0,
            garbage_bytes: 0,
            open_requests: 0,
            unasked: 0,
            window: Instant::now(),
            fault: Fault::default(),
        }
    }

    /// Why the connection was given up, if the server is to blame.
    pub(crate) fn fault(&self) -> Fault {
        self.fault.clone()
    }

    /// The next line, without its end; `None` when there will be no other. Can be cancelled at any
    /// point without a loss.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
                line.pop();
                self.searched = 0;
                if self.buffer.capacity() > 4 * READ_BUFFER && self.buffer.len() < READ_BUFFER {
                    self.buffer.shrink_to(READ_BUFFER);
                }
                return Some(line);
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > MAX_MESSAGE {
                self.fault
                    .set_protocol("it sent a message that is too long");
                return None;
            }
            self.output.readable().await.ok()?;
            let mut piece = [0; READ_PIECE];
            match self.output.try_read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self
                    .buffer
                    .extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether the server may go on after a line that is no message.
    fn tolerates(&mut self, line: &[u8]) -> bool {
        self.garbage_lines += 1;
        self.garbage_bytes += line.len();
        if self.garbage_lines == 1 {
            let text = String::from_utf8_lossy(line);
            let text = hermes_text::one_line(&text, 200);
            tracing::warn!(line = %text, "an MCP server printed something else than a message");
        }
        let may = self.garbage_lines < MAX_GARBAGE_LINES && self.garbage_bytes < MAX_GARBAGE_BYTES;
        if !may {
            self.fault
                .set_protocol("it prints something else than messages on its standard output");
        }
        may
    }

    /// Whether a message that nobody asked for is still within bounds.
    fn within_rate(&mut self) -> bool {
        if self.window.elapsed() > WINDOW {
            self.window = Instant::now();
            self.unasked = 0;
        }
        self.unasked += 1;
        let may = self.unasked <= MAX_UNASKED;
        if !may {
            self.fault.set_protocol("it floods us with messages");
        }
        may
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if matches!(item, ClientJsonRpcMessage::Request(_)) {
            self.open_requests += 1;
        }
        let input = Arc::clone(&self.input);
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            match &mut *input.lock().await {
                Some(pipe) => pipe.write_all(&bytes).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match message(&line) {
                Some(message) => {
                    self.garbage_lines = 0;
                    self.garbage_bytes = 0;
                    let is_answer = matches!(
                        message,
                        ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
                    );
                    let is_awaited = is_answer && self.open_requests > 0;
                    self.open_requests -= usize::from(is_awaited);
                    if !is_awaited && !self.within_rate() {
                        return None;
                    }
                    return Some(message);
                }
                None if self.tolerates(&line) => {}
                None => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A writer that is stuck holds the lock; the end of the process frees it.
        if let Ok(mut input) = self.input.try_lock() {
            drop(input.take());
        }
        Ok(())
    }
}

/// A line as a message. An answer that makes no sense becomes an error for whoever waits for it.
fn message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    match serde_json::from_slice::<ServerJsonRpcMessage>(line) {
        Ok(message) => Some(message),
        Err(error) => {
            let value: Value = serde_json::from_slice(line).ok()?;
            if value.get("method").is_some() {
                return None;
            }
            let id: RequestId = serde_json::from_value(value.get("id")?.clone()).ok()?;
            let text = format!("the answer makes no sense: {error}");
            let error = ErrorData::internal_error(text, None);
            Some(ServerJsonRpcMessage::error(error, Some(id)))
        }
    }
}
