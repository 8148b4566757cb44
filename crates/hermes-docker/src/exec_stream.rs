//! Starting a program in a container over the engine's socket, which saves starting the engine's
//! client and, at every command, passing everything through it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hermes_terminal::remote::{Connection, RemoteStream};
use serde_json::json;

use super::socket::{EngineSocket, Request, is_plain, text_of};

/// How long the daemon may take to answer; the program may take longer to start.
const LIMIT: Duration = Duration::from_secs(10);
/// A longer head of an answer is none.
const MOST_HEAD: usize = 64 * 1024;
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: tcp\r\n";

impl EngineSocket {
    /// Starts a program in a container.
    pub(crate) fn exec(&self, container: &str, argv: &[&str]) -> Connection {
        self.try_exec(container, argv)
            .unwrap_or(Connection::Unavailable)
    }

    fn try_exec(&self, container: &str, argv: &[&str]) -> Option<Connection> {
        is_plain(container).then_some(())?;
        let wanted = json!({
            "AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": false,
            "Cmd": argv,
        });
        let made = self.exchange(&Request {
            method: "POST",
            path: &format!("/containers/{container}/exec"),
            body: Some(&wanted),
            limit: LIMIT,
        })?;
        if made.status != 201 {
            return Some(refused(&made.message()));
        }
        let id = made.json()?.get("Id")?.as_str()?.to_owned();
        is_plain(&id).then_some(())?;
        let (socket, received) = self.start(&id)?;
        let engine = self.clone();
        Some(Connection::Stream(RemoteStream {
            socket: socket.into(),
            received,
            exit_code: Box::new(move || engine.exit_code(&id)),
        }))
    }

    /// Starts what was made, and gives the connection to it with what has already come.
    fn start(&self, id: &str) -> Option<(UnixStream, Vec<u8>)> {
        let mut stream = UnixStream::connect(self.path()).ok()?;
        stream.set_write_timeout(Some(LIMIT)).ok()?;
        let request = Request {
            method: "POST",
            path: &format!("/exec/{id}/start"),
            body: Some(&json!({"Detach": false, "Tty": false})),
            limit: LIMIT,
        };
        stream
            .write_all(&text_of(&request, "HTTP/1.1", UPGRADE))
            .ok()?;
        let deadline = Instant::now() + LIMIT;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        let split = loop {
            if let Some(split) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
                break split + 4;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || answer.len() > MOST_HEAD {
                return None;
            }
            stream.set_read_timeout(Some(left)).ok()?;
            match stream.read(&mut chunk).ok()? {
                0 => return None,
                count => answer.extend_from_slice(chunk.get(..count)?),
            }
        };
        let head = String::from_utf8_lossy(answer.get(..split)?).into_owned();
        let status = head.lines().next()?.split(' ').nth(1)?;
        (status == "101").then(|| (stream, answer.split_off(split)))
    }

    fn exit_code(&self, id: &str) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(2);
        loop {
            let shown = self.get(&format!("/exec/{id}/json"))?;
            if shown.get("Running")?.as_bool() != Some(true) || Instant::now() >= deadline {
                return i32::try_from(shown.get("ExitCode")?.as_i64()?).ok();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The words in which the engine's program passes on a refusal.
fn refused(message: &str) -> Connection {
    Connection::Refused(format!("Error response from daemon: {message}"))
}
