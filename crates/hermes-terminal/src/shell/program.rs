//! Which shell runs commands.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hermes_proc::find_on_path;

use crate::lock::lock;

/// How a shell is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    /// Bash: directory, variables, functions and aliases last.
    Bash,
    /// Any other: directory and variables last.
    Posix,
}

/// A shell on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    pub path: PathBuf,
    pub kind: ShellKind,
}

impl Shell {
    /// The shell at this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let is_bash = path
            .file_name()
            .is_some_and(|name| name == "bash" || name.as_encoded_bytes().starts_with(b"bash-"));
        let kind = if is_bash {
            ShellKind::Bash
        } else {
            ShellKind::Posix
        };
        Self { path, kind }
    }
}

/// Finds the shell once, when it is first needed, and again when its file has gone.
#[derive(Debug)]
pub struct ShellFinder {
    /// The `PATH` that bash is looked for on, in front of the candidates; many conversations end
    /// without a command.
    search_path: Option<OsString>,
    candidates: Vec<PathBuf>,
    found: Mutex<Option<Shell>>,
}

impl ShellFinder {
    /// Looks for bash on this `PATH` and in its usual directories, then for the user's shell, then for
    /// the system's.
    pub fn new(search_path: Option<&OsStr>, user_shell: Option<&Path>) -> Self {
        let mut candidates = ["/usr/bin/bash", "/bin/bash"].map(PathBuf::from).to_vec();
        candidates.extend(user_shell.map(Path::to_owned));
        candidates.push("/bin/sh".into());
        Self {
            search_path: search_path.map(OsStr::to_owned),
            ..Self::among(candidates)
        }
    }

    /// Takes the first of these that exists.
    pub fn among(candidates: Vec<PathBuf>) -> Self {
        Self {
            search_path: None,
            candidates,
            found: Mutex::new(None),
        }
    }

    /// The shell, or the last candidate if none exists.
    pub fn find(&self) -> Shell {
        let mut found = lock(&self.found);
        if let Some(shell) = found.as_ref().filter(|shell| shell.path.exists()) {
            return shell.clone();
        }
        let on_path = self
            .search_path
            .as_deref()
            .and_then(|path| find_on_path(OsStr::new("bash"), Some(path)));
        let path = on_path.or_else(|| {
            let mut candidates = self.candidates.iter();
            let found = candidates.find(|path| find_on_path(path.as_os_str(), None).is_some());
            found.or(self.candidates.last()).cloned()
        });
        let shell = Shell::at(path.unwrap_or_else(|| PathBuf::from("/bin/sh")));
        *found = Some(shell.clone());
        shell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_comes_first_and_a_missing_file_is_looked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("bash");
        hermes_fs::symlink(Path::new("/bin/sh"), &mine).unwrap();
        let finder = ShellFinder::new(Some(dir.path().as_os_str()), None);
        assert_eq!(finder.find(), Shell::at(&mine));
        assert_eq!(finder.find().kind, ShellKind::Bash);
        hermes_fs::remove_file(&mine).unwrap();
        assert_ne!(finder.find().path, mine);
        let none = ShellFinder::among(vec!["/nowhere/sh".into()]);
        assert_eq!(none.find(), Shell::at("/nowhere/sh"));
    }
}
