//! A home, a directory, a plain environment and no guard.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_policy::PrivateHomes;
use hermes_proc::Wake;
use hermes_secret::Redactor;
use hermes_terminal::backend::Backend;
use hermes_terminal::environment::{ShellEnvRequest, ShellEnvironment};
use hermes_terminal::local::LocalBackend;
use hermes_terminal::remote::RemoteBackend;
use hermes_terminal::shell::{Overlay, ShellFinder};
use hermes_terminal::{
    CommandApprover, CommandCheck, CommandDecision, SudoSupport, Terminal, TerminalSettings,
};
use hermes_tools::{
    CallContext, CrossProfile, Filesystem, HostFiles, NoticeSupport, ProcessTool, SessionState,
    TerminalTool, Tool, ToolConversation, WriteGuard,
};
use serde_json::{Value, json};

/// The file tools are not used here.
struct NoSession;

impl SessionState for NoSession {
    fn cwd(&self) -> PathBuf {
        PathBuf::new()
    }

    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }
}

/// Variables as a plain environment with the session's overlay on top.
pub(crate) struct PlainEnv {
    pub(crate) base: Mutex<Vec<(OsString, OsString)>>,
    pub(crate) home: PathBuf,
}

impl ShellEnvironment for PlainEnv {
    fn variables(&self, request: &ShellEnvRequest<'_>) -> Vec<(OsString, OsString)> {
        let mut map: std::collections::BTreeMap<_, _> =
            self.base.lock().unwrap().iter().cloned().collect();
        for delta in [&request.overlay.login, &request.overlay.session] {
            for (name, value) in delta {
                match value {
                    Some(value) => map.insert(name.clone(), value.clone()),
                    None => map.remove(name),
                };
            }
        }
        map.insert("HERMES_SESSION_ID".into(), request.session.as_str().into());
        map.into_iter().collect()
    }

    fn variable(&self, _: &str, _: &Overlay) -> Option<OsString> {
        None
    }

    fn child_home(&self) -> PathBuf {
        self.home.clone()
    }
}

pub(crate) struct AllowAll;

impl CommandApprover for AllowAll {
    fn check(&self, _: &CommandCheck<'_>) -> CommandDecision {
        CommandDecision::Allowed {
            approval: None,
            confinement: hermes_terminal::backend::Confinement::None,
        }
    }
}

impl WriteGuard for AllowAll {
    fn check(&self, path: &Path, _: CrossProfile) -> Result<PathBuf, String> {
        Ok(path.to_owned())
    }
}

/// What a world is made of besides its directories.
pub(crate) struct Parts {
    pub(crate) shells: ShellFinder,
    pub(crate) remote: Option<Arc<RemoteBackend>>,
    pub(crate) approver: Arc<dyn CommandApprover>,
    pub(crate) sudo: Option<Arc<dyn SudoSupport>>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            shells: ShellFinder::new(Some("/usr/bin:/bin".as_ref()), None),
            remote: None,
            approver: Arc::new(AllowAll),
            sudo: None,
        }
    }
}

pub(crate) enum Directory {
    Own(tempfile::TempDir),
    Foreign(PathBuf),
}

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Own(dir) => dir.path(),
            Self::Foreign(path) => path,
        }
    }
}

pub(crate) struct World {
    pub(crate) dir: Directory,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) env: Arc<PlainEnv>,
    pub(crate) interrupt: Arc<Wake>,
    pub(crate) notices: NoticeSupport,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut TerminalSettings)) -> Self {
        Self::of(change, Parts::default())
    }

    pub(crate) fn with_shells(
        change: impl FnOnce(&mut TerminalSettings),
        shells: ShellFinder,
    ) -> Self {
        let parts = Parts {
            shells,
            ..Parts::default()
        };
        Self::of(change, parts)
    }

    pub(crate) fn of(change: impl FnOnce(&mut TerminalSettings), parts: Parts) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work", "user", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self::build(Directory::Own(dir), change, parts)
    }

    /// A Hermes whose commands run on a remote host.
    pub(crate) fn remote(remote: Arc<RemoteBackend>) -> Self {
        let parts = Parts {
            shells: ShellFinder::among(vec!["/nowhere/bash".into()]),
            remote: Some(remote),
            ..Parts::default()
        };
        Self::of(|_| {}, parts)
    }

    /// Another Hermes over the same directories.
    pub(crate) fn at(dir: Directory) -> Self {
        Self::build(dir, |_| {}, Parts::default())
    }

    /// A Hermes over the directories of one that was killed.
    pub(crate) fn over(path: &Path) -> Self {
        Self::at(Directory::Foreign(path.to_owned()))
    }

    pub(crate) fn build(
        dir: Directory,
        change: impl FnOnce(&mut TerminalSettings),
        parts: Parts,
    ) -> Self {
        let root = dir.path().canonicalize().unwrap();
        let mut settings = TerminalSettings::new(root.join("home"), root.join("work"));
        settings.start_retries = vec![Duration::from_millis(10); 3];
        settings.temp_directory = root.join("tmp");
        settings.supervisor = vec![hermes_testkit::own_program("hermes-proc-shim").into()];
        change(&mut settings);
        let env = Arc::new(PlainEnv {
            base: Mutex::new(
                [
                    ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
                    ("HOME", root.join("user").into_os_string()),
                    ("LANG", "C.UTF-8".into()),
                ]
                .map(|(name, value): (_, OsString)| (OsString::from(name), value))
                .into(),
            ),
            home: root.join("user"),
        });
        let backend: Arc<dyn Backend> = match parts.remote {
            Some(remote) => remote,
            None => Arc::new(LocalBackend::new(
                settings.clone(),
                parts.shells,
                env.clone(),
            )),
        };
        let redactor = Arc::new(Redactor::new(["correct-horse-battery-staple"]));
        let mut terminal = Terminal::new(settings, backend, parts.approver, redactor).unwrap();
        if let Some(sudo) = parts.sudo {
            terminal = terminal.with_sudo(sudo);
        }
        Self {
            dir,
            terminal: Arc::new(terminal),
            env,
            interrupt: Arc::new(Wake::new().unwrap()),
            notices: NoticeSupport::Delivered,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn context(&self, session: &str) -> CallContext {
        CallContext {
            session_key: session.to_owned(),
            conversation: ToolConversation::default(),
            session: Arc::new(NoSession),
            child_home: self.path("user"),
            filesystem: Filesystem::from(HostFiles {
                home: self.path("user"),
                private_homes: PrivateHomes::default(),
                write_guard: Arc::new(AllowAll),
            }),
            redactor: Arc::default(),
            files: Arc::default(),
            enabled_tools: Vec::new(),
            interrupt: Arc::clone(&self.interrupt),
            registry: Arc::default(),
        }
    }

    /// A call in the session `main`.
    pub(crate) fn call(&self, args: Value) -> Value {
        self.call_in("main", args)
    }

    pub(crate) fn call_in(&self, session: &str, args: Value) -> Value {
        let tool = TerminalTool {
            terminal: Arc::clone(&self.terminal),
            environment: None,
            notices: self.notices.clone(),
        };
        tool.call(&args, &self.context(session))
    }

    pub(crate) fn process_in(&self, session: &str, args: Value) -> Value {
        let tool = ProcessTool {
            terminal: Arc::clone(&self.terminal),
            notices: self.notices.clone(),
        };
        tool.call(&args, &self.context(session))
    }

    pub(crate) fn run(&self, command: &str) -> Value {
        self.call(json!({ "command": command }))
    }

    /// The output of a command that must succeed.
    pub(crate) fn output(&self, command: &str) -> String {
        let result = self.run(command);
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        result["output"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn is_alive(pid_file: &Path) -> bool {
    let pid: u32 = std::fs::read_to_string(pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    hermes_proc::start_time_of(pid).is_some() && !hermes_proc::is_zombie(pid)
}
