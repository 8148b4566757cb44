//! A user with secrets, a workspace, and a conversation with the tools.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_testkit::{ProgramCall, Running, TestHome};
use serde_json::{Value, json};

/// Who runs Hermes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests; root where that can be.
    Own,
    Nobody,
}

pub(crate) struct World {
    pub(crate) home: TestHome,
    user: User,
    env: Vec<(String, String)>,
}

impl World {
    /// A user with secrets in the usual places and a repository to work in.
    pub(crate) fn new(user: User, config: &str) -> Self {
        let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
        let world = Self {
            home,
            user,
            env: Vec::new(),
        };
        let user_home = world.home.user_home();
        for (name, text) in [
            (".ssh/id_rsa", "canary"),
            (".aws/credentials", "canary"),
            (".netrc", "canary"),
            (".npmrc.bak", "canary"),
            (".bashrc", ""),
            (".profile", ""),
            (".local/bin/tool", ""),
            (".cargo/bin/cargo-tool", ""),
            (".cargo/registry/x", ""),
            (".config/systemd/user/y.service", ""),
            ("outside/canary", "canary"),
            ("outside/sub/file", ""),
        ] {
            let path = user_home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir(world.home.outside("work")).unwrap();
        std::fs::create_dir(world.home.outside("tmp")).unwrap();
        world.home.put("config.yaml", config);
        world.home.put(".env", "KEPT=canary\n");
        world.home.put("profiles/other/.env", "KEPT=canary\n");
        world.give();
        world
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Whether the user gets to a directory of the machine.
    pub(crate) fn can_enter(&self, directory: &Path) -> bool {
        let passable = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0)
        };
        self.user == User::Own || directory.ancestors().all(passable)
    }

    /// A path in the workspace.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.home.outside("work").canonicalize().unwrap().join(name)
    }

    /// Puts a file into the workspace.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.work(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        self.give();
    }

    /// Gives everything to the user who runs Hermes.
    pub(crate) fn give(&self) {
        if self.user == User::Nobody && rustix::process::geteuid().is_root() {
            let directory = self.home.user_home();
            let status = std::process::Command::new("chown")
                .args(["-R", "65534:65534"])
                .arg(directory.parent().unwrap())
                .status()
                .unwrap();
            assert!(status.success());
        }
    }

    pub(crate) fn hermes(&self, args: &[&str]) -> ProgramCall {
        let mut call = self
            .home
            .hermes(args)
            .in_directory(&self.work(""))
            .env("TMPDIR", self.home.outside("tmp"));
        for (name, value) in &self.env {
            call = call.env(name, value);
        }
        if self.user == User::Nobody {
            call = call.as_nobody();
        }
        call
    }

    /// The result of one command, with the sandbox as the settings have it.
    pub(crate) fn run(&self, command: &str) -> Value {
        self.talk().run(command)
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk(self.hermes(&["tools", "call", "--stdin"]).start())
    }
}

/// A conversation with `hermes tools call --stdin`.
pub(crate) struct Talk(pub(crate) Running);

impl Talk {
    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.0
            .write_line(&json!({"tool": tool, "args": args}).to_string());
        let line = self.0.next_line().unwrap_or_default();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn run(&mut self, command: &str) -> Value {
        self.call("terminal", &json!({"command": command, "timeout": 120}))
    }

    /// Runs a command that must work; its output.
    #[track_caller]
    pub(crate) fn works(&mut self, command: &str) -> String {
        let result = self.run(command);
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        result["output"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
