//! One connection: requests in, scripted answers out, kept alive in between.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer::{AnswerBody, ScriptedAnswer};
use super::state::{ReceivedRequest, ServerState};
use super::{Wire, chat_format, messages_format, responses_format};

/// How often a pausing server looks whether its client is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Serves one connection until it ends.
pub(super) fn serve(stream: TcpStream, shared: &ServerState, connection: usize) {
    // Errors are clients that went away; the tests look at what they got.
    drop(try_serve(stream, shared, connection));
}

fn try_serve(stream: TcpStream, shared: &ServerState, connection: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(request) = receive(&mut reader, connection)? {
        let answer = shared.answer(&request);
        shared.record(request.clone());
        if !respond(&mut stream, &answer, &request, shared)? {
            break;
        }
    }
    Ok(())
}

fn receive(
    reader: &mut BufReader<TcpStream>,
    connection: usize,
) -> std::io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw)?;
    Ok(Some(ReceivedRequest {
        method,
        path,
        headers,
        body: serde_json::from_slice(&raw).unwrap_or(Value::Null),
        raw,
        at: Instant::now(),
        connection,
    }))
}

/// Sends the answer; says whether the connection goes on.
fn respond(
    stream: &mut TcpStream,
    answer: &ScriptedAnswer,
    request: &ReceivedRequest,
    shared: &ServerState,
) -> std::io::Result<bool> {
    if !pause(stream, answer.before, shared)? {
        return Ok(false);
    }
    let (status, content_type, bytes) = match &answer.body {
        AnswerBody::Close => return Ok(false),
        AnswerBody::Events(events) => return stream_events(stream, answer, events, shared),
        AnswerBody::Raw {
            status,
            content_type,
            bytes,
        } => (*status, content_type.as_str(), bytes.clone()),
        AnswerBody::Message(message) => {
            let model = &request.body["model"];
            let wire = Wire::of_path(&request.path).unwrap_or(Wire::Chat);
            if request.body["stream"] == true && !answer.whole {
                let events = match wire {
                    Wire::Chat => chat_format::events(message, model),
                    Wire::Anthropic => messages_format::events(message, model),
                    Wire::Responses => responses_format::events(message, model),
                };
                return stream_events(stream, answer, &events, shared);
            }
            let value = match wire {
                Wire::Chat => chat_format::whole(message, model),
                Wire::Anthropic => messages_format::whole(message, model),
                Wire::Responses => responses_format::whole(message, model),
            };
            (200, "application/json", value.to_string().into_bytes())
        }
    };
    let length = format!("content-length: {}\r\n", bytes.len());
    write_head(stream, status, content_type, &length, answer)?;
    let sent = match answer.cut_after {
        Some(most) => &bytes[..most.min(bytes.len())],
        None => &bytes,
    };
    stream.write_all(sent)?;
    stream.flush()?;
    Ok(answer.cut_after.is_none())
}

fn write_head(
    stream: &mut TcpStream,
    status: u16,
    content_type: &str,
    framing: &str,
    answer: &ScriptedAnswer,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n{framing}");
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

fn stream_events(
    stream: &mut TcpStream,
    answer: &ScriptedAnswer,
    events: &[String],
    shared: &ServerState,
) -> std::io::Result<bool> {
    let chunked = "transfer-encoding: chunked\r\n";
    write_head(stream, 200, "text/event-stream", chunked, answer)?;
    for (at, event) in events.iter().enumerate() {
        if answer.cut_after == Some(at) {
            return Ok(false);
        }
        if at > 0 && !pause(stream, answer.between, shared)? {
            return Ok(false);
        }
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        stream.write_all(chunk.as_bytes())?;
        stream.flush()?;
    }
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()?;
    Ok(true)
}

/// Waits; `false` if the client went away or the server ends meanwhile.
fn pause(stream: &TcpStream, duration: Duration, shared: &ServerState) -> std::io::Result<bool> {
    let until = Instant::now() + duration;
    if duration.is_zero() {
        return Ok(true);
    }
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    while Instant::now() < until {
        if shared.is_stopping() {
            return Ok(false);
        }
        match stream.peek(&mut [0]) {
            Ok(0) => {
                shared.note_departure();
                return Ok(false);
            }
            Ok(_) => std::thread::sleep(POLL_INTERVAL),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => {
                shared.note_departure();
                return Err(error);
            }
        }
    }
    stream.set_read_timeout(None)?;
    Ok(true)
}
