//! A client that sends exactly what a test says, and nothing a library would add.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.body))
    }

    /// The JSON of an answer that must have this status.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Cookies as the next request sends them back.
    pub(crate) fn cookies(&self) -> String {
        let set = self.headers.iter().filter(|(key, _)| key == "set-cookie");
        let pairs = set.filter_map(|(_, value)| value.split(';').next());
        pairs.map(str::to_owned).collect::<Vec<_>>().join("; ")
    }
}

/// A request to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    port: u16,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(port: u16, method: &str, path: &str) -> Self {
        Self {
            port,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("Host".to_owned(), format!("127.0.0.1:{port}"))],
            body: Vec::new(),
        }
    }

    /// Sets a header; another one of that name goes.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, value: &Value) -> Self {
        self.raw_body(value.to_string())
    }

    pub(crate) fn raw_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", "application/json")
    }

    fn head(&self, length: Option<usize>) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(length) = length {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Sends it and reads the whole answer.
    pub(crate) fn send(&self) -> Answer {
        let mut stream = self.connect();
        let head = format!(
            "{}Connection: close\r\n\r\n",
            self.head(Some(self.body.len()))
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a body may answer before it has read it.
        drop(stream.write_all(&self.body));
        let mut reader = BufReader::new(stream);
        let mut answer = read_head(&mut reader);
        let mut body = Vec::new();
        drop(reader.read_to_end(&mut body));
        answer.body = decoded(&answer, &body);
        answer
    }

    /// Sends a head that announces a body of this size, and no body.
    pub(crate) fn announce(&self, length: usize) -> Answer {
        let mut stream = self.connect();
        let head = format!("{}Connection: close\r\n\r\n", self.head(Some(length)));
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut answer = read_head(&mut reader);
        let mut body = Vec::new();
        drop(reader.read_to_end(&mut body));
        answer.body = decoded(&answer, &body);
        answer
    }

    /// Sends a body of so many megabytes in pieces, without saying how long it will be.
    pub(crate) fn send_in_pieces(&self, megabytes: usize) -> Answer {
        let mut stream = self.connect();
        let head = format!(
            "{}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
            self.head(None)
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut piece = b"100000\r\n".to_vec();
        piece.resize(piece.len() + (1 << 20), b' ');
        piece.extend(b"\r\n");
        // A server that has had enough answers before the end.
        let sent = (0..megabytes).all(|_| stream.write_all(&piece).is_ok());
        if sent {
            drop(stream.write_all(b"0\r\n\r\n"));
        }
        let mut reader = BufReader::new(stream);
        let mut answer = read_head(&mut reader);
        let mut body = Vec::new();
        drop(reader.read_to_end(&mut body));
        answer.body = decoded(&answer, &body);
        answer
    }

    /// Sends it and returns the connection, with the head of the answer read.
    pub(crate) fn open(&self) -> (Answer, BufReader<TcpStream>) {
        let mut stream = self.connect();
        let head = format!("{}\r\n", self.head(None));
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        (read_head(&mut reader), reader)
    }

    /// The same request as the handshake of a WebSocket.
    pub(crate) fn upgrade(self) -> Self {
        self.header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }
}

fn read_head(reader: &mut impl BufRead) -> Answer {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer: {line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end();
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Answer {
        status,
        headers,
        body: String::new(),
    }
}

fn decoded(answer: &Answer, body: &[u8]) -> String {
    if answer.header("transfer-encoding") != Some("chunked") {
        return String::from_utf8_lossy(body).into_owned();
    }
    let mut rest = body;
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap().trim();
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        let begin = end + 2;
        whole.extend_from_slice(&rest[begin..begin + size]);
        rest = &rest[begin + size + 2..];
    }
    String::from_utf8_lossy(&whole).into_owned()
}

/// The next text message of a WebSocket.
pub(crate) fn next_text(reader: &mut impl Read) -> Option<String> {
    next_message(reader).map(|message| String::from_utf8(message).unwrap())
}

/// The next message of a WebSocket, as the server sends them: whole and unmasked.
pub(crate) fn next_message(reader: &mut impl Read) -> Option<Vec<u8>> {
    loop {
        let mut head = [0; 2];
        reader.read_exact(&mut head).ok()?;
        let length = match head[1] & 0x7f {
            126 => {
                let mut size = [0; 2];
                reader.read_exact(&mut size).ok()?;
                usize::from(u16::from_be_bytes(size))
            }
            127 => {
                let mut size = [0; 8];
                reader.read_exact(&mut size).ok()?;
                usize::try_from(u64::from_be_bytes(size)).unwrap()
            }
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        reader.read_exact(&mut payload).ok()?;
        match head[0] & 0x0f {
            1 | 2 => return Some(payload),
            8 => return None,
            _ => {}
        }
    }
}

/// A message of a client with this text or these bytes: masked, as the protocol wants it.
pub(crate) fn client_message(is_text: bool, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![if is_text { 0x81 } else { 0x82 }];
    match u8::try_from(payload.len()) {
        Ok(length @ ..=125) => message.push(0x80 | length),
        _ => {
            message.push(0x80 | 0x7e);
            message.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
    }
    // A mask of zeroes.
    message.extend([0; 4]);
    message.extend_from_slice(payload);
    message
}
