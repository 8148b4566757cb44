//! Acceptance checks on the command line: their arguments, and how they are printed.

use std::path::PathBuf;

use hermes_board::model::{Check, CheckEvidence, CheckMark, CheckSession, CheckState};

use super::session::refusal;
use crate::error::Result;
use crate::ui::one_line;

/// Largest file of checks.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most characters of a command on a line.
const COMMAND: usize = 200;

/// Acceptance checks.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Acceptance check: a command that must pass before the card is done; can be repeated
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    /// File with such commands, one per line; blank lines and lines that begin with # are ignored
    #[arg(long, value_name = "FILE")]
    check_file: Vec<PathBuf>,
}

impl CheckArgs {
    /// Whether any were given.
    pub(super) fn is_given(&self) -> bool {
        !self.checks.is_empty() || !self.check_file.is_empty()
    }

    /// The commands in order: those given directly, then those of files.
    pub(super) fn commands(&self) -> Result<Vec<String>> {
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
            "  {}. {}{}\n",
            check.position,
            one_line(&check.command, COMMAND),
            found.map(verdict).unwrap_or_default()
        ));
    }
    out
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
