//! A running server that wants logins, and the browser of whoever logs in.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::{AtTerminal, PythonPackages, TestHome};
use serde_json::Value;

/// The version that these tests were written with.
const SDK: &str = "2.3.0";
/// Long enough for an interpreter to start on a busy machine.
const START_LIMIT: Duration = Duration::from_mins(2);

/// Reads the three files of a login with the models that the Python runtime reads them with.
const READER: &str = r#"
import json, sys
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
for ending, model in ((".json", OAuthToken), (".client.json", OAuthClientInformationFull),
                      (".meta.json", OAuthMetadata)):
    kept = json.load(open(sys.argv[1] + ending))
    kept.pop("expires_at", None)
    model.model_validate(kept)
"#;

/// The server. Ends when dropped.
pub(crate) struct GuardedServer {
    python: PathBuf,
    child: Child,
    port: u16,
}

impl GuardedServer {
    /// A server whose access tokens live for so many seconds.
    pub(crate) fn start(lifetime: u32) -> Self {
        let package = format!("mcp=={SDK}");
        let python = PythonPackages::install(&format!("mcp-sdk-{SDK}"), &[&package]);
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_oauth/programs/server.py");
        let port = free_port();
        let python = python.python();
        let child = Command::new(&python)
            .arg(program)
            .args([port.to_string(), lifetime.to_string()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            python,
            child,
            port,
        };
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the server does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Settings of a home that knows the server as `guarded`.
    pub(crate) fn settings(&self) -> String {
        format!(
            "mcp_servers:\n  guarded:\n    url: http://127.0.0.1:{}/mcp\n    auth: oauth\n  plain:\n    \
             command: cat\n  open:\n    url: http://127.0.0.1:{}/mcp\n",
            self.port, self.port
        )
    }

    /// Settings of a home that knows no other server.
    pub(crate) fn guarded_only(&self) -> String {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        format!("mcp_servers: {{guarded: {{url: '{url}', auth: oauth}}}}\n")
    }

    /// What was done so far: `registrations`, `codes`, `renewals`, `refused_renewals`.
    pub(crate) fn count(&self, what: &str) -> u64 {
        let answer = self.request("GET", "/test/counts", "", None);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let counts: Value = serde_json::from_str(body).unwrap();
        counts[what].as_u64().unwrap()
    }

    /// Ends all access tokens; they can be renewed.
    pub(crate) fn expire(&self) {
        self.request("POST", "/test/expire", "", None);
    }

    /// Ends all logins.
    pub(crate) fn revoke(&self) {
        self.request("POST", "/test/revoke", "", None);
    }

    /// Whether the server takes a token.
    pub(crate) fn takes(&self, token: &str) -> bool {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
        let answer = self.request("POST", "/mcp", hello, Some(token));
        answer.starts_with("HTTP/1.1 200")
    }

    /// Lets the SDK read what is kept of a login, as the Python runtime does.
    pub(crate) fn sdk_reads(&self, home: &TestHome) {
        let done = Command::new(&self.python)
            .args(["-c", READER])
            .arg(home.path("mcp-tokens/guarded"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }

    fn request(&self, method: &str, path: &str, body: &str, token: Option<&str>) -> String {
        let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n"));
        http(
            self.port,
            &format!(
                "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\
                 content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                 content-length: {}\r\n{}\r\n{body}",
                self.port,
                body.len(),
                authorization.unwrap_or_default(),
            ),
        )
    }
}

impl Drop for GuardedServer {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Sends a request; the whole answer.
fn http(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// What a browser does with an address on this machine.
pub(crate) fn browse(address: &str) -> String {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap();
    let (port, path) = rest.split_once('/').unwrap();
    let request =
        format!("GET /{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    http(port.parse().unwrap(), &request)
}

/// Where an answer sends the browser.
pub(crate) fn location(answer: &str) -> String {
    let line = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    line.unwrap_or_else(|| panic!("no redirect: {answer}"))
        .to_owned()
}

/// Begins a login at a terminal: the terminal, and where the server sends the browser once the person
/// has agreed.
pub(crate) fn begin_login(home: &TestHome, verb: &[&str]) -> (AtTerminal, String) {
    let terminal = home.hermes(verb.iter().copied()).start_at_terminal();
    terminal.wait_for("Waiting for the browser");
    let shown = terminal.shown();
    let page = shown
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Open "));
    let page = page.unwrap_or_else(|| panic!("no page: {shown}"));
    let back = location(&browse(page));
    (terminal, back)
}

/// Logs in as a person would.
pub(crate) fn log_in(home: &TestHome) {
    let (terminal, back) = begin_login(home, &["mcp", "login", "guarded"]);
    let page = browse(&back);
    assert!(page.contains("Logged in"), "{page}");
    terminal
        .wait()
        .succeeds()
        .prints_part("Logged in to guarded");
}

/// A document of the login that is kept.
pub(crate) fn kept(home: &TestHome, file: &str) -> Value {
    serde_json::from_str(&home.read(&format!("mcp-tokens/{file}"))).unwrap()
}
