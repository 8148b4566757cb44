//! What a call gets from outside: verdicts, passwords, settings, and many calls at once.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_config::{Config, Environment, Sources};
use hermes_secret::SecretString;
use hermes_terminal::{
    CommandApprover, CommandCheck, CommandDecision, CommandKind, Refusal, RefusalKind, SessionKey,
    SudoInput, SudoSupport, TerminalSettings,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::world::{Parts, World};

/// Refuses what mentions `forbidden`; approves what mentions `ask`, as a person would.
struct Strict;

impl CommandApprover for Strict {
    fn check(&self, check: &CommandCheck<'_>) -> CommandDecision {
        let (command, kind) = (check.command, check.kind);
        if command.contains("forbidden") {
            return CommandDecision::Refused(Refusal {
                kind: RefusalKind::Blocked,
                message: "no".into(),
                hardline: kind == CommandKind::Background,
                pattern_key: None,
                description: Some(command.to_owned()),
            });
        }
        let approval = command
            .contains("ask")
            .then(|| "approved by user".to_owned());
        CommandDecision::Allowed {
            approval,
            confinement: hermes_terminal::backend::Confinement::None,
        }
    }
}

#[test]
fn a_refusal_runs_nothing_and_an_approval_clears_the_interrupt() {
    let parts = Parts {
        approver: Arc::new(Strict),
        ..Parts::default()
    };
    let world = World::of(|_| {}, parts);
    for background in [false, true] {
        let args = json!({"command": "touch ran; echo forbidden correct-horse-battery-staple", "background": background});
        let mut expected = json!({
            "output": "", "exit_code": -1, "error": "no", "status": "blocked",
            "description": "touch ran; echo forbidden ***",
        });
        if background {
            expected["hardline"] = json!(true);
        }
        assert_eq!(world.call(args), expected);
    }
    assert!(!world.path("work/ran").exists());
    // Someone typed while the prompt was open.
    world.interrupt.raise();
    let result = world.run("echo ask");
    assert_eq!(
        (&result["output"], &result["approval"]),
        (&json!("ask"), &json!("approved by user"))
    );
}

struct OnePassword(AtomicUsize);

impl SudoSupport for OnePassword {
    fn prepare(&self, command: &str, _: &SessionKey) -> Option<SudoInput> {
        command.contains("sudo").then(|| SudoInput {
            command: command.replace("sudo ", "read -r line; echo got $line; : "),
            input: SecretString::from("correct-horse-battery-staple\nsecond\n".to_owned()),
            password: "correct-horse-battery-staple".into(),
        })
    }

    fn rejected(&self, _: &SessionKey) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst) == 0
    }
}

#[test]
fn passwords_come_as_input_and_are_not_shown() {
    let parts = Parts {
        sudo: Some(Arc::new(OnePassword(AtomicUsize::new(0)))),
        ..Parts::default()
    };
    let world = World::of(|_| {}, parts);
    let result = world.run("sudo a; sudo b; cat");
    assert_eq!(result["output"], "got ***\ngot second");
    let refused = "sudo x; echo sudo: 3 incorrect password attempts";
    let result = world.run(refused);
    assert_eq!(
        (&result["sudo_auth_failed"], &result["sudo_cache_cleared"]),
        (&json!(true), &json!(true))
    );
    let result = world.run(refused);
    assert_eq!(result.get("sudo_cache_cleared"), None);
}

#[test]
fn settings_that_make_no_sense_do_not_stop_commands() {
    let dir = tempfile::tempdir().unwrap();
    let settings = |variables: &[(&str, &str)], yaml: &str| {
        std::fs::write(dir.path().join("config.yaml"), yaml).unwrap();
        let environment = Environment::from_pairs(variables.iter().copied());
        let config = Config::load_read_only(&Sources::new(&environment, dir.path()));
        TerminalSettings::new(dir.path().into(), dir.path().into()).configured(&config)
    };
    let plain = settings(&[], "{}");
    assert_eq!(plain.timeout, Duration::from_mins(3));
    assert_eq!(plain.longest_timeout, Duration::from_mins(10));
    assert!(plain.source_user_files);
    let broken = settings(
        &[
            ("TERMINAL_TIMEOUT", "5m"),
            ("TERMINAL_MAX_FOREGROUND_TIMEOUT", "-1"),
            ("TERMINAL_DOCKER_VOLUMES", "{"),
        ],
        "tool_output:\n  max_bytes: -5\n",
    );
    assert_eq!(broken.timeout, Duration::from_mins(3));
    assert_eq!(broken.longest_timeout, Duration::from_mins(10));
    assert_eq!(broken.shown_output, 50_000);
    let set = settings(
        &[
            ("TERMINAL_TIMEOUT", " 7 "),
            ("TERMINAL_MAX_FOREGROUND_TIMEOUT", "9"),
        ],
        "terminal:\n  daemon_term_grace_seconds: 0.5\n  shell_init_files: [~/a]\n  auto_source_bashrc: false\ntool_output:\n  max_bytes: 77\n",
    );
    assert_eq!(set.timeout, Duration::from_secs(7));
    assert_eq!(set.longest_timeout, Duration::from_secs(9));
    assert_eq!(set.background_grace, Duration::from_millis(500));
    assert_eq!(
        (set.init_files, set.source_user_files, set.shown_output),
        (vec!["~/a".to_owned()], false, 77)
    );
}

#[test]
fn a_storm_leaves_nobody_and_every_result_is_true() {
    let world = World::new();
    world.run("true");
    let next = AtomicUsize::new(0);
    let seed = RandomState::new();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::SeqCst);
                    if n >= 200 {
                        return;
                    }
                    let (command, code) = match seed.hash_one(n) % 6 {
                        0 => ("echo done; exit 0".to_owned(), 0),
                        1 | 2 => (format!("exit {}", n % 100), i64::try_from(n % 100).unwrap()),
                        3 => ("setsid sleep 300 & wait".to_owned(), 124),
                        4 => ("(setsid sh -c '(sleep 300 &)'); sleep 300".to_owned(), 124),
                        _ => ("trap '' TERM; sleep 300 & sleep 301".to_owned(), 124),
                    };
                    let limit = 1 + seed.hash_one((n, "limit")) % 2;
                    let result = world.call_in(
                        &format!("s{}", n % 3),
                        json!({"command": format!("export STORM=1; {command}"), "timeout": limit}),
                    );
                    assert_eq!(result["exit_code"], code, "{n}: {command}: {result}");
                    assert_eq!(result["error"], json!(null));
                }
            });
        }
    });
    // Shells that wait for a next command go, too.
    assert!(world.terminal.shut_down(Duration::from_secs(10)));
    let left: Vec<_> = hermes_proc::pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| {
            hermes_proc::environment_of(*pid).is_some_and(|variables| {
                variables
                    .iter()
                    .any(|(name, value)| name == "HOME" && *value == world.path("user"))
            })
        })
        .collect();
    assert_eq!(left, [] as [u32; 0]);
}
