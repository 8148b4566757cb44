//! An HTTP server on this machine that answers with JSON as a test says, and keeps what was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Such as `POST /search`.
    pub line: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    /// `null` if it is not JSON.
    pub body: Value,
}

impl Asked {
    /// The value of a header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The server. It lives as long as the test.
pub struct JsonServer {
    /// Such as `http://127.0.0.1:4711`.
    pub base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl JsonServer {
    /// `answer` gives status and body of the answer to a request.
    pub fn start(answer: impl Fn(&Asked) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    continue;
                }
                let mut headers = Vec::new();
                loop {
                    let mut header = String::new();
                    reader.read_line(&mut header).unwrap();
                    let Some((name, value)) = header.trim().split_once(": ") else {
                        break;
                    };
                    headers.push((name.to_ascii_lowercase(), value.to_owned()));
                }
                let length = headers.iter().find(|(name, _)| name == "content-length");
                let length = length.map_or(0, |(_, length)| length.parse().unwrap());
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let words: Vec<&str> = line.split_whitespace().collect();
                let request = Asked {
                    line: format!("{} {}", words[0], words[1]),
                    headers,
                    body: serde_json::from_slice(&body).unwrap_or_default(),
                };
                let (status, text) = answer(&request);
                kept.lock().unwrap().push(request);
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    text.len()
                );
                // Who does not wait for the answer is gone.
                drop(stream.write_all(head.as_bytes()));
                drop(stream.write_all(text.as_bytes()));
            }
        });
        Self { base, asked }
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}
