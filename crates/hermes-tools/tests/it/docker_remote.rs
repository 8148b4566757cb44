//! A container as the remote host: the same tools, and nothing of this machine is touched.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_terminal::remote::{RemoteError, ScriptOutcome, ScriptRequest, ScriptRunner};
use hermes_testkit::EngineImage;
use hermes_tools::{CodeSettings, WriteRules};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::execute_code::run;
use crate::remote_scripts::scripts_registry;
use crate::script_hosts::run_child;
use crate::stage::{FixedSession, Stage};

/// A container that goes with the value, and by itself after a while.
struct Container {
    name: String,
    jobs: AtomicUsize,
}

impl Container {
    fn start() -> Arc<Self> {
        Self::of(EngineImage::Debian)
    }

    fn with_python() -> Arc<Self> {
        Self::of(EngineImage::DebianPython)
    }

    fn of(image: EngineImage) -> Arc<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hermes-tools-test-{}-{number}", std::process::id());
        let mut command = docker(&["run", "--detach", "--rm", "--init", "--network=none"]);
        command.args(["--name", &name]);
        let output = command
            .args([image.name(), "sleep", "900"])
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "no container: {message}");
        Arc::new(Self {
            name,
            jobs: AtomicUsize::new(0),
        })
    }

    /// What a command in it prints.
    fn sh(&self, script: &str) -> String {
        let output = docker(&["exec", &self.name, "bash", "-c", script])
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(docker(&["rm", "--force", &self.name]).output());
    }
}

fn docker(args: &[&str]) -> Command {
    let mut command = Command::new("docker");
    command.args(args).stdin(Stdio::null());
    command
}

impl ScriptRunner for Container {
    fn run_script(&self, job: &ScriptRequest<'_>) -> Result<ScriptOutcome, RemoteError> {
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let mark = format!("/dev/shm/job-{number}");
        let script = format!("echo $$ >{mark}\n{}", job.script);
        let mut command = docker(&["exec", "--interactive", &self.name, "bash", "-c"]);
        command.arg(&script);
        run_child(command, job, |_, signal| {
            let number = signal.map_or(0, Signal::as_raw);
            // What the engine starts leads a group of its own.
            let kill = format!("kill -{number} -- -$(cat {mark})");
            let sent = docker(&["exec", &self.name, "bash", "-c", &kill]).output();
            sent.unwrap().status.success()
        })
    }

    fn describe(&self) -> String {
        format!("container {}", self.name)
    }
}

fn stage(container: &Arc<Container>, settings: CodeSettings) -> Stage {
    let stage = Stage::with(scripts_registry(settings));
    let place = Arc::clone(container) as Arc<dyn ScriptRunner>;
    let mut stage = stage.moved_to(place, WriteRules::Unrestricted);
    stage.context.session = Arc::new(FixedSession {
        cwd: PathBuf::from("/root/the work"),
        variables: Vec::new(),
    });
    stage
}

#[test]
fn files_are_those_of_the_container() {
    let container = Container::start();
    let stage = stage(&container, CodeSettings::default());
    let call = |tool: &str, args: Value| stage.call(tool, args);
    let write = json!({"path": "new\nname/a.txt", "content": "one\ntwo é\n"});
    assert_eq!(call("write_file", write)["bytes_written"], 11);
    assert_eq!(
        container.sh("stat -c '%a' /root/the\\ work/new*/a.txt; cat /root/the\\ work/new*/a.txt"),
        "644\none\ntwo é\n"
    );
    let page = call("read_file", json!({"path": "~/the work/new\nname/a.txt"}));
    assert_eq!(page["content"], "     1|one\n     2|two é");
    let patch = json!({"path": "new\nname/a.txt", "old_string": "one", "new_string": "1"});
    assert_eq!(call("patch", patch)["success"], true);
    let found = call("search_files", json!({"pattern": r"^\w+ é$"}));
    assert_eq!(
        found["matches"],
        json!([{"path": "new\nname/a.txt", "line": 2, "content": "two é"}])
    );
    assert!(found["note"].as_str().unwrap().contains("ripgrep"));
    // Its own account's files are there to be changed, and the host's are not there.
    let inside = json!({"path": "/etc/hermes-test", "content": "x"});
    assert_eq!(call("write_file", inside)["bytes_written"], 1);
    assert!(!std::path::Path::new("/etc/hermes-test").exists());
    let own = stage.file("of this machine", "x").display().to_string();
    assert_eq!(
        call("read_file", json!({"path": own}))["error"],
        format!("File not found: {own}")
    );
    assert_eq!(container.sh("ls -A /root/the\\ work"), "new\nname\n");
}

#[test]
fn an_interrupt_ends_a_search_and_its_processes() {
    let container = Container::start();
    let stage = stage(&container, CodeSettings::default());
    container.sh("mkdir -p '/root/the work'; cd /usr/local/bin
         printf '#!/bin/sh\\n: >/dev/shm/searching; exec sleep 600\\n' >find; chmod +x find");
    let interrupt = Arc::clone(&stage.context.interrupt);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            container.sh("until [ -e /dev/shm/searching ]; do sleep 0.05; done");
            interrupt.raise();
        });
        stage.call("search_files", json!({"pattern": "foo"}))
    });
    assert_eq!(result["note"], "The search was interrupted.");
    assert_eq!(container.sh("pgrep -c -x sleep || true"), "1\n", "its own");
}

#[test]
fn without_python_the_result_says_so() {
    let container = Container::start();
    let stage = stage(&container, CodeSettings::default());
    let result = run(&stage, "print(1)");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.starts_with(&format!("In container {}: ", container.name))
            && error.contains("needs Python 3.8"),
        "{error}"
    );
    assert_eq!(container.sh("ls /tmp"), "");
}

#[test]
fn scripts_run_in_the_container() {
    let container = Container::with_python();
    let stage = stage(&container, CodeSettings::default());
    container.sh("mkdir '/root/the work'; hostname >/etc/marker");
    let code = "from hermes_tools import *\n\
        import os\n\
        print(os.getcwd(), open('/etc/marker').read().strip())\n\
        print(write_file('a', 'x')['bytes_written'], os.listdir('.'))\n\
        print(read_file('/etc/marker')['content'])";
    let result = run(&stage, code);
    let host = container.sh("hostname");
    let host = host.trim();
    assert_eq!(
        result["output"],
        format!("/root/the work {host}\n1 ['a']\n     1|{host}\n"),
        "{result}"
    );
    assert_eq!(result["tool_calls_made"], 2);
    assert_eq!(container.sh("ls /tmp"), "");
}

#[test]
fn at_the_time_limit_nothing_of_a_script_is_left() {
    let container = Container::with_python();
    let stage = stage(
        &container,
        CodeSettings {
            timeout: Duration::from_secs(4),
            ..CodeSettings::default()
        },
    );
    container.sh("mkdir '/root/the work'");
    let code = "import subprocess, time\n\
        print('said before')\n\
        subprocess.Popen(['sleep', '333'])\ntime.sleep(333)";
    let started = Instant::now();
    let result = run(&stage, code);
    assert!(started.elapsed() < Duration::from_mins(1));
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(
        result["output"]
            .as_str()
            .unwrap()
            .starts_with("said before\n")
    );
    assert_eq!(
        container.sh("pgrep -f '[s]leep 333|[s]cript.py' || true"),
        ""
    );
    assert_eq!(container.sh("ls /tmp"), "");
}
