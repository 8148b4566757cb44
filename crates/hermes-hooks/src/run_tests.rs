use std::path::PathBuf;

use hermes_proc::sandbox::Sandbox;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::configured;

struct Here(tempfile::TempDir);

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
        self.0.path()
    }
}

impl Here {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A hook that runs this script.
    fn hook(&self, script: &str, more: &serde_json::Value) -> HookSpec {
        let file: PathBuf = self.0.path().join("hook.sh");
        hermes_fs::write_atomic(&file, script.as_bytes(), 0o600).unwrap();
        let mut entry = json!({"command": "sh ~/hook.sh"});
        for (name, value) in more.as_object().unwrap() {
            entry[name] = value.clone();
        }
        let found = configured(Some(&json!({"pre_tool_call": [entry]})));
        assert_eq!(found.problems, Vec::<String>::new());
        found.hooks.into_iter().next().unwrap()
    }

    fn run(&self, script: &str, more: &serde_json::Value) -> HookRun {
        let hook = self.hook(script, more);
        run_hook(
            &hook,
            r#"{"tool_name":"terminal"}"#,
            self,
            self.0.path(),
            None,
        )
    }
}

#[test]
fn a_hook_reads_the_event_and_refuses_the_call() {
    let here = Here::new();
    let run = here.run(
        r#"read event; case $event in *terminal*) echo '{"decision":"block","reason":"not now"}';; esac"#,
        &json!({}),
    );
    assert_eq!(run.reply, HookReply::Block("not now".to_owned()));
    assert_eq!(run.end, HookEnd::Exited(Some(0)));
    assert_eq!(run.problem, None);
}

#[test]
fn code_2_refuses_with_the_words_of_standard_error() {
    let run = Here::new().run("echo 'not on a Friday' >&2; exit 2", &json!({}));
    assert_eq!(run.reply, HookReply::Block("not on a Friday".to_owned()));
}

#[test]
fn a_hook_that_fails_has_no_say_unless_it_was_set_to_block() {
    let here = Here::new();
    for (script, problem) in [
        ("echo broken >&2; exit 1", "it ended with code 1: broken"),
        ("echo no json", "its output is not JSON"),
        ("kill -9 $$", "it was ended by a signal"),
        ("sleep 60", "it took longer than 1 s"),
    ] {
        let run = here.run(script, &json!({"timeout": 1}));
        assert_eq!(run.problem.as_deref(), Some(problem), "{script}");
        assert_eq!(run.reply, HookReply::Nothing, "{script}");
        let run = here.run(script, &json!({"timeout": 1, "on_error": "block"}));
        let reason = format!("the hook sh ~/hook.sh must agree to it, but {problem}");
        assert_eq!(run.reply, HookReply::Block(reason), "{script}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let here = Here::new();
    let mut hook = here.hook("", &json!({}));
    "no-such-hook --x".clone_into(&mut hook.command);
    let run = run_hook(&hook, "{}", &here, here.0.path(), None);
    assert_eq!(run.problem.as_deref(), Some("no-such-hook was not found"));
    "unclosed 'quote".clone_into(&mut hook.command);
    let run = run_hook(&hook, "{}", &here, here.0.path(), None);
    assert_eq!(
        run.problem.as_deref(),
        Some("its command cannot be split into words")
    );
}

#[test]
fn only_the_variables_it_was_promised_are_there() {
    let script = r#"printf '{"decision":"block","reason":"%s"}' "$MY_KEY-$HOME""#;
    let run = Here::new().run(script, &json!({"env_passthrough": ["MY_KEY"]}));
    assert_eq!(run.reply, HookReply::Block("passed-".to_owned()));
}

#[test]
fn output_without_end_is_cut_and_a_hook_that_does_not_read_is_no_problem() {
    let here = Here::new();
    let hook = here.hook("exec head -c 50000000 /dev/zero", &json!({}));
    let payload = "x".repeat(4 << 20);
    let run = run_hook(&hook, &payload, &here, here.0.path(), None);
    assert_eq!(run.problem.as_deref(), Some("its output is not JSON"));
    assert!(run.stdout.len() <= MOST_OUTPUT);
}

#[test]
fn an_interrupt_ends_the_wait() {
    let here = Here::new();
    let hook = here.hook("sleep 60", &json!({}));
    let wake = Arc::new(Wake::new().unwrap());
    wake.raise();
    let run = run_hook(&hook, "{}", &here, here.0.path(), Some(&wake));
    assert!(run.took < Duration::from_secs(10), "{:?}", run.took);
    let problem = run.problem.unwrap();
    assert!(problem.contains("was stopped before"), "{problem}");
}
