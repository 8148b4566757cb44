//! A home, a directory, a plain environment and no guard.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_secret::Redactor;
use hermes_terminal::local::{
    CommandGuard, CommandKind, EnvSource, GuardOutcome, NoticeSupport, ShellFinder, SpawnRequest,
    Terminal, TerminalSettings, ToolContext, WatcherFields, terminal,
};
use hermes_terminal::remote::RemoteTerminal;
use hermes_terminal::session::SessionKey;
use serde_json::{Value, json};

/// Variables as a plain environment with the session's overlay on top.
pub(crate) struct PlainEnv {
    pub(crate) base: Vec<(OsString, OsString)>,
    pub(crate) home: PathBuf,
}

impl EnvSource for PlainEnv {
    fn variables(&self, request: &SpawnRequest<'_>) -> Vec<(OsString, OsString)> {
        let mut map: std::collections::BTreeMap<_, _> = self.base.iter().cloned().collect();
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

    fn child_home(&self) -> PathBuf {
        self.home.clone()
    }
}

pub(crate) struct NoGuard;

impl CommandGuard for NoGuard {
    fn check(&self, _: &str, _: CommandKind) -> GuardOutcome {
        GuardOutcome::Allowed { approval: None }
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
    pub(crate) env: PlainEnv,
    pub(crate) interrupt: Wake,
    pub(crate) notices: NoticeSupport,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut TerminalSettings)) -> Self {
        Self::with_shells(
            change,
            ShellFinder::new(Some("/usr/bin:/bin".as_ref()), None),
        )
    }

    pub(crate) fn with_shells(
        change: impl FnOnce(&mut TerminalSettings),
        shells: ShellFinder,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work", "user", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self::build(Directory::Own(dir), change, shells, None)
    }

    /// A Hermes whose commands run elsewhere.
    pub(crate) fn elsewhere(remote: Arc<RemoteTerminal>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "work", "user", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let shells = ShellFinder::among(vec!["/nowhere/bash".into()]);
        Self::build(Directory::Own(dir), |_| {}, shells, Some(remote))
    }

    /// Another Hermes over the same directories.
    pub(crate) fn at(dir: Directory) -> Self {
        let shells = ShellFinder::new(Some("/usr/bin:/bin".as_ref()), None);
        Self::build(dir, |_| {}, shells, None)
    }

    /// A Hermes over the directories of one that was killed.
    pub(crate) fn over(path: &Path) -> Self {
        Self::at(Directory::Foreign(path.to_owned()))
    }

    fn build(
        dir: Directory,
        change: impl FnOnce(&mut TerminalSettings),
        shells: ShellFinder,
        remote: Option<Arc<RemoteTerminal>>,
    ) -> Self {
        let root = dir.path().canonicalize().unwrap();
        let mut settings = TerminalSettings::new(root.join("home"), root.join("work"));
        settings.start_retries = vec![Duration::from_millis(10); 3];
        settings.temp_directory = root.join("tmp");
        settings.supervisor = vec![env!("CARGO_BIN_EXE_hermes-proc-shim").into()];
        change(&mut settings);
        let redactor = Arc::new(Redactor::new(["correct-horse-battery-staple"]));
        let mut terminal = Terminal::new(settings, shells, redactor).unwrap();
        if let Some(remote) = remote {
            terminal = terminal.with_remote(remote);
        }
        let env = PlainEnv {
            base: [
                ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME", root.join("user").into_os_string()),
                ("LANG", "C.UTF-8".into()),
            ]
            .map(|(name, value): (_, OsString)| (OsString::from(name), value))
            .into(),
            home: root.join("user"),
        };
        Self {
            dir,
            terminal: Arc::new(terminal),
            env,
            interrupt: Wake::new().unwrap(),
            notices: NoticeSupport::Delivered,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn context<'a>(&'a self, session: &'a SessionKey) -> ToolContext<'a> {
        ToolContext {
            terminal: &self.terminal,
            session,
            environment: &self.env,
            guard: &NoGuard,
            interrupt: &self.interrupt,
            on_progress: None,
            transform_output: None,
            sudo: None,
            notices: self.notices.clone(),
            watcher: WatcherFields::new(),
        }
    }

    /// A call in the session `main`.
    pub(crate) fn call(&self, args: Value) -> Value {
        self.call_in("main", args)
    }

    pub(crate) fn call_in(&self, session: &str, args: Value) -> Value {
        let session = SessionKey::new(session);
        terminal(&args, &self.context(&session))
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
