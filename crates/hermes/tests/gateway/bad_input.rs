//! Files of garbage, a home that cannot be written to, a home that goes away.

use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use rustix::process::Signal;

use crate::post::{Post, end, ready, until};

const FILES: [&str; 7] = [
    "gateway.pid",
    "gateway.lock",
    "gateway_state.json",
    "gateway-starts.log",
    ".gateway-planned-stop.json",
    ".gateway-takeover.json",
    "logs/gateway-exit-diag.log",
];

/// Files of chat platforms, which the gateway does not host, and of the Python runtime in a shared home.
const FILES_OF_OTHERS: [&str; 3] = [
    "sessions/sessions.json",
    "channel_directory.json",
    "webhook_subscriptions.json",
];

// gateway 38
#[test]
fn garbage_in_its_files_does_not_keep_a_gateway_from_starting() {
    let large = "x".repeat(3 << 20);
    for garbage in [
        "",
        "\u{0}\u{1}",
        "[1, 2]",
        "{\"pid\": \"x\"}",
        "{\"pid\": 1}",
        "-1",
        &large,
    ] {
        let post = Post::new();
        for name in FILES.iter().chain(&FILES_OF_OTHERS) {
            post.home.put(name, garbage);
        }
        for verb in ["status", "list"] {
            let code = post.call(&[verb]).run().code;
            assert_eq!(code, Some(if verb == "status" { 3 } else { 0 }));
        }
        post.call(&["stop"]).run().exits(3);
        let mut gateway = post.gateway(&[]);
        assert_eq!(post.recorded(), Some(gateway.pid().into()));
        assert_eq!(post.state()["gateway_state"], "running");
        assert_eq!(end(&mut gateway, Signal::TERM), Some(1));
        for name in FILES_OF_OTHERS {
            assert_eq!(post.home.read(name), garbage, "{name}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_garbage_too() {
    let post = Post::new();
    for name in FILES {
        post.home.put(name, b"\xff\xfe{\"pid\":1}");
    }
    post.call(&["status", "--deep"]).run().exits(3);
    let mut gateway = post.gateway(&[]);
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_home_that_cannot_be_written_to_is_named() {
    let post = Post::new();
    std::fs::set_permissions(post.home.root(), PermissionsExt::from_mode(0o500)).unwrap();
    post.home.give_to_nobody();
    let output = post.call(&["run"]).as_nobody().run();
    output
        .exits(1)
        .says_part(".hermes")
        .says_part("ermission denied");
    let output = post.call(&["start"]).as_nobody().run();
    output.exits(1).says_part(".hermes");
    post.call(&["status"]).as_nobody().run().exits(3);
    std::fs::set_permissions(post.home.root(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_scheduler_whose_home_turns_read_only_goes_on_once_it_can() {
    const FAILURE: &str = "the scheduler cannot look at the jobs";
    let post = Post::new();
    post.home.put("scripts/tick.sh", "echo tick\n");
    let words = ["cron", "create", "every 1d at 09:00", "--script", "tick.sh"];
    let job = post.home.hermes(words).args(["--no-agent", "--json"]).run();
    let id = job.json()["id"].as_str().unwrap().to_owned();
    // Where the gateway looks, the directory can be covered by a read-only view of itself.
    let cron = post.home.path("cron").display().to_string();
    let run = post.call(&["run"]).in_mount_namespace("exec \"$0\" \"$@\"");
    let mut gateway = ready(run.start());
    let pid = gateway.pid().to_string();
    let mount = |words: &[&str]| {
        let mut nsenter = std::process::Command::new("nsenter");
        if !rustix::process::geteuid().is_root() {
            nsenter.args(["--user", "--preserve-credentials"]);
        }
        nsenter.args(["--mount", "--target", &pid]).args(words);
        assert!(nsenter.status().unwrap().success(), "{words:?}");
    };
    let looked = post.home.path("cron/ticker_last_success");
    until("the first look", || looked.exists().then_some(()));
    mount(&["mount", "--bind", "-o", "ro", &cron, &cron]);
    // The job becomes due.
    let mut jobs: serde_json::Value =
        serde_json::from_str(&post.home.read("cron/jobs.json")).unwrap();
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(10);
    jobs["jobs"][0]["next_run_at"] = then.to_string().into();
    std::fs::write(post.home.path("cron/jobs.json"), jobs.to_string()).unwrap();
    let log = || std::fs::read_to_string(post.home.path("logs/agent.log")).unwrap_or_default();
    until(FAILURE, || log().contains(FAILURE).then_some(()));
    // Further looks fail for the same reason, which is told once.
    for _ in 0..5 {
        std::fs::write(post.home.path("cron/jobs.json"), jobs.to_string()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(log().matches(FAILURE).count(), 1, "{}", log());
    post.call(&["status"]).run().exits(0);
    mount(&["umount", &cron]);
    let outputs = post.home.path(&format!("cron/output/{id}"));
    until("the run of the job", || {
        let entries = std::fs::read_dir(&outputs).ok()?;
        (entries.count() == 1).then_some(())
    });
    let recovery = "the scheduler can look at the jobs again";
    until(recovery, || log().contains(recovery).then_some(()));
    assert_eq!(end(&mut gateway, Signal::INT), Some(0));
}

#[test]
fn a_home_that_goes_away_and_comes_back_does_not_end_the_gateway() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    let away = post.home.outside("away");
    std::fs::rename(post.home.root(), &away).unwrap();
    // Nothing is made where the home was.
    crate::post::kill(gateway.pid(), Signal::HUP);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!post.home.root().exists());
    std::fs::rename(&away, post.home.root()).unwrap();
    post.call(&["status"]).run().exits(0);
    post.call(&["stop"]).run().succeeds();
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_home_that_is_gone_for_good_can_still_be_left() {
    let post = Post::new();
    let mut gateway = post.gateway(&[]);
    std::fs::rename(post.home.root(), post.home.outside("away")).unwrap();
    assert_eq!(end(&mut gateway, Signal::TERM), Some(1));
    assert!(!post.home.root().exists());
}

#[test]
fn a_file_in_the_way_of_the_lock_is_named() {
    let post = Post::new();
    std::fs::create_dir(post.home.path("gateway.lock")).unwrap();
    let output = post.call(&["run"]).run();
    output.exits(1).says_part("gateway.lock");
    until("no record", || post.recorded().is_none().then_some(()));
}
