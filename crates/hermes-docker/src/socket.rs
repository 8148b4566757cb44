//! The engine's own socket: the same questions and orders as by its program, which need not be started
//! for them.
//!
//! Only where the program would talk to that very socket: nothing names another engine, another kind
//! of address or another context. Any trouble whatsoever means no answer, and the program is asked.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_proc::EnvPlan;
use serde_json::Value;

use super::error::{DockerError, Result};
use super::inspect::{Presence, State};

/// Where the daemon listens unless told otherwise.
const DEFAULT: &str = "/var/run/docker.sock";
/// A daemon that is not at once there is asked the slow way.
const LIMIT: Duration = Duration::from_secs(3);
const MOST_ANSWER: usize = 4 * 1024 * 1024;
const MOST_SETTINGS: u64 = 1024 * 1024;

/// A daemon's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineSocket(PathBuf);

/// Something that a daemon was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    Found(Value),
    Missing,
}

/// What a daemon answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    body: Vec<u8>,
}

impl Reply {
    /// The body, if it is what was asked for.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The daemon's reason for a refusal.
    pub(crate) fn message(&self) -> String {
        let text = self.json().and_then(|value| {
            let text = value.get("message")?.as_str()?;
            Some(text.to_owned())
        });
        text.unwrap_or_else(|| format!("HTTP status {}", self.status))
    }
}

/// A request to a daemon.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    pub(crate) limit: Duration,
}

impl EngineSocket {
    /// The socket that this program would use with these variables, if that is certain.
    pub(crate) fn of(program: &Path, plan: &EnvPlan) -> Option<Self> {
        Self::at(Path::new(DEFAULT), program, plan)
    }

    fn at(default: &Path, program: &Path, plan: &EnvPlan) -> Option<Self> {
        let value = |name: &str| plan.get(name).filter(|value| !value.is_empty());
        let other_engines = [vars::HERMES_DOCKER_BINARY.name, vars::DOCKER_CONTEXT.name];
        let is_docker = program.file_name() == Some(OsStr::new("docker")) && !is_script(program);
        if !is_docker || other_engines.iter().any(|name| value(name).is_some()) {
            return None;
        }
        let socket = match value(vars::DOCKER_HOST.name) {
            // An address beats the context of the settings.
            Some(address) => PathBuf::from(address.to_str()?.strip_prefix("unix://")?),
            None => {
                let settings = match value(vars::DOCKER_CONFIG.name) {
                    Some(directory) => PathBuf::from(directory),
                    None => Path::new(plan.get(vars::HOME.name)?).join(".docker"),
                };
                if !uses_default_context(&settings.join("config.json")) {
                    return None;
                }
                default.to_owned()
            }
        };
        let is_socket = hermes_fs::metadata(&socket).is_ok_and(|meta| meta.file_type().is_socket());
        (socket.is_absolute() && is_socket).then_some(Self(socket))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The containers with all these labels, in any state or in one.
    pub(crate) fn list(
        &self,
        labels: &[(&str, &str)],
        status: Option<&str>,
    ) -> Option<Vec<(String, String)>> {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| match *value {
                "" => (*name).to_owned(),
                value => format!("{name}={value}"),
            })
            .collect();
        let mut filters = serde_json::json!({"label": labels});
        if let Some(status) = status {
            filters["status"] = serde_json::json!([status]);
        }
        let filters = filters.to_string();
        let found = self.get(&format!(
            "/containers/json?all=1&filters={}",
            escaped(&filters)
        ))?;
        let text = |one: &Value, name: &str| Some(one.get(name)?.as_str()?.to_owned());
        let pairs = found.as_array()?.iter();
        pairs
            .map(|one| Some((text(one, "Id")?, text(one, "State")?)))
            .collect()
    }

    /// The version of a daemon that is Docker; `None` for any other.
    pub(crate) fn version(&self) -> Option<String> {
        let shown = self.get("/version")?;
        let is_other = |part: &Value| part.to_string().contains("Podman");
        if shown.get("Components").is_some_and(is_other) {
            return None;
        }
        Some(shown.get("Version")?.as_str()?.to_owned())
    }

    /// The daemon's host and storage, as `info` prints them.
    pub(crate) fn host(&self) -> Option<Value> {
        self.get("/info")
    }

    /// The entry point of an image; `None` if the daemon does not say.
    pub(crate) fn entry_point(&self, image: &str) -> Option<Sought> {
        let reply = self.exchange(&Request {
            method: "GET",
            path: &format!("/images/{}/json", escaped(image)),
            body: None,
            limit: LIMIT,
        })?;
        match reply.status {
            200 => {
                let image = reply.json()?;
                Some(Sought::Found(image.pointer("/Config/Entrypoint")?.clone()))
            }
            404 => Some(Sought::Missing),
            _ => None,
        }
    }

    /// Our own container, if it is one of the daemon's; `None` if it does not say.
    pub(crate) fn own_container(&self, name: &str) -> Option<Sought> {
        match self.presence(name)? {
            Presence::There(_) => self.inspect(name).map(Sought::Found),
            Presence::Missing => Some(Sought::Missing),
        }
    }

    /// What a container is, as `inspect` prints it.
    pub(crate) fn inspect(&self, reference: &str) -> Option<Value> {
        is_plain(reference).then_some(())?;
        self.get(&format!("/containers/{reference}/json"))
    }

    /// Whether a container is there, and in which state; `None` if the daemon does not say.
    pub(crate) fn presence(&self, id: &str) -> Option<Presence> {
        is_plain(id).then_some(())?;
        let reply = self.exchange(&Request {
            method: "GET",
            path: &format!("/containers/{id}/json"),
            body: None,
            limit: LIMIT,
        })?;
        match reply.status {
            200 => {
                let shown = reply.json()?;
                let word = shown.pointer("/State/Status")?.as_str()?;
                Some(Presence::There(State::parse(word)))
            }
            404 => Some(Presence::Missing),
            _ => None,
        }
    }

    /// Removes a container; one that runs only by force. `None` if the daemon did not answer.
    pub(crate) fn remove(&self, id: &str, by_force: bool, limit: Duration) -> Option<Result<()>> {
        is_plain(id).then_some(())?;
        let reply = self.exchange(&Request {
            method: "DELETE",
            path: &format!("/containers/{id}?force={}", u8::from(by_force)),
            body: None,
            limit,
        })?;
        Some(match reply.status {
            204 | 200 => Ok(()),
            _ => Err(DockerError::Refused {
                what: "removing it".to_owned(),
                words: reply.message(),
            }),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let reply = self.exchange(&Request {
            method: "GET",
            path,
            body: None,
            limit: LIMIT,
        })?;
        (reply.status == 200).then(|| reply.json())?
    }

    pub(crate) fn exchange(&self, request: &Request<'_>) -> Option<Reply> {
        let answer = self.answer(request).ok()?;
        let split = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(answer.get(..split)?);
        let mut words = head.lines().next()?.split(' ');
        words.next()?.strip_prefix("HTTP/1.")?;
        let status = words.next()?.parse().ok()?;
        // Asked as by an old client, a server neither cuts its answer to pieces nor packs it.
        let lower = head.to_ascii_lowercase();
        if lower.contains("transfer-encoding:") || lower.contains("content-encoding:") {
            return None;
        }
        let body = answer.get(split + 4..)?.to_vec();
        Some(Reply { status, body })
    }

    fn answer(&self, request: &Request<'_>) -> std::io::Result<Vec<u8>> {
        let deadline = Instant::now() + request.limit;
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_write_timeout(Some(request.limit.max(Duration::from_millis(1))))?;
        stream.write_all(&text_of(request, "HTTP/1.0", ""))?;
        let mut answer = Vec::new();
        let mut chunk = [0; 16 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || answer.len() > MOST_ANSWER {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut chunk)? {
                0 => return Ok(answer),
                count => answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            }
        }
    }
}

/// A request as it is sent.
pub(crate) fn text_of(request: &Request<'_>, version: &str, headers: &str) -> Vec<u8> {
    let Request { method, path, .. } = request;
    let mut text = format!("{method} {path} {version}\r\nHost: docker\r\n{headers}");
    let body = request.body.map(Value::to_string).unwrap_or_default();
    if request.body.is_some() {
        text.push_str("Content-Type: application/json\r\n");
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(&body);
    text.into_bytes()
}

/// Whether an id or a name can stand in an address as it is.
pub(crate) fn is_plain(reference: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !reference.is_empty() && reference.bytes().all(plain)
}

/// Podman can pass for docker by a script of that name.
fn is_script(program: &Path) -> bool {
    let mut start = [0; 2];
    let read = hermes_fs::open(program).map(|mut file| file.read_exact(&mut start));
    !matches!(read, Ok(Ok(()))) || start == *b"#!"
}

/// Whether the program's settings choose no other daemon. Settings that cannot be read may.
fn uses_default_context(path: &Path) -> bool {
    match hermes_fs::read_optional(path, MOST_SETTINGS) {
        Ok(None) => true,
        Ok(Some(bytes)) => {
            let settings: Option<Value> = serde_json::from_slice(&bytes).ok();
            settings.is_some_and(|settings| {
                let context = settings.get("currentContext").and_then(Value::as_str);
                context.is_none_or(|context| context.is_empty() || context == "default")
            })
        }
        Err(_) => false,
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
