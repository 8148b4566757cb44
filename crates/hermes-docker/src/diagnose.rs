//! What a failed `exec` means. Pure.
//!
//! Asked only about a client that ended before the command said that it had started. Even so only
//! the engine's own words about this very container count: a command can print anything.

use super::engine::unreachable_words;
use super::engine_words::{engine_words, last_line};
use super::error::DockerError;
use hermes_terminal::remote::{TransportError, Trouble};

/// Beginnings of what engines say themselves.
const PREFIXES: [&str; 4] = [
    "Error response from daemon:",
    "Error: ",
    "Error No such container",
    "OCI runtime",
];
/// Words for a container that can be brought back, or made anew.
const GONE: [&str; 9] = [
    "No such container",
    "no such container",
    "no container with name or ID",
    "is not running",
    "is paused",
    "is restarting",
    "can only create exec sessions on running containers",
    "container state improper",
    "cannot exec in a stopped",
];
/// Of these, what engines say without naming a container.
const STATE_ALONE: [&str; 2] = [
    "can only create exec sessions on running containers",
    "cannot exec in a stopped",
];
/// Words for trouble that passes.
const PASSING: [&str; 6] = [
    "connection reset by peer",
    "EOF",
    "Resource temporarily unavailable",
    "resource temporarily unavailable",
    "i/o timeout",
    "database is locked",
];

/// What happened to the container called `id` or `name`.
pub(crate) fn diagnose(id: &str, name: &str, code: Option<i32>, stderr: &str) -> Trouble {
    let words = engine_words(stderr.as_bytes());
    if let Some(error) = unreachable_words(&words) {
        return Trouble::Final(error.into());
    }
    let said = words.lines().map(str::trim).find(|line| {
        let spoken = line.strip_prefix("docker: ").unwrap_or(line);
        PREFIXES.iter().any(|prefix| spoken.starts_with(prefix))
    });
    if let Some(line) = said {
        if GONE.iter().any(|part| line.contains(part)) && names(line, id, name) {
            return Trouble::Gone;
        }
        if PASSING.iter().any(|part| line.contains(part)) {
            return Trouble::Passing(failure(code, line));
        }
    }
    Trouble::Final(failure(code, last_line(&words)))
}

/// Whether a line is about this container.
fn names(line: &str, id: &str, name: &str) -> bool {
    let short: String = id.chars().take(12).collect();
    (!short.is_empty() && line.contains(&short)) || (!name.is_empty() && line.contains(name))
        // Some tell the state alone; the client was called for no other container.
        || STATE_ALONE.iter().any(|part| line.contains(part))
}

fn failure(code: Option<i32>, line: &str) -> TransportError {
    let code = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    DockerError::Refused {
        what: format!("starting a command in the sandbox (exit code {code})"),
        words: line.to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "d07bbc404684f2989f2e90236cca278f1e4c852cce306eb3021e5ea14dd5d66f";
    const NAME: &str = "hermes-0a1b2c3d";

    fn of(stderr: &str) -> Trouble {
        diagnose(ID, NAME, Some(1), stderr)
    }

    #[test]
    fn a_container_that_is_gone_stopped_or_paused_can_come_back() {
        for words in [
            format!("Error response from daemon: No such container: {ID}\n"),
            format!("Error response from daemon: Container {ID} is not running"),
            format!("Error response from daemon: container {ID} is not running"),
            format!(
                "Error response from daemon: Container {NAME} is paused, unpause the container before exec"
            ),
            format!("Error: no container with name or ID \"{ID}\" found: no such container"),
            "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown"
                .to_owned(),
            "Error: can only create exec sessions on running containers: container state improper"
                .to_owned(),
        ] {
            assert_eq!(of(&words), Trouble::Gone, "{words}");
        }
    }

    #[test]
    fn other_words_about_other_things_do_not_count() {
        for words in [
            "foo is not running",
            "No such container: x",
            "Error response from daemon: No such container: 0123456789abcdef",
            "printed: Error response from daemon: No such container: d07bbc404684",
            "",
        ] {
            assert!(matches!(of(words), Trouble::Final(_)), "{words}");
        }
    }

    #[test]
    fn a_daemon_that_is_down_is_final_with_the_way_out() {
        let words = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
        let Trouble::Final(error) = of(words) else {
            panic!("final");
        };
        assert!(error.is_missing_part);
        assert!(error.hint.unwrap().contains("start the daemon"));
    }

    #[test]
    fn trouble_of_the_moment_may_be_tried_again() {
        for words in [
            "Error response from daemon: read unix @->/run/x.sock: connection reset by peer",
            "Error response from daemon: OCI runtime exec failed: fork: Resource temporarily unavailable",
        ] {
            assert!(matches!(of(words), Trouble::Passing(_)), "{words}");
        }
        let denied = of("Error response from daemon: OCI runtime exec failed: permission denied");
        let Trouble::Final(error) = denied else {
            panic!("final");
        };
        assert!(error.message.contains("permission denied") && !error.is_missing_part);
    }
}
