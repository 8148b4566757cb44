//! `hermes hooks doctor`.

use hermes_hooks::{HookSpec, script_of, script_time};
use hermes_runtime::ProfileHooks;

use super::samples::Sample;
use super::test::try_hook;
use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

/// Longest text of a hook that is shown.
const SHOWN: usize = 200;

pub(super) fn run(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("running hooks")?;
    let found = ProfileHooks::with_gateway(context);
    let mut problems = found.problems.len();
    for problem in &found.problems {
        context.line(format!("✗ {problem}"))?;
    }
    if found.hooks.is_empty() && problems == 0 {
        return context.line("There are no hooks");
    }
    for hook in &found.hooks {
        context.line(format!(
            "{}: {}",
            hook.event.name(),
            one_line(&hook.command, SHOWN)
        ))?;
        for finding in findings(hook, &found, context) {
            let mark = match finding {
                Ok(_) => "✓",
                Err(_) => "✗",
            };
            problems += usize::from(finding.is_err());
            let (Ok(text) | Err(text)) = finding;
            context.line(format!("  {mark} {text}"))?;
        }
    }
    if problems == 0 {
        return context.line("All hooks work");
    }
    context.note(format!("{} found", counted(problems, "problem")))?;
    CommandError::silent_unless(false)
}

/// What is right and what is wrong with a hook.
fn findings(
    hook: &HookSpec,
    found: &ProfileHooks,
    context: &Context,
) -> Vec<std::result::Result<String, String>> {
    let home = &context.location.user_home;
    let mut findings = Vec::new();
    let script = script_of(&hook.command, home);
    match &script {
        None => findings.push(Err("the command cannot be split into words".to_owned())),
        Some(script) if script.to_string_lossy().contains('/') && !script.is_file() => {
            findings.push(Err(format!("{} is not there", context.display(script))));
        }
        Some(_) => {}
    }
    let Some(acceptance) = found.accepted.find(hook.event, &hook.command) else {
        findings.push(Err(format!(
            "it was not accepted, so it is not run; start `hermes {}` at a terminal, or use \
                 --accept-hooks once",
            if hook.event.is_of_gateway() {
                "gateway run"
            } else {
                "chat"
            }
        )));
        // What nobody has agreed to is not run here either.
        return findings;
    };
    findings.push(Ok("it was accepted".to_owned()));
    match (script_time(&hook.command, home), acceptance.script_time) {
        (Some(now), Some(then)) if now > then => findings.push(Err(format!(
            "the script has changed since it was accepted (then {then}, now {now}); look at it, then \
             `hermes hooks revoke` and accept it anew"
        ))),
        _ => {}
    }
    if findings.iter().all(std::result::Result::is_ok) {
        let run = try_hook(hook, &Sample::of(hook.event, None), context);
        findings.push(match run.problem {
            Some(problem) => Err(format!(
                "with a made-up event: {}",
                one_line(&problem, SHOWN)
            )),
            None => Ok(format!(
                "it answers a made-up event in {:.2} s",
                run.took.as_secs_f64()
            )),
        });
    }
    findings
}
