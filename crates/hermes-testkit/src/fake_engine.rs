//! A container engine that does nothing but note how it was called.
//!
//! A shell script for `HERMES_DOCKER_BINARY`. Each verb answers with a snippet of shell, so a test
//! can print, fail, hang, or keep state in files below `$FAKE`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::ssh_server::put_script;

/// The script: note the call, then answer. `image inspect` is the verb `image-inspect`.
const SCRIPT: &str = r#"#!/bin/bash
FAKE=DIRECTORY
note=$(mktemp "$FAKE/calls/$EPOCHREALTIME.XXXXXX")
printf '%s\0' "$@" > "$note"
env -0 | sed -z 's/=.*//' > "$FAKE/variables/${note##*/}"
verb=$1
[ "$verb" = image ] && verb=image-$2
if [ -e "$FAKE/answers/$verb" ]; then
  . "$FAKE/answers/$verb"
  exit
fi
case $verb in
  version) printf 'Client:\n Version: 28.0\nServer:\n Engine:\n  Version: 20.10\n' ;;
  image-inspect) echo null ;;
  run) echo 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef ;;
  inspect) echo '[]'; echo "Error: No such object: ${!#}" >&2; exit 1 ;;
  ps | info | rm | stop | start | unpause | update | pull | exec | top) ;;
  *) echo "unknown verb $verb" >&2; exit 125 ;;
esac
"#;

/// The engine.
#[derive(Debug)]
pub struct FakeEngine {
    directory: TempDir,
}

/// One call of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineCall {
    /// Its arguments.
    pub args: Vec<String>,
    /// Names of its variables.
    pub variables: Vec<String>,
}

impl EngineCall {
    /// The arguments as one line, for comparisons.
    pub fn line(&self) -> String {
        self.args.join(" ")
    }

    /// Whether it is about this verb.
    pub fn is(&self, verb: &str) -> bool {
        self.args.first().is_some_and(|first| first == verb)
    }
}

impl Default for FakeEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeEngine {
    /// An engine that answers, has no containers and makes any.
    pub fn new() -> Self {
        let directory = TempDir::with_prefix("fake-engine-").unwrap();
        for name in ["calls", "variables", "answers", "state"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        let engine = Self { directory };
        let place = engine.directory.path().display().to_string();
        let script = SCRIPT.replace("DIRECTORY", &format!("'{place}'"));
        put_script(&engine.program(), &script);
        engine
    }

    /// Path for `HERMES_DOCKER_BINARY`.
    pub fn program(&self) -> PathBuf {
        self.directory.path().join("docker")
    }

    /// A place for files of snippets: `$FAKE/state`.
    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// What a verb does from now on: a snippet of bash that sees the arguments as `$@`.
    pub fn answer(&self, verb: &str, snippet: &str) {
        let answers = self.directory.path().join("answers");
        let staged = answers.join(format!(".{verb}"));
        std::fs::write(&staged, snippet).unwrap();
        std::fs::rename(staged, answers.join(verb)).unwrap();
    }

    /// A verb prints this.
    pub fn print(&self, verb: &str, output: &str) {
        let file = self.state().join(format!("output-{verb}"));
        std::fs::write(&file, output).unwrap();
        self.answer(verb, &format!("cat '{}'", file.display()));
    }

    /// A verb fails with these words.
    pub fn fail(&self, verb: &str, code: i32, words: &str) {
        let file = self.state().join(format!("words-{verb}"));
        std::fs::write(&file, words).unwrap();
        self.answer(verb, &format!("cat '{}' >&2; exit {code}", file.display()));
    }

    /// A verb does not come back.
    pub fn hang(&self, verb: &str) {
        self.answer(verb, "exec sleep 60");
    }

    /// All calls so far, oldest first.
    pub fn calls(&self) -> Vec<EngineCall> {
        let calls = self.directory.path().join("calls");
        let mut names: Vec<_> = std::fs::read_dir(&calls)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        let read = |name| EngineCall {
            args: parts(&calls.join(name)),
            variables: parts(&self.directory.path().join("variables").join(name)),
        };
        names.iter().map(read).collect()
    }

    /// The calls of a verb so far.
    pub fn calls_of(&self, verb: &str) -> Vec<EngineCall> {
        let mut calls = self.calls();
        calls.retain(|call| call.is(verb));
        calls
    }

    /// Forgets all calls.
    pub fn forget(&self) {
        for name in ["calls", "variables"] {
            let directory = self.directory.path().join(name);
            for entry in std::fs::read_dir(directory).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
        }
    }
}

/// What stands between NULs in a file; nothing if a call is only just being noted.
fn parts(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    let parts = bytes.split(|byte| *byte == 0);
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}
