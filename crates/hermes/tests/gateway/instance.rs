//! One gateway per home.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::post::{Post, end, kill, ready, until};

// services 17, gateway 10
#[test]
fn a_second_gateway_is_refused_at_once_and_names_the_first() {
    let post = Post::new();
    let mut first = post.gateway(&[]);
    let begun = Instant::now();
    let second = post.call(&["run"]).run();
    let took = begun.elapsed();
    let message = format!(
        "another gateway is already running for this home (PID {})",
        first.pid()
    );
    second.refuses(1, &message);
    for way in ["gateway restart", "gateway stop", "gateway run --replace"] {
        second.says_part(way);
    }
    assert!(took < Duration::from_millis(300), "{took:?}");
    assert_eq!(post.recorded(), Some(first.pid().into()));
    assert_eq!(end(&mut first, Signal::TERM), Some(1));
}

#[test]
fn replace_ends_the_first_in_order_and_takes_its_place() {
    let post = Post::new();
    let mut first = post.gateway(&[]);
    let mut second = post.gateway(&["--replace"]);
    assert_eq!(first.wait().code(), Some(0));
    assert_eq!(post.recorded(), Some(second.pid().into()));
    assert!(!post.home.has(".gateway-takeover.json"));
    assert_eq!(post.state()["gateway_state"], "running");
    assert_eq!(end(&mut second, Signal::INT), Some(0));
    assert!(!post.home.has("gateway.pid"));
}

#[test]
fn a_gateway_that_does_not_end_is_killed_by_its_replacement() {
    let post = Post::new();
    let first = post.gateway(&[]);
    kill(first.pid(), Signal::STOP);
    let second = post.gateway(&["--replace"]);
    assert_eq!(post.recorded(), Some(second.pid().into()));
}

// services 4.2 (6): what is left of 21 while no platform takes a token
#[test]
fn token_locks_of_a_gateway_that_was_killed_go_with_it() {
    let post = Post::new();
    let first = post.gateway(&[]);
    let directory = post
        .home
        .user_home()
        .join(".local/state/hermes/gateway-locks");
    std::fs::create_dir_all(&directory).unwrap();
    let lock = |name: &str, pid: u32, start_time: u64| {
        let path = directory.join(name);
        let record = json!({
            "pid": pid, "kind": "hermes-gateway", "argv": ["hermes", "gateway", "run"],
            "start_time": start_time, "scope": "telegram-bot-token", "metadata": {},
        });
        std::fs::write(&path, record.to_string()).unwrap();
        path
    };
    let record: serde_json::Value = serde_json::from_str(&post.home.read("gateway.pid")).unwrap();
    let started = record["start_time"].as_u64().unwrap();
    let own = lock(
        "telegram-bot-token-0011223344556677.lock",
        first.pid(),
        started,
    );
    let of_another = lock("slack-app-token-0011223344556677.lock", 1, started);
    kill(first.pid(), Signal::STOP);
    let second = post.gateway(&["--replace"]);
    assert_eq!(post.recorded(), Some(second.pid().into()));
    assert_eq!([own.exists(), of_another.exists()], [false, true]);
}

#[test]
fn of_ten_starts_at_once_one_survives() {
    for replace in [false, true] {
        let post = Post::new();
        let flags: &[&str] = if replace {
            &["run", "--replace"]
        } else {
            &["run"]
        };
        let mut starts: Vec<Running> = (0..10).map(|_| post.call(flags).start()).collect();
        until("nine to end", || {
            let living = starts.iter().filter(|one| lives(one.pid())).count();
            (living == 1).then_some(())
        });
        // And it stays so.
        let survivor = starts.iter().position(|one| lives(one.pid())).unwrap();
        let survivor = ready(starts.swap_remove(survivor));
        assert_eq!(post.recorded(), Some(survivor.pid().into()));
        for mut other in starts {
            let code = other.wait().code();
            assert!(code == Some(1) || (replace && code == Some(0)), "{code:?}");
        }
    }
}

fn lives(pid: u32) -> bool {
    hermes_proc::identity_of(pid).is_some() && !hermes_proc::is_zombie(pid)
}

// services 18
#[test]
fn status_does_not_disturb_two_hundred_starts() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let inode = std::fs::metadata(post.home.path("gateway.lock"))
        .unwrap()
        .ino();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let prober = scope.spawn(|| {
            let mut probes = 0;
            while !is_over.load(Ordering::SeqCst) {
                let code = post.call(&["status"]).run().code;
                assert!(code == Some(0) || code == Some(3), "{code:?}");
                probes += 1;
            }
            probes
        });
        for _ in 0..200 {
            assert_eq!(end(&mut gateway, Signal::INT), Some(0));
            gateway = post.gateway(&[]);
            assert_eq!(post.recorded(), Some(gateway.pid().into()));
        }
        is_over.store(true, Ordering::SeqCst);
        assert!(prober.join().unwrap() > 20);
    });
    assert_eq!(
        std::fs::metadata(post.home.path("gateway.lock"))
            .unwrap()
            .ino(),
        inode
    );
}

#[test]
fn deleted_lock_and_pid_files_are_made_again_and_nobody_else_can_start() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    for name in ["gateway.lock", "gateway.pid"] {
        std::fs::remove_file(post.home.path(name)).unwrap();
    }
    // The state file still tells who runs.
    post.call(&["run"])
        .run()
        .exits(1)
        .says_part("already running");
    post.call(&["status"]).run().exits(0);
    until("new files", || {
        let there = post.home.has("gateway.lock") && post.home.has("gateway.pid");
        there.then_some(())
    });
    until("our record", || {
        (post.recorded() == Some(gateway.pid().into())).then_some(())
    });
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_profile_that_the_default_gateway_serves_needs_force() {
    let post = Post::new();
    post.home.run(["profile", "create", "coder"]).succeeds();
    let _default = post.gateway(&[]);
    let mut state = post.state();
    state["served_profiles"] = json!(["default", "coder"]);
    post.home.put("gateway_state.json", state.to_string());
    let args = ["-p", "coder", "gateway", "run"];
    post.home
        .run(args)
        .exits(1)
        .says_part("already serves profile 'coder'");
    let mut own = ready(post.home.hermes(args).arg("--force").start());
    assert_eq!(end(&mut own, Signal::INT), Some(0));
}

#[test]
fn a_gateway_is_known_whatever_its_program_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agents");
    std::fs::copy(env!("CARGO_BIN_EXE_hermes"), &program).unwrap();
    let post = Post::with_program(program.to_str().unwrap());
    let mut gateway = post.gateway(&[]);
    let pid = gateway.pid();
    assert_eq!(hermes_home::gateway_pid(&post.home.root()), Some(pid));
    post.call(&["status"])
        .run()
        .succeeds()
        .prints_part(&format!("{pid}"));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}
