//! How long `true` takes through the terminal, beside bare bash:
//! `cargo run --release -p hermes-terminal --example terminal_speed`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example that prints figures"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_secret::Redactor;
use hermes_terminal::environment::{ShellEnvRequest, ShellEnvironment};
use hermes_terminal::local::LocalBackend;
use hermes_terminal::shell::{Overlay, ShellFinder};
use hermes_terminal::{
    CommandApprover, CommandCheck, CommandDecision, CommandRequest, SessionKey, Terminal,
    TerminalSettings,
};

struct Plain;

impl ShellEnvironment for Plain {
    fn variables(&self, _: &ShellEnvRequest<'_>) -> Vec<(OsString, OsString)> {
        [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/nonexistent"),
            ("LANG", "C.UTF-8"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
    }

    fn variable(&self, _: &str, _: &Overlay) -> Option<OsString> {
        None
    }

    fn child_home(&self) -> PathBuf {
        "/nonexistent".into()
    }
}

impl CommandApprover for Plain {
    fn check(&self, _: &CommandCheck<'_>) -> CommandDecision {
        CommandDecision::Allowed {
            approval: None,
            confinement: hermes_terminal::backend::Confinement::None,
        }
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let settings = TerminalSettings::new(dir.path().join("home"), dir.path().to_owned());
    let shells = ShellFinder::new(Some("/usr/bin:/bin".as_ref()), None);
    let backend = LocalBackend::new(settings.clone(), shells, Arc::new(Plain));
    let terminal = Terminal::new(
        settings,
        Arc::new(backend),
        Arc::new(Plain),
        Arc::new(Redactor::default()),
    )
    .unwrap();
    let interrupt = Wake::new().unwrap();
    let session = SessionKey::new("speed");
    let call = |command: &str| {
        let outcome = terminal.run(&CommandRequest {
            command,
            session: &session,
            workdir: None,
            timeout: None,
            interrupt: &interrupt,
        });
        assert_eq!(outcome.unwrap().exit_code, 0);
    };
    let bare = |command: &str| {
        let output = std::process::Command::new("/usr/bin/bash")
            .args(["-c", command])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success());
        output
    };
    let started = Instant::now();
    call("true");
    println!("first command with login shell: {:?}", started.elapsed());
    // Interleaved, so that both see the same load.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        ours.push(time(|| call("true")));
        theirs.push(time(|| {
            bare("true");
        }));
    }
    report("terminal true", &mut ours);
    report("bare bash -c true", &mut theirs);
    let big = dir.path().join("big");
    std::fs::write(
        &big,
        "all work and no play makes a long line of plain text\n".repeat(1_000_000),
    )
    .unwrap();
    let cat = format!("cat {}", big.display());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        ours.push(time(|| call(&cat)));
        theirs.push(time(|| {
            bare(&format!("{cat} | cat >/dev/null"));
        }));
    }
    report("terminal cat 53 MB", &mut ours);
    report("bash cat 53 MB to a pipe", &mut theirs);
}

fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{name}: median {:?}, p90 {:?}, min {:?}",
        at(50),
        at(90),
        at(0)
    );
}
