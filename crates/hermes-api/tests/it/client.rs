//! A plain HTTP client: what it sends is what the test says, byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The events of a stream: name (empty if none) and data.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        let text = self.text();
        let blocks = text.split("\n\n").filter(|block| !block.is_empty());
        let events = blocks.filter_map(|block| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let data = field("data: ")?.to_owned();
            Some((field("event: ").unwrap_or_default().to_owned(), data))
        });
        events.collect()
    }
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        Self { stream }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads one answer to its end.
    pub(crate) fn read(self) -> Reply {
        let mut reader = BufReader::new(self.stream);
        let (status, headers) = read_head(&mut reader);
        let header = |name: &str| {
            let found = headers
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        let mut body = Vec::new();
        if header("transfer-encoding").is_some() {
            while let Some(mut chunk) = read_chunk(&mut reader) {
                body.append(&mut chunk);
            }
        } else {
            let length = header("content-length").map_or(0, |text| text.parse().unwrap());
            body.resize(length, 0);
            reader.read_exact(&mut body).unwrap();
        }
        Reply {
            status,
            headers,
            body,
        }
    }
}

pub(crate) fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("no answer: {line:?}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return (status, headers),
        }
    }
}

/// The next chunk; `None` at the end.
pub(crate) fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let size = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("{line:?}"));
    let mut bytes = vec![0; size + 2];
    reader.read_exact(&mut bytes).unwrap();
    bytes.truncate(size);
    (size > 0).then_some(bytes)
}

/// A request as bytes.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        text.push_str("Host: 127.0.0.1\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let has_length = headers.iter().any(|(name, _)| {
        ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
    });
    if !has_length && !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

impl Reply {
    /// The body, or null if it is no JSON.
    pub(crate) fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
