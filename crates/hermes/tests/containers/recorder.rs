//! A real engine whose every call is noted, and that can be held up or fail at a chosen verb.

use std::path::{Path, PathBuf};

use hermes_testkit::{EngineCall, FakeEngine, RealEngine};

/// Everything the program asks of engines.
const VERBS: [&str; 14] = [
    "version",
    "info",
    "ps",
    "inspect",
    "image-inspect",
    "pull",
    "run",
    "start",
    "unpause",
    "update",
    "exec",
    "stop",
    "rm",
    "top",
];

pub(crate) struct Recorder {
    engine: RealEngine,
    noted: FakeEngine,
}

impl Recorder {
    /// Passes everything on.
    pub(crate) fn of(engine: RealEngine) -> Self {
        let recorder = Self {
            engine,
            noted: FakeEngine::new(),
        };
        for verb in VERBS {
            recorder.pass_on(verb);
        }
        recorder
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.noted.program()
    }

    /// A verb does what it should.
    pub(crate) fn pass_on(&self, verb: &str) {
        self.answer(verb, "exec ENGINE \"$@\"");
    }

    /// What a verb does from now on: bash in which `ENGINE` is the real engine and `"$@"` the call.
    pub(crate) fn answer(&self, verb: &str, snippet: &str) {
        let snippet = snippet.replace("ENGINE", self.engine.program());
        self.noted.answer(verb, &snippet);
    }

    /// A place for files of snippets: `$FAKE/state`.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.noted.state().join(name)
    }

    /// The calls of a verb so far.
    pub(crate) fn calls_of(&self, verb: &str) -> Vec<EngineCall> {
        self.noted.calls_of(verb)
    }

    /// Whether a snippet has left this file.
    pub(crate) fn has(&self, name: &str) -> bool {
        let path: &Path = &self.state(name);
        path.exists()
    }

    pub(crate) fn forget(&self) {
        self.noted.forget();
    }
}
