//! Workers with a real interpreter: what they see, how they fail, and that only they do.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hermes_testkit::{ProgramCall, ProgramOutput, eventually};
use serde_json::{Value, json};

use super::{Desk, FEATURE, error_code, set_mode};

/// A package that does what it is told.
const PACKAGE: &str = r"
import datetime, os, sys, time
print('the package was imported')
def parse_duration(text):
    word, _, rest = text.partition(' ')
    if word == 'die':
        sys.stderr.write('about to die\n'); sys.stderr.flush(); os._exit(9)
    if word == 'sleep': time.sleep(600)
    if word == 'allocate': bytearray(1 << 30)
    if word == 'open': raise ValueError(open(rest).read())
    if word == 'write': open(rest, 'w').write('written')
    if word == 'environ': raise ValueError(repr(dict(os.environ)))
    return datetime.timedelta(seconds=1)
";

/// The interpreter of this machine.
pub(crate) fn python() -> PathBuf {
    let code = "import sys; print(sys.executable)";
    let found = Command::new("python3").args(["-c", code]).output().unwrap();
    PathBuf::from(String::from_utf8(found.stdout).unwrap().trim())
}

/// A desk with the package installed for a real interpreter.
struct Bench {
    desk: Desk,
}

impl Bench {
    fn new(settings: &str, package: &str) -> Self {
        let desk = Desk::new();
        let code = desk.home.put_outside("package.py", package, 0o644);
        desk.uv(&format!(
            "cp {} \"$site/isodate/__init__.py\"",
            code.display()
        ));
        desk.home.put("config.yaml", settings);
        let bench = Self { desk };
        bench.addons(&["install", FEATURE]).run().succeeds();
        bench
    }

    fn addons(&self, args: &[&str]) -> ProgramCall {
        self.desk.call(args).env("HERMES_ADDON_PYTHON", python())
    }

    fn call(&self, text: &str) -> ProgramCall {
        let arguments = json!({ "text": text }).to_string();
        self.addons(&["call", FEATURE, "debug.duration", &arguments])
    }

    fn works(&self) {
        let answer = self.call("P1S").run().succeeds().json();
        assert_eq!(answer, json!({"result": {"seconds": 1.0}}));
    }

    fn report(&self) -> Value {
        let report = self.addons(&["call", FEATURE, "debug.report"]).run();
        report.succeeds().json()["result"].clone()
    }

    fn worker(&self) -> Value {
        self.desk.row(FEATURE)["worker"].clone()
    }

    /// The pid of the worker, once it answers calls.
    fn pid(&self) -> u64 {
        eventually("a worker runs", || self.worker()["pid"].is_u64());
        self.worker()["pid"].as_u64().unwrap()
    }
}

fn message(output: &ProgramOutput) -> String {
    output.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn is_alive(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

// part 4: target appended, activation idempotent
#[test]
fn the_environment_comes_last_and_once() {
    let bench = Bench::new("", PACKAGE);
    let site = bench.desk.current(FEATURE).join("site");
    for _ in 0..2 {
        let report = bench.report();
        let path: Vec<&str> = report["path"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry.as_str().unwrap())
            .collect();
        assert_eq!(path.last(), site.to_str().as_ref());
        let count = path.iter().filter(|entry| Some(**entry) == site.to_str());
        assert_eq!(count.count(), 1);
        let is_other =
            |entry: &&str| entry.contains("site-packages") || entry.contains("dist-packages");
        assert_eq!(path.iter().find(|entry| is_other(entry)), None);
        let file = PathBuf::from(report["file"].as_str().unwrap());
        assert!(file.starts_with(&site), "{}", file.display());
    }
}

// check 19
#[test]
fn what_is_planted_in_an_environment_stands_in_for_nothing() {
    let bench = Bench::new("", PACKAGE);
    let site = bench.desk.current(FEATURE).join("site");
    let sentinel = bench.desk.home.outside("sentinel");
    set_mode(&site, 0o755);
    let code = format!(
        "open({:?}, 'a').write(__name__)\n",
        sentinel.display().to_string()
    );
    for name in [
        "json/__init__.py",
        "worker.py",
        "hermes_worker.py",
        "hermes_debug_selftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "threading.py",
    ] {
        fs::create_dir_all(site.join(name).parent().unwrap()).unwrap();
        fs::write(site.join(name), &code).unwrap();
    }
    fs::write(site.join("x.pth"), format!("import os; {code}")).unwrap();
    bench.works();
    assert!(!sentinel.exists());
}

// check 20
#[test]
fn what_a_package_prints_is_in_the_log_and_not_in_the_protocol() {
    let bench = Bench::new("", PACKAGE);
    bench.works();
    let log = bench.addons(&["logs", FEATURE]).run();
    log.succeeds().prints_part("the package was imported");
    assert_eq!(
        bench.desk.home.mode("logs/addons/debug.selftest.log"),
        0o600
    );
}

// check 20
#[test]
fn a_message_that_is_too_long_ends_the_worker() {
    let bench = Bench::new("", "__file__ = 'x' * (9 << 20)\n");
    let report = bench.addons(&["call", FEATURE, "debug.report"]).run();
    assert_eq!(error_code(&report), "protocol_error");
    report.exits(1);
    assert_eq!(bench.worker()["state"], "backoff");
}

// check 21
#[test]
fn a_worker_that_crashes_too_often_is_not_started_until_told_to() {
    let bench = Bench::new("addons: {worker: {max_restarts: 2}}\n", PACKAGE);
    for _ in 0..2 {
        let crash = bench.call("die").run();
        assert_eq!(error_code(&crash), "addon_crashed");
        let message = message(&crash);
        assert!(
            message.contains("about to die") && message.contains('9'),
            "{message}"
        );
        crash.exits(1);
    }
    let refused = bench.call("P1S").run();
    assert_eq!(error_code(&refused), "addon_crashed");
    assert!(message(&refused).contains("too often"));
    assert_eq!(bench.worker()["state"], "failed");
    assert_eq!(bench.worker()["restarts"], 2);
    let doctor = bench.addons(&["doctor"]).run();
    doctor
        .exits(1)
        .prints_part("hermes addons restart debug.selftest");
    bench.addons(&["restart", FEATURE]).run().succeeds();
    bench.works();
    assert_eq!(bench.worker()["state"], "stopped");
}

// check 22
#[test]
fn a_worker_that_takes_too_much_memory_fails_alone() {
    let bench = Bench::new("addons: {worker: {memory_mb: 256}}\n", PACKAGE);
    let call = bench.call("allocate").run();
    call.exits(1);
    assert!(message(&call).contains("MemoryError"), "{call}");
    bench.works();
}

#[test]
fn a_call_that_takes_too_long_is_ended_with_its_worker() {
    let bench = Bench::new("addons: {worker: {call_timeout_seconds: 1}}\n", PACKAGE);
    let call = bench.call("sleep").run();
    assert_eq!(error_code(&call), "timeout");
    assert_eq!(bench.worker()["pid"], Value::Null);
}

// check 23
#[test]
fn a_worker_ends_with_the_process_that_started_it() {
    let bench = Bench::new("", PACKAGE);
    let mut running = bench.call("sleep").start();
    let pid = bench.pid();
    running.kill();
    eventually("the worker has ended", || !is_alive(pid));
}

#[test]
fn restart_ends_workers_of_other_processes() {
    let bench = Bench::new("", PACKAGE);
    let running = bench.call("sleep").start();
    let pid = bench.pid();
    let restart = bench.addons(&["restart", FEATURE]).run();
    restart.succeeds().prints_part("1 process ended");
    eventually("the worker has ended", || !is_alive(pid));
    drop(running);
}

#[test]
fn a_gateway_keeps_the_worker_of_a_resident_add_on() {
    let bench = Bench::new("addons: {worker: {idle_seconds: 1}}\n", PACKAGE);
    let start = || {
        let gateway = bench.desk.program(&["gateway", "run"]);
        let gateway = gateway.env("HERMES_ADDON_PYTHON", python()).start();
        let is_ready = |line: &String| line.starts_with("Ready (PID ");
        while !gateway.next_line().as_ref().is_some_and(is_ready) {}
        gateway
    };
    let mut gateway = start();
    // Nobody has called it, and nobody does for longer than others are kept.
    let first = bench.pid();
    bench.works();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(bench.worker()["pid"], first);
    // One that is killed comes back.
    let killed = Command::new("kill")
        .args(["-KILL", &first.to_string()])
        .status();
    assert!(killed.unwrap().success());
    eventually("another one runs", || {
        let pid = bench.worker()["pid"].as_u64();
        pid.is_some_and(|pid| pid != first)
    });
    assert_eq!(bench.worker()["restarts"], 1);
    let second = bench.pid();
    gateway.kill();
    eventually("it has ended with the gateway", || !is_alive(second));
}

// check 28
#[test]
fn a_feature_whose_worker_runs_is_removed_only_by_force_which_ends_it() {
    let bench = Bench::new("", PACKAGE);
    let running = bench.call("sleep").start();
    let pid = bench.pid();
    let refused = bench.addons(&["remove", FEATURE, "--json"]).run();
    assert_eq!(error_code(&refused), "in_use");
    assert!(is_alive(pid));
    bench
        .addons(&["remove", FEATURE, "--force"])
        .run()
        .succeeds();
    eventually("the worker has ended", || !is_alive(pid));
    assert_eq!(bench.desk.state(FEATURE), "absent");
    drop(running);
}

#[test]
fn a_reinstall_gives_a_feature_that_crashed_too_often_another_chance() {
    let bench = Bench::new("addons: {worker: {max_restarts: 1}}\n", PACKAGE);
    bench.call("die").run().exits(1);
    assert_eq!(bench.worker()["state"], "failed");
    bench
        .addons(&["install", FEATURE, "--force"])
        .run()
        .succeeds();
    bench.works();
}

#[test]
fn packages_that_no_tool_uses_have_no_worker_to_call() {
    let bench = Bench::new("", PACKAGE);
    bench.desk.lock("skill.youtube", "0.7.2");
    bench.desk.uv(": > \"$site/youtube_transcript_api.py\"");
    bench.addons(&["install", "skill.youtube"]).run().succeeds();
    let call = bench
        .addons(&["call", "skill.youtube", "scripts.run"])
        .run();
    assert_eq!(error_code(&call), "unsupported");
    call.exits(3)
        .prints_part("hermes addons python skill.youtube SCRIPT");
    assert_eq!(bench.desk.row("skill.youtube")["worker"], Value::Null);
    for verb in ["restart", "logs"] {
        bench
            .addons(&[verb, "skill.youtube"])
            .run()
            .exits(3)
            .says_part("no tool of this version of Hermes uses it");
        bench
            .addons(&[verb, "npm:server"])
            .run()
            .exits(3)
            .says_part("logs/mcp-stderr.log");
    }
}

#[test]
fn the_log_of_a_worker_can_be_followed() {
    let bench = Bench::new("", PACKAGE);
    bench
        .addons(&["logs", FEATURE])
        .run()
        .succeeds()
        .says("debug.selftest has printed nothing yet.\n");
    let followed = bench.addons(&["logs", FEATURE, "--follow"]).start();
    bench.works();
    let line = followed.next_line().unwrap();
    assert!(line.ends_with("the package was imported"), "{line}");
    bench.works();
    let line = followed.next_line().unwrap();
    assert!(line.ends_with("the package was imported"), "{line}");
    let listed = bench.desk.program(&["logs", "list"]).run();
    listed.succeeds().prints_part("addons/debug.selftest");
    let last = bench.addons(&["logs", FEATURE, "-n", "1"]).run();
    assert_eq!(last.succeeds().stdout.lines().count(), 1);
}

// check 24
#[test]
fn a_worker_sees_no_secret() {
    let bench = Bench::new("", PACKAGE);
    let secret = "sk-canary-0123456789abcdef";
    bench
        .desk
        .home
        .put(".env", format!("OPENAI_API_KEY={secret}\n"));
    let mut running = bench
        .call("sleep")
        .env("OPENAI_API_KEY", secret)
        .env("SOME_TOKEN", secret)
        .start();
    let pid = bench.pid();
    for file in ["environ", "cmdline"] {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.is_empty() && !text.contains("canary"), "{text}");
    }
    running.kill();
    let environ = bench.call("environ").env("OPENAI_API_KEY", secret).run();
    let names = message(&environ);
    assert!(
        names.contains("'TMPDIR'") && !names.contains("OPENAI"),
        "{names}"
    );
}

// check 24
#[test]
fn a_worker_reads_nothing_of_the_home_and_writes_nothing_outside() {
    let bench = Bench::new("", PACKAGE);
    let policy = bench.desk.program(&["sandbox", "policy", "--json"]).run();
    let has_landlock = policy.succeeds().json()["enforced"]["landlock"] != 0;
    bench.desk.home.put(".env", "A_KEY=canary-value\n");
    let env = bench.desk.home.path(".env");
    let outside = bench.desk.home.outside("written");
    let read = || bench.call(&format!("open {}", env.display())).run();
    // Where the kernel cannot do it, the processes are apart and no more.
    let confined = message(&read()).contains("PermissionError");
    assert_eq!(confined, has_landlock);
    let written = bench.call(&format!("write {}", outside.display())).run();
    assert_eq!(
        written.json()["error"].is_object(),
        has_landlock,
        "{written}"
    );
    assert_eq!(outside.exists(), !has_landlock);
    bench
        .desk
        .home
        .put("config.yaml", "addons: {worker: {sandbox: 'off'}}\n");
    assert!(!message(&read()).contains("PermissionError"));
}

// check 14, part 4: another stamp wipes at the start of a worker
#[test]
fn a_worker_start_clears_what_is_for_another_interpreter() {
    let bench = Bench::new("", PACKAGE);
    let store = bench.desk.store();
    let stamp = fs::read_to_string(store.join(".python-abi")).unwrap();
    fs::write(store.join(".python-abi"), "2.7:old-abi-tag").unwrap();
    let planted = store.join("@envs/x/20200101T000000Z-00000000/site");
    fs::create_dir_all(&planted).unwrap();
    bench.works();
    assert!(!planted.exists());
    assert_eq!(
        fs::read_to_string(store.join(".python-abi")).unwrap(),
        stamp
    );
}

#[test]
fn a_changed_shim_is_written_again() {
    let bench = Bench::new("", PACKAGE);
    bench.works();
    let shims = bench.desk.store().join("@shim");
    let name = super::names(&shims).remove(0);
    let worker = shims.join(name).join("worker.py");
    set_mode(worker.parent().unwrap(), 0o755);
    fs::remove_file(&worker).unwrap();
    fs::write(&worker, "print('evil')\n").unwrap();
    bench.works();
    assert!(!fs::read_to_string(&worker).unwrap().contains("evil"));
}

#[test]
fn bad_calls_say_what_is_wrong() {
    let bench = Bench::new("", PACKAGE);
    let unknown = bench.addons(&["call", FEATURE, "debug.nothing"]).run();
    assert_eq!(error_code(&unknown), "addon_error");
    assert!(message(&unknown).contains("no operation debug.nothing"));
    bench.addons(&["call", FEATURE, "report"]).run().exits(2);
    bench
        .addons(&["call", FEATURE, "debug.report", "[]"])
        .run()
        .exits(2);
    let missing = bench
        .addons(&["call", "tts.espeak", "tts.synthesize"])
        .run();
    assert_eq!(error_code(&missing), "not_installed");
    missing.exits(1);
    bench.addons(&["restart", "search.exa"]).run().exits(3);
    // Installed or not, no tool uses it.
    let unused = bench
        .addons(&["call", "platform.feishu", "platform.send"])
        .run();
    unused.exits(3);
    bench.addons(&["logs", "nope.x"]).run().exits(2);
}
