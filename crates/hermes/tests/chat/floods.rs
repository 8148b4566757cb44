//! Providers that send without end, or break off after much and are asked again: the turn ends with
//! one line, and memory stays small. (Issue 12, 15: an endless stream took 791 MB.)

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hermes_testkit::TestHome;

/// Peak of resident memory of the program, in kilobytes: a debug build, with a session's answer in
/// its hands.
const MAX_PEAK: u64 = 160 * 1024;

/// What the server knows at the end.
#[derive(Default)]
struct Flood {
    pid: AtomicU32,
    peak: AtomicU64,
    sent: AtomicU64,
    connections: AtomicU32,
}

impl Flood {
    /// Largest resident size of the program so far. It never shrinks, so the last look counts.
    fn look(&self) {
        let pid = self.pid.load(Ordering::SeqCst);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        self.peak.fetch_max(peak.unwrap_or(0), Ordering::SeqCst);
    }

    /// Answers with `piece` again and again, until `limit` bytes are sent or nobody reads.
    fn serve(&self, mut stream: TcpStream, piece: &str, limit: u64) {
        let mut request = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            if request.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if request.read_exact(&mut body).is_err() {
            return;
        }
        self.connections.fetch_add(1, Ordering::SeqCst);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let block = piece.repeat((1 << 20) / piece.len());
        let mut sent = 0;
        let mut result = stream.write_all(head.as_bytes());
        while result.is_ok() && sent < limit {
            result = stream.write_all(block.as_bytes());
            sent += block.len() as u64;
            self.look();
        }
        self.sent.fetch_add(sent, Ordering::SeqCst);
    }
}

/// Asks a server that floods with this piece; what the failed turn says.
fn ask(piece: &str, limit: u64) -> (String, Arc<Flood>) {
    let flood = Arc::new(Flood::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        format!(
            "model: {{default: m, provider: custom, base_url: 'http://{address}/v1', \
             context_length: 200000}}\nauxiliary: {{title_generation: {{enabled: false}}}}\n\
             agent: {{api_max_retries: 3}}\n"
        ),
    );
    let (served, piece) = (Arc::clone(&flood), piece.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (served, piece) = (Arc::clone(&served), piece.clone());
            std::thread::spawn(move || served.serve(stream.unwrap(), &piece, limit));
        }
    });
    let mut running = home.hermes(["chat", "-Q", "-q", "hi"]).start();
    flood.pid.store(running.pid(), Ordering::SeqCst);
    let status = running.wait();
    let said = running.errors().join("\n");
    assert_eq!(status.code(), Some(1), "{said}");
    (said, flood)
}

fn content(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

#[track_caller]
fn is_bounded(flood: &Flood, most: u64) {
    let peak = flood.peak.load(Ordering::SeqCst);
    let sent = flood.sent.load(Ordering::SeqCst);
    assert!(peak > 1024 && peak < MAX_PEAK, "peak {peak} kB");
    assert!(sent < most << 20, "{} MiB were sent", sent >> 20);
}

#[test]
fn endless_content_ends_the_turn_at_once() {
    let (outcome, flood) = ask(&content(1000), u64::MAX);
    assert!(
        outcome.contains("custom sent too much: the answer has more than 8 MiB of content"),
        "{outcome}"
    );
    assert_eq!(
        flood.connections.load(Ordering::SeqCst),
        1,
        "it is not asked again"
    );
    is_bounded(&flood, 32);
}

#[test]
fn endless_noise_around_an_answer_ends_the_turn() {
    let (outcome, flood) = ask(": still there, still there, still there\n", u64::MAX);
    assert!(
        outcome.contains("custom sent too much: the answer is larger than 64 MiB"),
        "{outcome}"
    );
    is_bounded(&flood, 96);
}

#[test]
fn attempts_that_break_off_share_one_budget() {
    let (outcome, flood) = ask(": still there, still there, still there\n", 50 << 20);
    assert!(
        outcome.contains(
            "custom sent too much: more than 256 MiB arrived in this turn, all attempts together"
        ),
        "{outcome}"
    );
    assert!(flood.connections.load(Ordering::SeqCst) > 2);
    is_bounded(&flood, 310);
}

#[test]
fn endless_calls_end_the_turn() {
    let piece = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"ID\",\
                 \"function\":{\"name\":\"terminal\",\"arguments\":\"{}\"}}]}}]}\n\n";
    let calls: String = (0..400)
        .map(|n| piece.replace("ID", &format!("c{n}")))
        .collect();
    let (outcome, flood) = ask(&calls, u64::MAX);
    assert!(outcome.contains("custom sent too much"), "{outcome}");
    is_bounded(&flood, 32);
}
