//! A private place for one test: home, working directory, registry, context.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_policy::PrivateHomes;
use hermes_proc::Wake;
use hermes_secret::Redactor;
use hermes_terminal::remote::ScriptRunner;
use hermes_tools::{
    CallContext, CrossProfile, FileLedger, Filesystem, HostFiles, PatchTool, ReadFileTool,
    RemoteFiles, SearchFilesTool, SessionState, ToolRegistry, WriteFileTool, WriteGuard,
    WriteRules,
};
use serde_json::Value;

use crate::script_hosts::{Programs, ShellHost};

/// A value that must never come out.
pub(crate) const SECRET: &str = "canary-5f1d2c9e7b";

pub(crate) struct Stage {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) context: CallContext,
}

/// A session that never changes.
#[derive(Default)]
pub(crate) struct FixedSession {
    pub(crate) cwd: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl SessionState for FixedSession {
    fn cwd(&self) -> PathBuf {
        self.cwd.clone()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.clone())
    }
}

/// Follows links and refuses one directory, as the real guard refuses many.
struct Fence {
    forbidden: PathBuf,
}

impl WriteGuard for Fence {
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(_) => {
                let existing = path.ancestors().find(|path| path.exists()).unwrap();
                let below = path.strip_prefix(existing).unwrap();
                existing.canonicalize().unwrap().join(below)
            }
        };
        if real.starts_with(&self.forbidden) && cross_profile == CrossProfile::Refused {
            return Err(format!("Write denied: {} is protected.", real.display()));
        }
        Ok(real)
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(files_registry())
    }

    /// One whose files are in a place with these programs, below the same directory.
    pub(crate) fn on_host(programs: Programs) -> Self {
        Self::on_host_with(programs, WriteRules::Unrestricted, files_registry())
    }

    pub(crate) fn on_host_with(
        programs: Programs,
        rules: WriteRules,
        registry: ToolRegistry,
    ) -> Self {
        let stage = Self::with(registry);
        let place = Arc::new(ShellHost::new(programs, &stage.root("")));
        stage.moved_to(place, rules)
    }

    /// The same with the files of a place.
    pub(crate) fn moved_to(mut self, place: Arc<dyn ScriptRunner>, rules: WriteRules) -> Self {
        self.context.filesystem = Filesystem::from(RemoteFiles::new(place, rules));
        // Nothing of this machine may have a say.
        self.context.child_home = PathBuf::from("/nonexistent");
        self
    }

    pub(crate) fn with(registry: ToolRegistry) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["work", "home", "hermes", "forbidden"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let context = CallContext {
            session_key: "test".to_owned(),
            conversation: hermes_tools::ToolConversation::default(),
            session: Arc::new(FixedSession {
                cwd: root.join("work"),
                variables: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            }),
            child_home: root.join("home"),
            filesystem: Filesystem::from(HostFiles {
                home: root.join("home"),
                private_homes: PrivateHomes {
                    accounts: Vec::new(),
                    hermes: vec![root.join("hermes")],
                },
                write_guard: Arc::new(Fence {
                    forbidden: root.join("forbidden"),
                }),
            }),
            redactor: Arc::new(Redactor::new([SECRET])),
            files: Arc::new(FileLedger::default()),
            enabled_tools: Vec::new(),
            interrupt: Arc::new(Wake::new().unwrap()),
            registry: Arc::new(registry),
        };
        Self { dir, context }
    }

    /// A path below the working directory.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .unwrap()
            .join("work")
            .join(name)
    }

    pub(crate) fn root(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Puts a file into the working directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.work(name)).unwrap()
    }

    pub(crate) fn call(&self, tool: &str, args: Value) -> Value {
        self.context.registry.call(tool, &args, &self.context)
    }

    /// The message of a call that must fail.
    pub(crate) fn refused(&self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args);
        match result["error"].as_str() {
            Some(message) => message.to_owned(),
            None => panic!("not refused: {result}"),
        }
    }
}

pub(crate) fn files_registry() -> ToolRegistry {
    ToolRegistry::default()
        .with(ReadFileTool::default())
        .with(WriteFileTool)
        .with(PatchTool)
        .with(SearchFilesTool)
}
