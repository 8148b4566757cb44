//! Programs that tools of the agent use.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};

use super::row::Row;
use crate::context::Context;

const SECTION: &str = "External Tools";

/// Programs that are good to have: name, and what goes without it.
const PROGRAMS: [(&str, &str); 3] = [
    ("git", "needed for distributions and worktrees"),
    ("rg", "file search is slower without it"),
    ("node", "needed by some MCP servers"),
];

/// A daemon that does not answer by then is down for our purposes.
const DOCKER_PATIENCE: Duration = Duration::from_secs(4);

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let path = context.env.os(&vars::PATH);
    for (name, without) in PROGRAMS {
        rows.push(match find_on_path(OsStr::new(name), path) {
            Some(found) => Row::ok(SECTION, name, format!("{name} ({})", found.display())),
            None => Row::warning(SECTION, name, format!("{name} was not found")).hint(without),
        });
    }
    rows.push(docker(context));
}

/// Docker matters only to those who chose it.
fn docker(context: &Context) -> Row {
    let wanted = context.config().text("terminal.backend") == "docker";
    let missing = |text: String| {
        if wanted {
            Row::problem(SECTION, "docker", text)
                .hint("terminal.backend is docker: start the daemon, or choose another backend")
        } else {
            Row::ok(
                SECTION,
                "docker",
                format!("{text} (not needed: terminal.backend is not docker)"),
            )
        }
    };
    let Some(program) = find_on_path(OsStr::new("docker"), context.env.os(&vars::PATH)) else {
        return missing("docker was not found".to_owned());
    };
    let args: Vec<OsString> = ["version", "--format", "{{.Server.Version}}"]
        .map(Into::into)
        .into();
    let child = ChildSpec {
        program,
        args,
        cwd: None,
        env: context.environment().helper_plan(),
    };
    match child.run_captured(DOCKER_PATIENCE, 4096) {
        Ok(done) if done.status.success() => Row::ok(
            SECTION,
            "docker",
            format!(
                "docker daemon {} answers",
                String::from_utf8_lossy(&done.stdout).trim()
            ),
        ),
        Ok(_) => missing("the docker daemon does not answer".to_owned()),
        Err(error) => missing(format!("docker: {error}")),
    }
}
