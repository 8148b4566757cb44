//! Commands that would change Hermes' own settings, keys and state behind its back. An agent that
//! may do that needs no other permission.

use super::known_homes::KnownHomes;
use super::paths::{Sensitive, sensitivity};
use hermes_shell::{Analysis, Reach};

/// What to tell who tried.
pub(crate) const MESSAGE: &str = "BLOCKED: this would write to Hermes' own settings, keys or state, \
    which only the user changes. Ask the user to do it (`hermes config set`, `hermes config edit`); \
    do not reach the file another way.";

/// Whether a command redirects output into one of Hermes' own files on this machine.
pub(crate) fn writes_own_files(analysis: &Analysis<'_>, homes: &KnownHomes) -> bool {
    let commands = analysis.script.commands.iter();
    let mut here = commands.filter(|command| command.reach != Reach::Container);
    here.any(|command| {
        command.redirects.iter().any(|redirect| {
            redirect.writes
                && sensitivity(command, &redirect.target, homes) == Some(Sensitive::Hermes)
        })
    })
}
