//! The state of one session's shell and how reports of ended shells change it.
//!
//! A report is never taken over as a whole: what a command changed is computed against what that
//! command started with, so that commands which ran at the same time do not undo each other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_proc::env::{Overlay, VariableChanges};

/// Functions or aliases by name, as bytes of the shell.
pub(crate) type Definitions = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the next command of a session starts with. Cheap to clone.
#[derive(Clone)]
pub struct ShellState {
    pub cwd: PathBuf,
    pub overlay: Arc<Overlay>,
    pub functions: Arc<Definitions>,
    pub aliases: Arc<Definitions>,
}

/// What one command changed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StateDelta {
    pub cwd: Option<PathBuf>,
    pub variables: VariableChanges,
    /// Functions defined (`Some`) and removed (`None`).
    pub functions: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    pub aliases: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl ShellState {
    /// The state of a shell that has done nothing yet.
    pub fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            overlay: Arc::default(),
            functions: Arc::default(),
            aliases: Arc::default(),
        }
    }

    /// Takes over what a command changed, name by name.
    pub fn apply(&mut self, delta: StateDelta) {
        if let Some(cwd) = delta.cwd {
            self.cwd = cwd;
        }
        if !delta.variables.is_empty() {
            Arc::make_mut(&mut self.overlay)
                .session
                .extend(delta.variables);
        }
        merge(&mut self.functions, delta.functions);
        merge(&mut self.aliases, delta.aliases);
    }

    /// Takes over what the login shell changed. Completion helpers (one leading underscore) stay
    /// behind: nobody completes words here, and there are hundreds of them.
    pub fn apply_login(&mut self, delta: StateDelta) {
        Arc::make_mut(&mut self.overlay).login = delta.variables;
        let functions = delta
            .functions
            .into_iter()
            .filter(|(name, _)| !name.starts_with(b"_") || name.starts_with(b"__"))
            .collect();
        merge(&mut self.functions, functions);
        merge(&mut self.aliases, delta.aliases);
    }
}

fn merge(definitions: &mut Arc<Definitions>, delta: BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
    if delta.is_empty() {
        return;
    }
    let definitions = Arc::make_mut(definitions);
    for (name, change) in delta {
        match change {
            Some(text) => definitions.insert(name, text),
            None => definitions.remove(&name),
        };
    }
}

/// What changed between two sets of definitions.
pub(super) fn changed_definitions(
    before: &Definitions,
    after: Definitions,
) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    let removed = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(|name| (name.clone(), None));
    let mut changes: BTreeMap<_, _> = removed.collect();
    for (name, text) in after {
        if before.get(&name) != Some(&text) {
            changes.insert(name, Some(text));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn delta(name: &str, value: Option<&str>) -> StateDelta {
        StateDelta {
            variables: [(name.into(), value.map(Into::into))].into(),
            ..StateDelta::default()
        }
    }

    #[test]
    fn two_commands_that_ran_together_both_keep_their_variables() {
        let mut state = ShellState::new("/".into());
        state.apply(delta("A", Some("1")));
        state.apply(delta("B", Some("2")));
        state.apply(delta("A", None));
        let expected: VariableChanges = [("A".into(), None), ("B".into(), Some("2".into()))].into();
        assert_eq!(state.overlay.session, expected);
        assert_eq!(state.overlay.login, VariableChanges::new());
    }

    #[test]
    fn completion_helpers_of_the_login_shell_stay_behind() {
        let mut state = ShellState::new("/".into());
        let functions = ["_git", "__git_ps1", "f"].map(|name| {
            let name = name.as_bytes().to_vec();
            (name.clone(), Some(name))
        });
        state.apply_login(StateDelta {
            functions: functions.into(),
            ..StateDelta::default()
        });
        let kept: Vec<_> = state.functions.keys().cloned().collect();
        assert_eq!(kept, [b"__git_ps1".to_vec(), b"f".to_vec()]);
    }

    #[test]
    fn definitions_change_by_name() {
        let before: Definitions = [
            (b"a".to_vec(), b"1".to_vec()),
            (b"b".to_vec(), b"1".to_vec()),
        ]
        .into();
        let after: Definitions = [
            (b"b".to_vec(), b"2".to_vec()),
            (b"c".to_vec(), b"3".to_vec()),
        ]
        .into();
        let changes = changed_definitions(&before, after.clone());
        let mut merged = Arc::new(before);
        merge(&mut merged, changes);
        assert_eq!(*merged, after);
    }
}
