//! The same read-only questions over the engine's own socket, which saves starting its program.
//!
//! Only where the program would talk to that very socket: nothing names another engine, another
//! address or another context. Any trouble whatsoever means no answer, and the program is asked.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::vars;
use hermes_proc::EnvPlan;
use serde_json::Value;

/// Where the daemon listens unless told otherwise.
const DEFAULT: &str = "/var/run/docker.sock";
/// A daemon that is not at once there is asked the slow way.
const LIMIT: Duration = Duration::from_secs(3);
const MOST_ANSWER: usize = 4 * 1024 * 1024;
const MOST_SETTINGS: u64 = 1024 * 1024;

/// A daemon's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineSocket(PathBuf);

impl EngineSocket {
    /// The socket that this program would use with these variables, if that is certain.
    pub(crate) fn of(program: &Path, plan: &EnvPlan) -> Option<Self> {
        Self::at(Path::new(DEFAULT), program, plan)
    }

    fn at(socket: &Path, program: &Path, plan: &EnvPlan) -> Option<Self> {
        let is_set = |name: &str| plan.get(name).is_some_and(|value| !value.is_empty());
        let other_engines = [
            vars::HERMES_DOCKER_BINARY.name,
            vars::DOCKER_HOST.name,
            vars::DOCKER_CONTEXT.name,
        ];
        let is_docker = program.file_name() == Some(OsStr::new("docker")) && !is_script(program);
        if !is_docker || other_engines.iter().any(|name| is_set(name)) {
            return None;
        }
        let settings = match plan.get(vars::DOCKER_CONFIG.name) {
            Some(directory) if !directory.is_empty() => PathBuf::from(directory),
            _ => Path::new(plan.get(vars::HOME.name)?).join(".docker"),
        };
        let is_default = uses_default_context(&settings.join("config.json"));
        let is_socket = hermes_fs::metadata(socket).is_ok_and(|meta| meta.file_type().is_socket());
        (is_default && is_socket).then(|| Self(socket.to_owned()))
    }

    /// The containers with all these labels.
    pub(crate) fn list(&self, filters: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        let labels: Vec<String> = filters
            .iter()
            .map(|(name, value)| match *value {
                "" => (*name).to_owned(),
                value => format!("{name}={value}"),
            })
            .collect();
        let filters = serde_json::json!({"label": labels}).to_string();
        let path = format!("/containers/json?all=1&filters={}", escaped(&filters));
        let found = self.get(&path)?;
        let text = |one: &Value, name: &str| Some(one.get(name)?.as_str()?.to_owned());
        let pairs = found.as_array()?.iter();
        pairs
            .map(|one| Some((text(one, "Id")?, text(one, "State")?)))
            .collect()
    }

    /// What a container is, as `inspect` prints it.
    pub(crate) fn inspect(&self, reference: &str) -> Option<Value> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if reference.is_empty() || !reference.bytes().all(plain) {
            return None;
        }
        self.get(&format!("/containers/{reference}/json"))
    }

    fn get(&self, path: &str) -> Option<Value> {
        let answer = self.exchange(path).ok()?;
        let split = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(answer.get(..split)?);
        let mut words = head.lines().next()?.split(' ');
        let is_http = words.next()?.starts_with("HTTP/1.");
        let is_fine = is_http && words.next()? == "200";
        // Asked as by an old client, a server neither cuts its answer to pieces nor packs it.
        let lower = head.to_ascii_lowercase();
        if !is_fine || lower.contains("transfer-encoding:") || lower.contains("content-encoding:") {
            return None;
        }
        serde_json::from_slice(answer.get(split + 4..)?).ok()
    }

    fn exchange(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let deadline = Instant::now() + LIMIT;
        let mut stream = UnixStream::connect(&self.0)?;
        stream.set_write_timeout(Some(LIMIT))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n")?;
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
