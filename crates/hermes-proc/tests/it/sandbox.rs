//! A sandbox on the real kernel.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::sandbox::{KernelSupport, Network, Sandbox, SandboxPlan};
use hermes_proc::{ChildEnv, ChildSpec};

struct World {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work/.git", "home/.ssh", "home/docs"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in [
            "work/.git/config",
            "home/.ssh/id",
            "home/.netrc",
            "home/docs/readme",
        ] {
            std::fs::write(root.join(name), "text").unwrap();
        }
        Self {
            _directory: directory,
            root,
        }
    }

    fn plan(&self) -> SandboxPlan {
        let below = |names: &[&str]| names.iter().map(|name| self.root.join(name)).collect();
        SandboxPlan {
            writable: below(&["work"]),
            pinned: below(&["work/.git"]),
            protected: below(&["work/.git/config"]),
            hidden: below(&["home/.ssh", "home/.netrc"]),
            sockets: Vec::new(),
            network: Network::On,
        }
    }

    fn run(&self, sandbox: &Arc<Sandbox>, command: &str) -> (bool, String) {
        let command = command.replace("@", &self.root.display().to_string());
        let spec = ChildSpec {
            cwd: Some(self.root.join("work")),
            sandbox: Some(Arc::clone(sandbox)),
            ..ChildSpec::new(
                "/bin/sh",
                ["-c", &format!("exec 2>&1\n{command}")],
                ChildEnv::from(vec![("PATH".into(), "/usr/bin:/bin".into())]),
            )
        };
        let captured = spec.run_captured(Duration::from_secs(20), 1 << 20).unwrap();
        let text = String::from_utf8_lossy(&captured.stdout).into_owned();
        (captured.status.success(), text)
    }
}

fn prepared(world: &World, support: KernelSupport) -> Arc<Sandbox> {
    Arc::new(Sandbox::prepare(world.plan(), support).unwrap())
}

#[test]
fn a_sandboxed_command_works_in_its_directory_and_nowhere_else() {
    for support in ["", "namespaces", "landlock"] {
        let world = World::new();
        let sandbox = prepared(&world, KernelSupport::without(support));
        for command in [
            "echo hi > f && cat f && rm f && mkdir -p d/e && mv d x && rm -r x",
            "cat @/home/docs/readme && ls @/home && echo x > /dev/null",
            "sleep 0.01 & wait; kill -0 $$",
            "touch .git/index && cat .git/config",
        ] {
            let (worked, text) = world.run(&sandbox, command);
            assert!(worked, "{support}: {command}: {text}");
        }
        let mut denied = vec![
            "echo x > @/home/new",
            "echo x > @/home/docs/readme",
            "mv @/home/docs/readme .",
            "ln @/home/docs/readme l && echo x > l",
            "cat @/home/.ssh/id",
            "cat /proc/$PPID/environ",
            "unshare -m true",
            "kill -0 $PPID",
        ];
        if support == "landlock" {
            denied.pop();
        }
        if support != "namespaces" {
            denied.extend([
                "test -s @/home/.netrc",
                "chmod 777 @/home/docs/readme",
                "touch @/home/docs/readme",
                "echo x > .git/config",
                "mv .git .git2",
            ]);
        }
        for command in denied {
            let (worked, text) = world.run(&sandbox, command);
            assert!(!worked, "{support}: {command}: {text}");
        }
        assert_eq!(read(&world.root.join("home/docs/readme")), "text");
    }
}

#[test]
fn a_kernel_without_any_means_is_an_error() {
    let world = World::new();
    let support = KernelSupport::without("landlock,namespaces");
    let error = Sandbox::prepare(world.plan(), support).unwrap_err();
    assert!(error.to_string().contains("cannot confine"), "{error}");
}

#[test]
fn a_hidden_file_that_is_replaced_stays_unreadable() {
    let world = World::new();
    let sandbox = prepared(&world, KernelSupport::ALL);
    assert!(sandbox.is_current());
    std::fs::write(world.root.join("home/.netrc.new"), "secret").unwrap();
    let from = world.root.join("home/.netrc.new");
    std::fs::rename(from, world.root.join("home/.netrc")).unwrap();
    let (_, text) = world.run(&sandbox, "cat @/home/.netrc");
    assert!(!text.contains("secret"), "{text}");
    assert!(!sandbox.is_current());
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
