//! Deciding whether a command may run: what it would do, which rules it meets, who is asked.
//!
//! Code over text and settings: nothing here spawns or reads the environment. Files are touched in
//! two places only: a permanent approval is written, and links are followed before a file tool may
//! write. It is defence in depth, not a boundary.

mod allowlist;
mod ask;
mod decision;
mod deny;
mod detect;
mod foreground;
mod gateway_self_harm;
mod glob;
mod hardline;
mod keys;
mod memory;
mod normalise;
mod paths;
mod programs;
mod settings;
mod sudo;
mod syntax;
mod verdict;
mod write_guard;

pub use ask::{Answer, ApprovalObserver, ApprovalRequest, Approver, Judge, Judgement};
pub use decision::{CheckRequest, Context, Guard};
pub use detect::Surroundings;
pub use memory::{PermanentApprovals, SessionApprovals};
pub use normalise::Folding;
pub use settings::{ApprovalMode, GuardSettings, Unattended};
pub use sudo::{SudoRewrite, SudoUse, sudo_uses, with_password_from_stdin};
pub use syntax::MAX_COMMAND_CHARS;
pub use verdict::{Status, Verdict};
pub use write_guard::{
    WriteContext, WriteRefusal, check_write, check_write_by_text, parse_safe_roots,
};

use syntax::Analysis;

/// Every fixed key under which an approval can be stored in `command_allowlist`.
pub fn pattern_keys() -> impl Iterator<Item = &'static str> {
    keys::ALL.iter().map(|key| key.text)
}

/// The program whose exit code a command gives back, where that is plain to see; for hints.
pub fn last_program(command: &str) -> Option<&str> {
    syntax::last_program(command)
}

/// Whether a command prints variables with their values, or names a file of them.
pub fn lists_variables(command: &str) -> bool {
    const LISTERS: [&str; 5] = ["env", "printenv", "set", "export", "declare"];
    // Between words and parts of paths stands what no name of such a file has.
    let mut names = command.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
    if names.any(hermes_secret::is_variables_file) {
        return true;
    }
    // Most commands need not be taken apart to know.
    LISTERS.iter().any(|lister| command.contains(lister))
        && Analysis::of(command)
            .script
            .certain()
            .any(|(_, command)| LISTERS.contains(&command.name()))
}

/// Why a command should run in the background instead, if so.
pub fn foreground_refusal(command: &str) -> Option<String> {
    foreground::foreground_refusal(&Analysis::of(command))
}

/// Why a command must not run inside the gateway, if so.
pub fn gateway_self_harm(command: &str) -> Option<String> {
    gateway_self_harm::gateway_self_harm(&Analysis::of(command))
}

#[cfg(test)]
#[path = "robustness_tests.rs"]
mod robustness_tests;
