//! The state of a session as the rules about commands look at it.

use std::ffi::OsString;
use std::path::Path;

use hermes_shell::KnownShell;

use super::state::{Definitions, ShellState};

/// What the next shell of a session begins with. Nothing is converted before it is asked for.
pub(crate) struct SessionShell<'a> {
    state: ShellState,
    /// Where the command runs, if that is not the directory of the session.
    directory: Option<String>,
    /// What this very shell ran before, if it is one that goes on.
    earlier: Option<&'a str>,
    /// Variables that no command of the session has changed.
    inherited: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> SessionShell<'a> {
    pub(crate) fn new(state: ShellState, inherited: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self {
            state,
            directory: None,
            earlier: None,
            inherited,
        }
    }

    /// The same for a command that runs in another directory.
    pub(crate) fn in_directory(mut self, workdir: Option<&str>) -> Self {
        self.directory = workdir.map(|workdir| {
            if workdir.starts_with('~') {
                return workdir.to_owned();
            }
            self.state
                .cwd
                .join(Path::new(workdir))
                .display()
                .to_string()
        });
        self
    }

    /// The same for a shell that has run something already.
    pub(crate) fn after(mut self, earlier: &'a str) -> Self {
        self.earlier = Some(earlier);
        self
    }
}

fn definition(definitions: &Definitions, name: &str) -> Option<String> {
    let text = definitions.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

impl KnownShell for SessionShell<'_> {
    fn directory(&self) -> Option<String> {
        let cwd = || self.state.cwd.display().to_string();
        Some(self.directory.clone().unwrap_or_else(cwd)).filter(|path| !path.is_empty())
    }

    fn variable(&self, name: &str) -> Option<String> {
        let overlay = &self.state.overlay;
        let name_os = OsString::from(name);
        let changed = overlay.session.get(&name_os);
        let value = match changed.or_else(|| overlay.login.get(&name_os)) {
            Some(changed) => changed.clone(),
            None => (self.inherited)(name),
        };
        value?.into_string().ok()
    }

    fn alias(&self, name: &str) -> Option<String> {
        definition(&self.state.aliases, name)
    }

    fn function(&self, name: &str) -> Option<String> {
        definition(&self.state.functions, name)
    }

    fn earlier(&self) -> Option<&str> {
        self.earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::StateDelta;

    #[test]
    fn changes_of_the_session_come_before_what_is_inherited() {
        let mut state = ShellState::new("/srv".into());
        state.apply(StateDelta {
            variables: [("A".into(), Some("session".into())), ("GONE".into(), None)].into(),
            functions: [(b"f".to_vec(), Some(b"f () { :; }".to_vec()))].into(),
            aliases: [(b"l".to_vec(), Some(b"ls".to_vec()))].into(),
            ..StateDelta::default()
        });
        let inherited = |_: &str| Some(OsString::from("inherited"));
        let shell = SessionShell::new(state.clone(), &inherited);
        assert_eq!(shell.variable("A").as_deref(), Some("session"));
        assert_eq!(shell.variable("B").as_deref(), Some("inherited"));
        assert_eq!(shell.variable("GONE"), None);
        assert_eq!(shell.alias("l").as_deref(), Some("ls"));
        assert_eq!(shell.function("f").as_deref(), Some("f () { :; }"));
        assert_eq!(shell.function("g"), None);
        assert_eq!(shell.directory().as_deref(), Some("/srv"));
        for (workdir, expected) in [("/x", "/x"), ("y", "/srv/y"), ("~/z", "~/z")] {
            let shell = SessionShell::new(state.clone(), &inherited).in_directory(Some(workdir));
            assert_eq!(shell.directory().as_deref(), Some(expected));
        }
    }
}
