//! A user's home directory of its own for every test.

use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::unprivileged::NOBODY;
use crate::{ProgramCall, ProgramOutput, Tree};

/// A temporary user home, and the binary to run in it.
#[derive(Debug)]
pub struct TestHome {
    directory: TempDir,
    program: PathBuf,
}

impl TestHome {
    /// An empty home. `program` is `env!("CARGO_BIN_EXE_hermes")` of the calling test.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let home = Self {
            directory: TempDir::with_prefix("hermes-test-").unwrap(),
            program: program.into(),
        };
        // Others may pass through, as through /home, so that tests can run as another user.
        set_mode(home.directory.path(), 0o755);
        std::fs::create_dir(home.user_home()).unwrap();
        std::fs::create_dir(home.outside("fake-root")).unwrap();
        home
    }

    /// The same content in another directory.
    #[must_use]
    pub fn copied(&self) -> Self {
        let copy = Self {
            directory: TempDir::with_prefix("hermes-test-").unwrap(),
            program: self.program.clone(),
        };
        let status = Command::new("cp")
            .arg("-a")
            .arg(self.directory.path().join("."))
            .arg(copy.directory.path())
            .status()
            .unwrap();
        assert!(status.success(), "cp -a: {status}");
        copy
    }

    /// What `HOME` says.
    pub fn user_home(&self) -> PathBuf {
        self.directory.path().join("user")
    }

    /// A path beside the user's home, for archives, scripts and whatever else is not the home's.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `~/.hermes`, which may not exist yet.
    pub fn root(&self) -> PathBuf {
        self.user_home().join(".hermes")
    }

    /// A path below `~/.hermes`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The directory where wrappers of profiles go.
    pub fn alias_dir(&self) -> PathBuf {
        self.user_home().join(".local/bin")
    }

    /// The binary under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Writes a file below `~/.hermes`, mode 0600, with the directories it needs.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        put(&self.path(name), content.as_ref(), 0o600);
    }

    /// Writes a file beside the user's home.
    pub fn put_outside(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.outside(name);
        put(&path, content.as_ref(), mode);
        path
    }

    /// The text of a file below `~/.hermes`.
    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether something is there.
    pub fn has(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.path(name)).is_ok()
    }

    /// Permission bits of a path below `~/.hermes`.
    pub fn mode(&self, name: &str) -> u32 {
        mode(&self.path(name))
    }

    /// Everything in the user's home.
    pub fn tree(&self) -> Tree {
        Tree::read(&self.user_home())
    }

    /// Gives everything in the user's home to a user without rights.
    pub fn give_to_nobody(&self) {
        give(&self.user_home());
    }

    /// A call that has not started yet.
    pub fn hermes<I, S>(&self, args: I) -> ProgramCall
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        ProgramCall::new(
            &self.program,
            self.directory.path(),
            &self.user_home(),
            args,
        )
    }

    /// Runs the program to its end.
    pub fn run<I, S>(&self, args: I) -> ProgramOutput
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.hermes(args).run()
    }
}

fn put(path: &Path, content: &[u8], mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    set_mode(path, mode);
}

fn mode(path: &Path) -> u32 {
    let meta = std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    meta.permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn give(path: &Path) {
    if !rustix::process::geteuid().is_root() {
        // Tests that run as an ordinary user are that user already.
        return;
    }
    if std::fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}
