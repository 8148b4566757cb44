//! A model on loopback. The words of the last question say what it answers, so that every client gets
//! its own answer and nobody else's, and every question is counted by its mark.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest piece of an answer.
const PIECE_BYTES: usize = 4 << 10;

/// What a question asks for. Written into the question and read out of it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// Who asks.
    pub(crate) mark: String,
    /// Pieces of the answer.
    pub(crate) pieces: usize,
    /// Milliseconds before each piece.
    pub(crate) pause: u64,
    /// Bytes of the answer beside its words.
    pub(crate) bytes: usize,
    /// Whether a command is to be run before the answer.
    pub(crate) calls: bool,
    /// Bytes that the command prints.
    pub(crate) prints: usize,
}

impl Question {
    pub(crate) fn new(mark: impl Into<String>) -> Self {
        Self {
            mark: mark.into(),
            pieces: 4,
            pause: 0,
            bytes: 0,
            calls: false,
            prints: 0,
        }
    }

    /// As a person would type it.
    pub(crate) fn text(&self) -> String {
        let Self {
            mark,
            pieces,
            pause,
            bytes,
            calls,
            prints,
        } = self;
        format!(
            "mark:{mark} pieces:{pieces} pause:{pause} bytes:{bytes} calls:{calls} prints:{prints}"
        )
    }

    /// The answer, whole.
    pub(crate) fn answer(&self) -> String {
        self.answer_pieces().concat()
    }

    fn answer_pieces(&self) -> Vec<String> {
        let mut pieces = vec![format!("{}:", self.mark)];
        pieces.extend((0..self.pieces).map(|number| format!(" word{number}")));
        let mut left = self.bytes;
        while left > 0 {
            let size = left.min(PIECE_BYTES);
            pieces.push("x".repeat(size));
            left -= size;
        }
        pieces
    }

    fn read(text: &str) -> Option<Self> {
        let word = |name: &str| {
            let found = text
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name));
            found.map(str::to_owned)
        };
        let number = |name: &str| word(name).and_then(|word| word.parse().ok()).unwrap_or(0);
        Some(Self {
            mark: word("mark:")?,
            pieces: number("pieces:"),
            pause: number("pause:") as u64,
            bytes: number("bytes:"),
            calls: word("calls:").is_some_and(|word| word == "true"),
            prints: number("prints:"),
        })
    }
}

#[derive(Debug, Default)]
struct Shared {
    asked: Mutex<HashMap<String, usize>>,
    is_over: AtomicBool,
}

/// The model. Ends when dropped.
#[derive(Debug)]
pub(crate) struct ReplayModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl ReplayModel {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                // Clients that go away end their connection; what they got is theirs to judge.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How often a question with this mark came.
    pub(crate) fn asked(&self, mark: &str) -> usize {
        let asked = self.shared.asked.lock().unwrap();
        asked.get(mark).copied().unwrap_or_default()
    }
}

impl Drop for ReplayModel {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(body) = receive(&mut reader)? {
        respond(&mut stream, &body, shared)?;
    }
    Ok(())
}

fn receive(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Value>> {
    let mut length = 0;
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() && !is_first {
            break;
        }
        is_first = false;
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw)?;
    Ok(Some(serde_json::from_slice(&raw).unwrap_or_default()))
}

fn respond(stream: &mut TcpStream, body: &Value, shared: &Shared) -> std::io::Result<()> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let said = messages.iter().rev();
    let mut said = said.filter(|message| message["role"] == "user");
    // After a restart the last word is a note of the gateway; the question stands before it.
    let question = said.find_map(|message| match &message["content"] {
        Value::String(text) => Question::read(text),
        other => Question::read(&other.to_string()),
    });
    let question = question.unwrap_or_else(|| Question::new("nobody"));
    let has_result = messages
        .last()
        .is_some_and(|message| message["role"] == "tool");
    let is_call = question.calls && !has_result;
    if !has_result {
        let mut asked = shared.asked.lock().unwrap();
        *asked.entry(question.mark.clone()).or_default() += 1;
    }
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let mut send = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "c", "object": "chat.completion.chunk", "created": 0, "model": body["model"],
            "choices": choices, "usage": usage,
        });
        let event = format!("data: {chunk}\n\n");
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
    };
    let choice = |delta: Value, reason: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    if is_call {
        let command = match question.prints {
            0 => "true".to_owned(),
            bytes => format!("head -c {bytes} /dev/zero | tr '\\0' x"),
        };
        let arguments = json!({"command": command}).to_string();
        let call = json!({
            "index": 0, "id": format!("call_{}", question.mark), "type": "function",
            "function": {"name": "terminal", "arguments": arguments},
        });
        let delta = json!({"role": "assistant", "tool_calls": [call]});
        send(choice(delta, None), Value::Null)?;
        send(choice(json!({}), Some("tool_calls")), Value::Null)?;
    } else {
        for piece in question.answer_pieces() {
            std::thread::sleep(Duration::from_millis(question.pause));
            send(choice(json!({"content": piece}), None), Value::Null)?;
        }
        send(choice(json!({}), Some("stop")), Value::Null)?;
    }
    let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 5, "total_tokens": 1_005});
    send(json!([]), usage)?;
    let end = "data: [DONE]\n\n";
    stream.write_all(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let question = Question {
            pieces: 7,
            pause: 20,
            bytes: 9_000,
            calls: true,
            prints: 12,
            ..Question::new("a-1")
        };
        assert_eq!(Question::read(&question.text()), Some(question.clone()));
        assert!(question.answer().starts_with("a-1: word0") && question.answer().len() > 9_000);
        assert_eq!(Question::read("hello"), None);
    }
}
