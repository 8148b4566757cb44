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
        Self::in_directory(tempfile::tempdir().unwrap())
    }

    fn in_directory(directory: tempfile::TempDir) -> Self {
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
        let command = command.replace('@', &self.root.display().to_string());
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
    std::fs::write(world.root.join("home/.netrc.new"), "secret").unwrap();
    let from = world.root.join("home/.netrc.new");
    std::fs::rename(from, world.root.join("home/.netrc")).unwrap();
    let (_, text) = world.run(&sandbox, "cat @/home/.netrc");
    assert!(!text.contains("secret"), "{text}");
    assert!(!sandbox.is_current());
}

/// A sandbox is renewed while a directory beside it is as busy as a home: each change is either
/// nothing to it, more to read, or a reason to prepare it anew.
#[test]
fn a_sandbox_is_prepared_anew_only_where_it_has_to_be() {
    for support in ["", "namespaces"] {
        // Where no other test makes anything.
        let world = World::in_directory(tempfile::tempdir_in("/var/tmp").unwrap());
        let home = world.root.join("home");
        let write = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
        let rename = |from: &str, to: &str| {
            std::fs::rename(home.join(from), home.join(to)).unwrap();
        };
        let sandbox = prepared(&world, KernelSupport::without(support));
        let space = |sandbox| world.run(sandbox, "readlink /proc/self/ns/mnt").1;
        let renewed = |sandbox: &Arc<Sandbox>, plan: &SandboxPlan| {
            sandbox.renewed(plan).unwrap().map(Arc::new)
        };
        let mut plan = world.plan();

        // A file that came and went.
        write("passing", "x");
        std::fs::remove_file(home.join("passing")).unwrap();
        let same = renewed(&sandbox, &plan).unwrap();
        assert!(same.confines_like(&sandbox));

        // One that came, and one that was replaced.
        write("new", "one");
        write("other", "two");
        rename("other", "docs.txt");
        assert!(!world.run(&same, "cat @/home/new").0);
        let more = renewed(&same, &plan).unwrap();
        assert!(!more.confines_like(&same));
        assert_eq!(space(&more), space(&sandbox));
        assert_eq!(
            world.run(&more, "cat @/home/new @/home/docs.txt").1,
            "onetwo"
        );
        write("other", "three");
        rename("other", "new");
        let more = renewed(&more, &plan).unwrap();
        assert_eq!(world.run(&more, "cat @/home/new").1, "three");

        // A hidden file that was replaced, one that came, one that went.
        write("other", "secret");
        rename("other", ".netrc");
        write(".token", "secret");
        plan.hidden.push(home.join(".token"));
        let hiding = renewed(&more, &plan).unwrap();
        assert!(hiding.confines_like(&more), "{support}");
        for name in [".netrc", ".token", ".ssh/id"] {
            let (worked, text) = world.run(&hiding, &format!("cat @/home/{name}"));
            assert!(!worked && !text.contains("secret"), "{name}: {text}");
        }
        assert_eq!(*hiding.plan(), plan);
        std::fs::remove_file(home.join(".token")).unwrap();
        plan.hidden.pop();
        let hiding = renewed(&hiding, &plan).unwrap();
        assert!(hiding.confines_like(&more));

        // A file that could be read and is hidden now, under its name and under another.
        plan.hidden.push(home.join("new"));
        assert!(renewed(&hiding, &plan).is_none());
        plan.hidden.pop();
        rename("new", ".netrc");
        assert!(renewed(&hiding, &plan).is_none());
        write("fresh", "x");
        rename("fresh", ".netrc");
        assert!(renewed(&hiding, &plan).is_some());

        // What only a mount can cover: below a writable directory, a directory, a socket.
        for (name, make) in [
            (
                "work/key",
                (|path| std::fs::write(path, "x").unwrap()) as fn(PathBuf),
            ),
            ("home/.aws", |path| std::fs::create_dir(path).unwrap()),
            ("home/.sock", |path| {
                drop(std::os::unix::net::UnixListener::bind(path).unwrap());
            }),
        ] {
            make(world.root.join(name));
            plan.hidden.push(world.root.join(name));
            assert!(renewed(&hiding, &plan).is_none(), "{support}: {name}");
            plan.hidden.pop();
        }
        // Not hidden any more, and another directory to write in.
        plan.hidden.pop();
        assert!(renewed(&hiding, &plan).is_none());
        let plan = world.plan();
        assert!(renewed(&hiding, &plan).is_some());
        std::fs::rename(world.root.join("work"), world.root.join("old")).unwrap();
        std::fs::create_dir(world.root.join("work")).unwrap();
        assert!(renewed(&hiding, &plan).is_none());
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_sandbox_with_loopback_reaches_this_machine_and_no_other() {
    use std::io::Write as _;
    let world = World::new();
    let mut plan = world.plan();
    plan.network = Network::Loopback;
    let sandbox = Arc::new(Sandbox::prepare(plan, KernelSupport::ALL).unwrap());
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = outside.accept().unwrap();
        client.write_all(b"hello").unwrap();
    });
    let (worked, text) = world.run(
        &sandbox,
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3'"),
    );
    assert!(worked && text.contains("hello"), "{text}");
    server.join().unwrap();
    for command in [
        "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'",
        "bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'",
        "bash -c 'exec 3<>/dev/udp/127.0.0.1/53'",
        "python3 -c 'import socket as s; a=s.socket(); a.bind((\"0.0.0.0\", 0)); a.listen()'",
        "python3 -c 'import socket as s; a=s.socket(); a.listen()'",
    ] {
        let (worked, text) = world.run(&sandbox, command);
        assert!(
            !worked && text.contains("ermission denied"),
            "{command}: {text}"
        );
    }
    let inside = "python3 -c '
import socket as s, threading
a = s.create_server((\"127.0.0.1\", 0)); b = s.socket(s.AF_UNIX); b.bind(\"u.sock\"); b.listen()
threading.Thread(target=lambda: a.accept()[0].send(b\"tcp\")).start()
print(s.create_connection(a.getsockname()).recv(9))
threading.Thread(target=lambda: b.accept()[0].send(b\"unix\")).start()
c = s.socket(s.AF_UNIX); c.connect(\"u.sock\"); print(c.recv(9))'";
    let (worked, text) = world.run(&sandbox, inside);
    assert!(
        worked && text.contains("tcp") && text.contains("unix"),
        "{text}"
    );
    let mut off = world.plan();
    off.network = Network::Off;
    let sandbox = Arc::new(Sandbox::prepare(off, KernelSupport::ALL).unwrap());
    let (worked, text) = world.run(
        &sandbox,
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
    );
    assert!(!worked && text.contains("ermission denied"), "{text}");
}
