use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use hermes_proc::sandbox::Sandbox;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::hooks::{Hooks, Occasion};
use crate::spill::OutputSpill;

struct Here;

impl HookHost for Here {
    fn variables(&self, passthrough: &[String]) -> Vec<(OsString, OsString)> {
        let mut variables = vec![("PATH".into(), "/usr/bin:/bin".into())];
        for name in passthrough {
            variables.push((name.into(), "passed".into()));
        }
        variables
    }

    fn sandbox(&self) -> Result<Option<Arc<Sandbox>>, String> {
        Ok(None)
    }

    fn account_home(&self) -> &Path {
        Path::new("/")
    }
}

/// The hooks of a plugin with this script.
fn hooks(directory: &Path, script: &str, fails_closed: bool) -> Hooks {
    let file = directory.join("hook.sh");
    hermes_fs::write_atomic_exact(&file, format!("#!/bin/sh\n{script}").as_bytes(), 0o700).unwrap();
    let listener = ExecListener {
        profile: ListenerProfile {
            name: "checker".to_owned(),
            events: vec![HookEvent::PreToolCall, HookEvent::PostToolCall],
            timeout: Duration::from_millis(500),
            fails_closed,
        },
        command: Arc::new(vec!["./hook.sh".to_owned(), "a b".to_owned()]),
        directory: directory.to_owned(),
        env_passthrough: vec!["CHECKER_KEY".to_owned()],
        host: Arc::new(Here),
    };
    let spill = OutputSpill::resolve(None, directory, directory);
    let hooks = Hooks::new(Vec::new(), Arc::new(Here), "cli", spill);
    hooks.with_listeners(vec![Arc::new(listener)])
}

fn refusal(hooks: &Hooks) -> Option<String> {
    let input = json!({"command": "ls"});
    hooks.refusal(&occasion(HookEvent::PreToolCall, &input))
}

fn occasion(event: HookEvent, input: &serde_json::Value) -> Occasion<'_> {
    Occasion {
        event,
        tool: Some(("terminal", input)),
        session: "s",
        cwd: Path::new("/"),
        extra: json!({}),
        interrupt: None,
    }
}

#[test]
fn a_plugin_program_refuses_a_call_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"read line; case "$line" in *terminal*) ;; *) exit 0;; esac
echo "{\"decision\": \"block\", \"reason\": \"$1 $CHECKER_KEY $PWD\"}""#;
    let hooks = hooks(directory.path(), script, false);
    assert!(hooks.has(HookEvent::PreToolCall) && !hooks.has(HookEvent::PreLlmCall));
    let real = hermes_fs::canonicalize(directory.path()).unwrap();
    assert_eq!(
        refusal(&hooks),
        Some(format!("a b passed {}", real.display()))
    );
}

#[test]
fn a_plugin_that_fails_has_no_opinion_unless_it_fails_closed() {
    let directory = tempfile::tempdir().unwrap();
    for script in [
        "sleep 60",
        "exit 1",
        "kill -9 $$",
        "echo nonsense",
        "yes | head -c 9000000",
    ] {
        let begun = Instant::now();
        assert_eq!(
            refusal(&hooks(directory.path(), script, false)),
            None,
            "{script}"
        );
        let closed = refusal(&hooks(directory.path(), script, true));
        let reason = closed.unwrap_or_else(|| panic!("{script} did not block"));
        assert!(
            reason.starts_with("the plugin checker must agree to it, but"),
            "{reason}"
        );
        assert!(begun.elapsed() < Duration::from_secs(10), "{script}");
    }
}

#[test]
fn observers_are_told_beside_what_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let script = "cat >> heard; echo >> heard; sleep 0.2";
    let hooks = hooks(directory.path(), script, true);
    let input = json!({"command": "ls"});
    let begun = Instant::now();
    for _ in 0..3 {
        hooks.tell(&occasion(HookEvent::PostToolCall, &input));
    }
    assert!(begun.elapsed() < Duration::from_millis(150));
    drop(hooks);
    let heard = hermes_fs::read_text_capped(&directory.path().join("heard"), 1 << 20).unwrap();
    assert_eq!(heard.lines().count(), 3, "{heard}");
    assert!(heard.contains("\"hook_event_name\":\"post_tool_call\""));
}
