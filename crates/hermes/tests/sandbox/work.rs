//! Work that goes on in the sandbox, with the real tools.

use std::path::PathBuf;

use hermes_testkit::PythonPackages;

use super::world::{User, World};

fn worlds() -> [World; 2] {
    [User::Own, User::Nobody].map(|user| World::new(user, "terminal: {sandbox: on}\n"))
}

#[test]
fn everyday_commands_work() {
    for world in worlds() {
        let mut talk = world.talk();
        assert_eq!(talk.works("python3 -c 'print(40 + 2)'"), "42");
        talk.works("mkdir -p build/deep && touch build/deep/f && rm -rf build && test ! -e build");
        talk.works("f=$(mktemp) && echo x > $f && rm $f");
        talk.works(
            "echo a | tee f | cat - > g && diff f g && sort f g | uniq -c && find . -name f",
        );
        talk.works("python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'");
        talk.works(
            "timeout 0.1 sleep 5; test $? = 124 && ls -la ~ / /etc > /dev/null; ps > /dev/null",
        );
        talk.works("tar czf a.tgz f g && tar xzf a.tgz && cat /proc/self/status > /dev/null");
        talk.works("echo x > /dev/null; head -c 8 /dev/urandom | wc -c; test -w /dev/shm");
    }
}

#[test]
fn git_commits_resets_and_branches() {
    let commands = "git config user.name >/dev/null || export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
                    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    for world in worlds() {
        let mut talk = world.talk();
        talk.works(&format!("git init -q . && {commands}"));
        talk.works(
            "echo 1 > f && git add f && git commit -qm one && echo 2 > f && git reset -q --hard",
        );
        talk.works("test $(cat f) = 1 && git checkout -qb other && git log --oneline | wc -l");
        talk.works("git stash list; git diff --stat; git gc -q; git fsck");
    }
}

#[test]
fn git_commits_in_a_worktree_whose_repository_lies_outside() {
    let world = World::new(User::Own, "terminal: {sandbox: on}\n");
    let repository = world.home.user_home().join("repository");
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git")
            .arg("-C")
            .arg(&repository)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .status()
            .unwrap();
        assert!(status.success(), "{args:?}");
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let tree = world.work("tree");
    git(&[
        "worktree",
        "add",
        "-q",
        &tree.display().to_string(),
        "-b",
        "topic",
    ]);
    let call = |command: &str| {
        world
            .hermes(&["exec", "--sandbox", "on", "--json", "--", command])
            .in_directory(&tree)
            .run()
    };
    let done = call(
        "echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm second && \
         git log --oneline | wc -l",
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("\"output\":\"2\""), "{}", done.stdout);
    for escape in [
        format!("echo x > {}/.git/hooks/post-commit", repository.display()),
        format!("git -C {} config core.hooksPath /tmp", repository.display()),
        "echo /tmp > $(git rev-parse --git-dir)/commondir".to_owned(),
        format!("echo x > {}/new", repository.display()),
    ] {
        let refused = call(&escape);
        assert_ne!(refused.code, Some(0), "{escape}: {refused:?}");
    }
}

#[test]
fn make_builds_in_parallel() {
    for world in worlds() {
        world.put(
            "Makefile",
            "all: $(foreach n,1 2 3 4,out/$(n))\nout/%:\n\tmkdir -p out && sleep 0.1 && echo $* > $@\n",
        );
        let mut talk = world.talk();
        talk.works("make -j4 -s && test $(ls out | wc -l) = 4");
    }
}

#[test]
fn cargo_builds_and_tests() {
    for world in worlds() {
        world.put(
            "Cargo.toml",
            "[package]\nname = 'x'\nversion = '0.1.0'\nedition = '2021'\n",
        );
        world.put(
            "src/main.rs",
            "fn main() {}\n#[test]\nfn passes() { assert_eq!(1, 1); }\n",
        );
        let cargo = PathBuf::from(env!("CARGO"));
        // The toolchain of the tests itself, without the program that chooses one.
        let tools = cargo.parent().unwrap();
        if !world.can_enter(tools) {
            continue;
        }
        let mut talk = world.talk();
        talk.works(&format!("export PATH='{}':$PATH", tools.display()));
        talk.works("cargo build -q --offline && cargo test -q --offline && ./target/debug/x");
    }
}

#[test]
fn npm_installs_and_runs_a_script() {
    for world in worlds() {
        std::fs::create_dir_all(world.home.user_home().join(".npm")).unwrap();
        world.put(
            "dep/package.json",
            r#"{"name": "dep", "version": "1.0.0", "main": "i.js"}"#,
        );
        world.put("dep/i.js", "module.exports = 'from dep';\n");
        world.put(
            "package.json",
            r#"{"name": "x", "version": "1.0.0", "dependencies": {"dep": "file:./dep"},
                "scripts": {"go": "node -e \"console.log(require('dep'))\""}}"#,
        );
        let mut talk = world.talk();
        talk.works("npm install --no-audit --no-fund --offline");
        assert!(talk.works("npm run -s go").contains("from dep"));
    }
}

#[test]
fn uv_syncs_and_pytest_runs() {
    let tools = python_tools();
    for world in worlds() {
        // The interpreter may lie in a home that an ordinary user cannot enter.
        let interpreter = tools.join("python").canonicalize().unwrap();
        if !world.can_enter(&tools) || !world.can_enter(interpreter.parent().unwrap()) {
            continue;
        }
        world.put(
            "pyproject.toml",
            "[project]\nname = 'x'\nversion = '0.1.0'\nrequires-python = '>=3.9'\n[tool.uv]\npackage = false\n",
        );
        world.put(
            "test_x.py",
            "def test_x(tmp_path):\n    (tmp_path / 'f').write_text('x')\n",
        );
        let mut talk = world.talk();
        talk.works(&format!("export PATH='{}':$PATH", tools.display()));
        talk.works("uv sync --offline -q && test -d .venv && .venv/bin/python -c 'print(1)'");
        assert!(talk.works("pytest -q").contains("1 passed"));
    }
}

#[test]
fn a_server_on_loopback_answers() {
    for network in ["on", "loopback"] {
        for user in [User::Own, User::Nobody] {
            let config = format!("terminal: {{sandbox: on, sandbox_network: {network}}}\n");
            let world = World::new(user, &config);
            world.put("page", "served");
            let mut talk = world.talk();
            let script = "python3 - <<'END'\n\
                import http.server, subprocess, threading\n\
                server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
                threading.Thread(target=server.serve_forever, daemon=True).start()\n\
                url = f'http://127.0.0.1:{server.server_port}/page'\n\
                print(subprocess.run(['curl', '-sS', url], capture_output=True, text=True))\n\
                END";
            let output = talk.works(script);
            assert!(
                output.contains("stdout='served'"),
                "{network} {user:?}: {output}"
            );
        }
    }
}

/// The directory of `uv` and `pytest`.
fn python_tools() -> PathBuf {
    let packages = PythonPackages::install("uv-pytest", &["uv==0.8.22", "pytest==8.4.2"]);
    packages.program("uv").parent().unwrap().to_owned()
}
