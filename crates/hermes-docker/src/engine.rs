//! Calling the engine's program.
//!
//! Every call closes its input, has a time limit and gets the user's real home, so that contexts,
//! credential helpers and rootless engines are found. What comes back is the exit code, the output
//! and the engine's words, masked; the arguments never appear in an error.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_proc::{ChildSpec, EnvPlan, EnvRequest, SpawnClass};
use serde::Serialize;

use super::discovery::{WELL_KNOWN, find_engine};
use super::engine_words::{engine_words, last_line};
use super::error::{DockerError, Result};
use super::socket::EngineSocket;
use hermes_terminal::environment::LiveEnvironment;

/// Docker Desktop on WSL2 is often slower than five seconds when cold.
const PROBE_LIMIT: Duration = Duration::from_secs(15);
/// No answer of ours is larger.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;

/// Which engine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Docker, or something that passes for it.
    Docker,
    /// Podman, also behind the name `docker`.
    Podman,
}

/// An engine that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineInfo {
    pub binary: PathBuf,
    pub kind: EngineKind,
    /// Version of the daemon, or of the program where there is none.
    pub version: String,
}

/// What the engine said to one call.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    pub stdout: String,
    /// The end of standard error, masked.
    pub words: String,
}

impl Answer {
    /// Whether the call did what it should.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// The engine's program.
#[derive(Debug)]
pub struct Engine {
    program: PathBuf,
    environment: Arc<LiveEnvironment>,
    info: OnceLock<EngineInfo>,
    socket: OnceLock<Option<EngineSocket>>,
}

impl Engine {
    /// Finds the engine. Starts nothing.
    pub fn find(environment: Arc<LiveEnvironment>) -> Result<Self> {
        let builder = environment.current();
        let lookup = |name: &str| {
            let found = builder.base().iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_os_str())
        };
        let program = find_engine(lookup, &WELL_KNOWN)?;
        Ok(Self {
            program,
            environment,
            info: OnceLock::new(),
            socket: OnceLock::new(),
        })
    }

    /// Path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The environment of the program: that of a helper, with the account's own home and all the
    /// engine's variables.
    pub(crate) fn plan(&self) -> EnvPlan {
        let builder = self.environment.current();
        let own: Vec<&str> = builder
            .base()
            .iter()
            .filter_map(|(name, _)| name.to_str())
            .filter(|name| name.starts_with("DOCKER_") || name.starts_with("CONTAINER"))
            .collect();
        let plan = EnvPlan::build(&EnvRequest {
            grants: &own,
            ..builder.request(SpawnClass::Helper)
        });
        plan.with("HOME", builder.policy().child_home.real_home())
    }

    /// The engine's socket, where the program would use no other way.
    pub(crate) fn socket(&self) -> Option<&EngineSocket> {
        let find = || EngineSocket::of(&self.program, &self.plan());
        self.socket.get_or_init(find).as_ref()
    }

    /// The program with these arguments, to be started.
    pub(crate) fn command<S: AsRef<str>>(&self, args: &[S]) -> ChildSpec {
        ChildSpec {
            // Ours may be gone, and the engine has no business in it.
            cwd: Some(PathBuf::from("/")),
            ..ChildSpec::new(&self.program, args.iter().map(AsRef::as_ref), self.plan())
        }
    }

    /// Calls the engine. A refusal is an answer; an error means that it was never asked or did not
    /// end in time.
    pub fn ask<S: AsRef<str>>(&self, args: &[S], limit: Duration) -> Result<Answer> {
        let verb = args.first().map_or("", AsRef::as_ref);
        let captured = self
            .command(args)
            .run_captured(limit, MOST_OUTPUT)
            .map_err(|error| self.not_asked(verb, error))?;
        let answer = Answer {
            code: captured.status.code(),
            stdout: String::from_utf8_lossy(&captured.stdout).into_owned(),
            words: engine_words(&captured.stderr),
        };
        tracing::debug!(verb, code = ?answer.code, "engine call");
        Ok(answer)
    }

    /// Calls the engine and takes a refusal for an error that says what was attempted.
    pub fn demand<S: AsRef<str>>(&self, what: &str, args: &[S], limit: Duration) -> Result<String> {
        let answer = self.ask(args, limit)?;
        if answer.is_success() {
            return Ok(answer.stdout);
        }
        Err(refusal(what, &answer))
    }

    /// Asks for the version once: whether the engine answers, which it is, how old it is.
    pub fn info(&self) -> Result<&EngineInfo> {
        if let Some(known) = self.info.get() {
            return Ok(known);
        }
        if let Some(version) = self.socket().and_then(EngineSocket::version) {
            return Ok(self.info.get_or_init(|| EngineInfo {
                binary: self.program.clone(),
                kind: EngineKind::Docker,
                version,
            }));
        }
        let answer = self.ask(&["version"], PROBE_LIMIT)?;
        if !answer.is_success() {
            return Err(unreachable_words(&answer.words).unwrap_or_else(|| {
                DockerError::Unreachable {
                    words: last_line(&answer.words).to_owned(),
                    is_denied: false,
                }
            }));
        }
        let (kind, version) = read_version(&answer.stdout, &self.program);
        Ok(self.info.get_or_init(|| EngineInfo {
            binary: self.program.clone(),
            kind,
            version,
        }))
    }

    fn not_asked(&self, verb: &str, error: hermes_proc::Error) -> DockerError {
        let program = self.program.clone();
        match error {
            hermes_proc::Error::Deadline { limit, .. } => DockerError::Slow {
                program,
                verb: verb.to_owned(),
                limit,
            },
            hermes_proc::Error::Start { source, .. } => DockerError::NotExecutable {
                program,
                reason: hermes_fs::describe(&source),
            },
            other => DockerError::NotExecutable {
                program,
                reason: other.to_string(),
            },
        }
    }
}

/// The error for a call that the engine refused.
pub(crate) fn refusal(what: &str, answer: &Answer) -> DockerError {
    unreachable_words(&answer.words).unwrap_or_else(|| DockerError::Refused {
        what: what.to_owned(),
        words: if answer.words.is_empty() {
            last_line("").to_owned()
        } else {
            answer.words.clone()
        },
    })
}

/// The error for words that say that the daemon is out of reach, if they do.
pub(crate) fn unreachable_words(words: &str) -> Option<DockerError> {
    const DOWN: [&str; 6] = [
        "Cannot connect to the Docker daemon",
        "Is the docker daemon running",
        "error during connect",
        "failed to connect to the docker API",
        "unable to connect to Podman",
        "Cannot connect to Podman",
    ];
    let is_denied = words.contains("permission denied")
        && (words.contains("daemon socket") || words.contains("docker API"));
    let is_down = DOWN.iter().any(|part| words.contains(part));
    (is_denied || is_down).then(|| DockerError::Unreachable {
        words: last_line(words).to_owned(),
        is_denied,
    })
}

/// Kind and version from what `version` prints.
fn read_version(text: &str, program: &Path) -> (EngineKind, String) {
    let is_podman = text.contains("Podman")
        || program
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains("podman"));
    let kind = if is_podman {
        EngineKind::Podman
    } else {
        EngineKind::Docker
    };
    let version_in = |text: &str| {
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Version:"));
        line.map(|version| version.trim().to_owned())
    };
    let server = text.split_once("Server").map(|(_, rest)| rest);
    let version = server.and_then(version_in).or_else(|| version_in(text));
    (kind, version.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn kind_and_version_are_read_from_both_engines() {
        let docker = "Client:\n Version:           28.2.2\nServer:\n Engine:\n  Version:          20.10.24+dfsg1\n  API version: 1.41\n containerd:\n  Version: 1.6\n";
        assert_eq!(
            read_version(docker, Path::new("/usr/bin/docker")),
            (EngineKind::Docker, "20.10.24+dfsg1".to_owned())
        );
        let podman = "Client:       Podman Engine\nVersion:      4.3.1\nAPI Version:  4.3.1\n";
        assert_eq!(
            read_version(podman, Path::new("/usr/bin/docker")),
            (EngineKind::Podman, "4.3.1".to_owned())
        );
        assert_eq!(
            read_version("", Path::new("/x/shim")),
            (EngineKind::Docker, String::new())
        );
    }

    #[test]
    fn a_daemon_out_of_reach_is_told_from_a_refusal() {
        let down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
        let error = unreachable_words(down).unwrap();
        assert!(
            error.hint().unwrap().contains("start the daemon"),
            "{error}"
        );
        let denied = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock";
        let error = unreachable_words(denied).unwrap();
        assert!(error.hint().unwrap().contains("group `docker`"), "{error}");
        assert_eq!(unreachable_words("Error response from daemon: no"), None);
    }
}
