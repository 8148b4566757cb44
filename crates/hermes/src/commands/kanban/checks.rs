//! Acceptance checks on the command line: their arguments, and how they are printed.

use std::path::PathBuf;

use hermes_board::model::{
    Check, CheckEvidence, CheckMark, CheckSession, CheckState, NewCheck, Task,
};
use hermes_runtime::{BackendKind, check_backend_of};

use super::session::{refusal, usage};
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// Largest file of checks.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most characters of a command on a line.
const COMMAND: usize = 200;

/// What agents cannot do.
pub(super) const ON_HOST: &str =
    "let a check run on this machine instead of where the work is done";

/// Acceptance checks.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Acceptance check: a command that must pass before the card is done; can be repeated
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    /// File with such commands, one per line; blank lines and lines that begin with # are ignored
    #[arg(long, value_name = "FILE")]
    check_file: Vec<PathBuf>,
    /// Acceptance check that runs on this machine and not where the worker works; can be repeated.
    /// Without a command, all checks do
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = "")]
    check_on_host: Vec<String>,
}

impl CheckArgs {
    /// Whether any were given.
    pub(super) fn is_given(&self) -> bool {
        !self.checks.is_empty() || !self.check_file.is_empty() || self.asks_for_host()
    }

    /// Whether any of them is to run on this machine wherever the work is done.
    pub(super) fn asks_for_host(&self) -> bool {
        !self.check_on_host.is_empty()
    }

    /// The checks in order: those given directly, those of files, those for this machine.
    pub(super) fn checks(&self) -> Result<Vec<NewCheck>> {
        let all_on_host = self.check_on_host.iter().any(String::is_empty);
        let mut checks: Vec<NewCheck> = Vec::new();
        for command in self.commands()? {
            checks.push(NewCheck {
                command,
                on_host: all_on_host,
            });
        }
        let for_host = self.check_on_host.iter().filter(|text| !text.is_empty());
        checks.extend(for_host.map(|command| NewCheck {
            command: command.clone(),
            on_host: true,
        }));
        if checks.is_empty() && all_on_host {
            return Err(usage("--check-on-host: no check was given")
                .hint("give it a command, or add --check COMMAND"));
        }
        Ok(checks)
    }

    fn commands(&self) -> Result<Vec<String>> {
        let mut commands = self.checks.clone();
        for path in &self.check_file {
            let text = hermes_fs::read_text_capped(path, FILE_LIMIT)
                .map_err(|error| refusal(error.to_string()))?;
            let before = commands.len();
            commands.extend(lines(&text).map(str::to_owned));
            if commands.len() == before {
                return Err(refusal(format!("{} contains no checks", path.display())));
            }
        }
        Ok(commands)
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The checks of a card with the results of the last session.
pub(super) fn describe(checks: &[Check], mark: CheckMark, last: Option<&CheckSession>) -> String {
    let standing = match mark {
        CheckMark::None => return String::new(),
        CheckMark::Open => match last.map(|round| round.state) {
            Some(CheckState::Pending) => "being run",
            Some(CheckState::Failed) => "failed",
            Some(CheckState::Passed | CheckState::Abandoned) | None => "not run yet",
        },
        CheckMark::Checked => "passed",
        CheckMark::Unchecked => "NOT run: the card was completed without them",
    };
    let mut out = format!("Checks ({}, {standing}):\n", checks.len());
    for check in checks {
        let found = last.and_then(|round| {
            round
                .results
                .iter()
                .find(|result| result.position == check.position && result.command == check.command)
        });
        out.push_str(&format!(
            "  {}. {}{}{}\n",
            check.position,
            one_line(&check.command, COMMAND),
            found.map(verdict).unwrap_or_default(),
            if check.on_host {
                "  [on this machine]"
            } else {
                ""
            }
        ));
    }
    out
}

/// Where the checks of a card run.
pub(super) struct CheckPlace {
    /// The backend, for programs; `host` if all checks ask for this machine.
    pub(super) word: &'static str,
    /// A sentence for people.
    pub(super) sentence: String,
}

impl CheckPlace {
    /// `None` for a card without checks.
    pub(super) fn of(context: &Context, task: &Task, checks: &[Check]) -> Option<Self> {
        if checks.is_empty() {
            return None;
        }
        let on_host = checks.iter().filter(|check| check.on_host).count();
        if on_host == checks.len() {
            return Some(Self {
                word: "host",
                sentence: "Its checks run on this machine, as whoever filed them asked.".to_owned(),
            });
        }
        let (word, place) = match check_backend_of(context, task) {
            Ok(BackendKind::Local) => ("local", "on this machine".to_owned()),
            Ok(BackendKind::Docker) => ("docker", "in a container, as its worker works".to_owned()),
            Ok(BackendKind::Ssh) => (
                "ssh",
                "on the machine that the terminal of its worker uses".to_owned(),
            ),
            Err(error) => (
                "unknown",
                format!("nowhere: {}", one_line(&error.to_string(), COMMAND)),
            ),
        };
        let rest = if on_host == 0 || word == "local" {
            String::new()
        } else {
            format!(", {on_host} of them on this machine, as whoever filed them asked")
        };
        Some(Self {
            word,
            sentence: format!("Its checks run {place}{rest}."),
        })
    }
}

fn verdict(evidence: &CheckEvidence) -> String {
    let time = match evidence.duration_ms {
        short @ ..1000 => format!("{short} ms"),
        long => format!("{} s", long / 1000),
    };
    if evidence.passed() {
        format!("  ✓ passed in {time}")
    } else {
        format!("  ✗ {} after {time}", evidence.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_a_command_a_line() {
        let text = "# what must hold\n\ncargo test\n  cargo clippy -- -D warnings  \n#end";
        let found: Vec<&str> = lines(text).collect();
        assert_eq!(found, ["cargo test", "cargo clippy -- -D warnings"]);
    }
}
