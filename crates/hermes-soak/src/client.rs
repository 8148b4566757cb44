//! A client of the API by bare sockets, so that thousands of requests cost little beside the gateway.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// A server that says nothing for so long will say nothing.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// Where the API is, and the key to it.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
}

/// An answer whose body has been read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// An answer whose body is being read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    /// Bytes until the end, or of the chunk that is being read.
    left: usize,
    is_over: bool,
}

impl Api {
    /// Sends a request and reads the head of its answer. The connection is for this request alone.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LONGEST_SILENCE))?;
        stream.set_write_timeout(Some(LONGEST_SILENCE))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            self.address,
            self.key,
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&body);
        stream.write_all(request.as_bytes())?;
        Answer::read_head(stream)
    }

    /// Sends a request and reads all of its answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Reply> {
        self.open(method, path, &[], body)?.whole()
    }

    /// Begins a streaming chat.
    pub(crate) fn chat(&self, text: &str) -> io::Result<Answer> {
        let body = json!({
            "model": "hermes-agent", "stream": true,
            "messages": [{"role": "user", "content": text}],
        });
        self.open("POST", "/v1/chat/completions", &[], Some(&body))
    }
}

impl Answer {
    fn read_head(stream: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let first = read_line(&mut reader)?;
        let status = first.split_whitespace().nth(1);
        let status = status.and_then(|word| word.parse().ok());
        let mut answer = Self {
            status: status.ok_or_else(|| broken("no status line"))?,
            reader,
            is_chunked: false,
            left: 0,
            is_over: false,
        };
        loop {
            let line = read_line(&mut answer.reader)?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(length) = line.strip_prefix("content-length:") {
                answer.left = length.trim().parse().map_err(|_| broken("length"))?;
            }
            answer.is_chunked |= line.starts_with("transfer-encoding: chunked");
        }
        Ok(answer)
    }

    /// All of the body.
    pub(crate) fn whole(mut self) -> io::Result<Reply> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece()? {
            bytes.extend(piece);
        }
        Ok(Reply {
            status: self.status,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// The next piece of the body; `None` at its end. An answer that breaks off is an error.
    fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.is_over {
            return Ok(None);
        }
        if self.is_chunked {
            let size = read_line(&mut self.reader)?;
            self.left = usize::from_str_radix(size.trim(), 16).map_err(|_| broken("chunk"))?;
        }
        let mut bytes = vec![0; self.left];
        self.reader.read_exact(&mut bytes)?;
        if self.is_chunked {
            read_line(&mut self.reader)?;
        }
        self.is_over = !self.is_chunked || bytes.is_empty();
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// Reads events until the function has enough; `false` if the body ended before.
    pub(crate) fn events(&mut self, mut enough: impl FnMut(&str) -> bool) -> io::Result<bool> {
        let mut text = String::new();
        while let Some(piece) = self.piece()? {
            text.push_str(&String::from_utf8_lossy(&piece));
            while let Some((event, rest)) = text.split_once("\n\n") {
                if enough(event) {
                    return Ok(true);
                }
                text = rest.to_owned();
            }
        }
        Ok(false)
    }
}

/// The text of a streaming chat up to its end; why there is none.
pub(crate) fn read_chat(mut answer: Answer) -> Result<String, String> {
    if answer.status != 200 {
        let status = answer.status;
        let reply = answer.whole();
        return Err(format!("{status}: {reply:?}"));
    }
    let mut text = String::new();
    let mut trouble = None;
    let is_done = answer.events(|event| {
        let Some(data) = event.strip_prefix("data: ") else {
            return false;
        };
        if data == "[DONE]" {
            return true;
        }
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        if let Some(piece) = chunk["choices"][0]["delta"]["content"].as_str() {
            text.push_str(piece);
        }
        if !chunk["error"].is_null() {
            trouble = Some(chunk["error"].to_string());
        }
        false
    });
    match (is_done, trouble) {
        (Ok(true), None) => Ok(text),
        (Ok(true), Some(trouble)) => Err(trouble),
        (Ok(false), _) => Err("the stream ended without [DONE]".to_owned()),
        (Err(error), _) => Err(error.to_string()),
    }
}

fn read_line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(broken("the connection ended"));
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what.to_owned())
}
