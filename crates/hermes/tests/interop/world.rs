//! A home directory of its own, with both programs in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::reference::{Reference, Version};

/// A throw-away `$HOME` and the two programs.
pub(crate) struct World {
    directory: TempDir,
    /// Variables beyond those every program gets.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    reference: Reference,
    pub(crate) version: Version,
}

/// What the reference does in [`World::made_by_the_reference`].
const RECIPE: [&[&str]; 4] = [
    &["profile", "create", "coder"],
    &["config", "set", "terminal.timeout", "99"],
    &["config", "set", "model.default", "some/model"],
    &["config", "set", "OPENROUTER_API_KEY", "v"],
];

/// Copies a tree with modes and links as they are.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .unwrap();
    assert!(status.success(), "could not copy {}", from.display());
}

/// What a file system entry is and holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link { to: PathBuf },
}

impl World {
    /// Nothing there yet.
    pub(crate) fn empty(version: Version) -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            variables: Vec::new(),
            reference: Reference::install(version),
            version,
        }
    }

    /// A home the reference has made: a profile, a setting, a model and a secret. It is made once
    /// and copied, because the reference takes its time.
    pub(crate) fn made_by_the_reference(version: Version) -> Self {
        let world = Self::empty(version);
        let pattern = world.reference.beside("home");
        let _lock = world.reference.lock();
        let recipe = format!("{RECIPE:?}");
        let mark = world.reference.beside("home.recipe");
        if fs::read_to_string(&mark).ok().as_ref() == Some(&recipe) {
            copy(&pattern.join("."), world.home());
            return world;
        }
        for args in RECIPE {
            world.theirs(args);
        }
        if pattern.exists() {
            fs::remove_dir_all(&pattern).unwrap();
        }
        copy(world.home(), &pattern);
        fs::write(mark, recipe).unwrap();
        world
    }

    pub(crate) fn home(&self) -> &Path {
        self.directory.path()
    }

    /// A path below the default profile's home.
    pub(crate) fn root(&self, path: &str) -> PathBuf {
        self.home().join(".hermes").join(path)
    }

    /// What our program prints; it must succeed.
    pub(crate) fn ours(&self, args: &[&str]) -> String {
        self.run(Path::new(env!("CARGO_BIN_EXE_hermes")), args)
    }

    /// What the reference prints; it must succeed.
    pub(crate) fn theirs(&self, args: &[&str]) -> String {
        self.run(&self.reference.program(), args)
    }

    /// What a Python script prints, with the reference's libraries at hand.
    pub(crate) fn python(&self, script: &str, args: &[&str]) -> String {
        let args: Vec<&str> = ["-c", script].iter().chain(args).copied().collect();
        self.run(&self.reference.python(), &args)
    }

    /// The value of a setting as the reference sees it, without defaults: as PyYAML reads the file.
    pub(crate) fn yaml_as_they_read_it(&self, file: &Path) -> serde_json::Value {
        let script = "import json, sys, yaml\n\
                      print(json.dumps(yaml.safe_load(open(sys.argv[1], encoding='utf-8'))))";
        let text = self.python(script, &[file.to_str().unwrap()]);
        serde_json::from_str(&text).unwrap()
    }

    /// A name of `.env` as the library of the reference reads it.
    pub(crate) fn variable_as_they_read_it(&self, file: &Path, name: &str) -> String {
        let script = "import sys\nfrom dotenv import dotenv_values\n\
                      sys.stdout.write(dotenv_values(sys.argv[1], encoding='utf-8')[sys.argv[2]])";
        self.python(script, &[file.to_str().unwrap(), name])
    }

    /// A call of our program that has no arguments yet.
    pub(crate) fn our_command(&self) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_hermes")))
    }

    /// A call of the reference that has no arguments yet.
    pub(crate) fn their_command(&self) -> Command {
        self.command(&self.reference.program())
    }

    /// A call of the interpreter of the reference that has no arguments yet.
    pub(crate) fn their_python(&self) -> Command {
        self.command(&self.reference.python())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.home());
        command
    }

    fn run(&self, program: &Path, args: &[&str]) -> String {
        let output = self
            .command(program)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{} {args:?} ended with {}\n{stdout}\n{}",
            program.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        stdout
    }

    /// Everything below `$HOME`, to the last byte and mode.
    pub(crate) fn tree(&self) -> BTreeMap<String, Entry> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.home().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let mode = meta.permissions().mode() & 0o7777;
                let entry = if meta.is_symlink() {
                    Entry::Link {
                        to: fs::read_link(&path).unwrap(),
                    }
                } else if meta.is_dir() {
                    waiting.push(path.clone());
                    Entry::Directory { mode }
                } else {
                    let bytes = fs::read(&path).unwrap();
                    Entry::File { mode, bytes }
                };
                let name = path.strip_prefix(self.home()).unwrap();
                found.insert(name.to_string_lossy().into_owned(), entry);
            }
        }
        found
    }
}

/// Names of entries that are not the same in both trees.
pub(crate) fn changed(
    before: &BTreeMap<String, Entry>,
    after: &BTreeMap<String, Entry>,
) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut changed: Vec<String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

/// The row of a table that is about this profile, marker and columns squeezed.
pub(crate) fn row(table: &str, profile: &str) -> Option<Vec<String>> {
    table.lines().find_map(|line| {
        let line = line.replace('◆', " ");
        let columns: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        (columns.first().map(String::as_str) == Some(profile)).then_some(columns)
    })
}
