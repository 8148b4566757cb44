//! `hermes config edit`: the user's editor, then a check.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use hermes_config::settings::{FileState, SettingsFile};
use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};

use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Tried in this order when neither EDITOR nor VISUAL is set.
const EDITORS: [&str; 4] = ["nano", "vim", "vi", "code"];

pub(super) fn run(_: &NoArgs, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.refuse_to_agents("editing config.yaml")?;
    context.ensure_home()?;
    let path = context.sources().config_path();
    if !hermes_fs::exists_no_follow(&path) {
        hermes_fs::write_atomic(&path, b"", 0o600)?;
    }
    let (program, mut args) = editor(context)?;
    args.push(path.clone().into_os_string());
    let child = ChildSpec::new(&program, args, context.environment().helper_plan());
    let status = child.run_interactive().map_err(|error| {
        CommandError::environment(error.to_string()).hint("set EDITOR to a program that exists")
    })?;
    if !status.success() {
        return Err(CommandError::user(format!(
            "the editor {} failed: {status}",
            program.display()
        )));
    }
    match SettingsFile::load(&path).state {
        FileState::Broken(reason) => Err(CommandError::user(reason.sentence(&path))
            .hint("run `hermes config edit` again; until then defaults are in effect")),
        FileState::Absent | FileState::Parsed(_) => {
            context.line(format!("✓ {} is valid", context.display(&path)))
        }
    }
}

/// Program and arguments: `EDITOR` may hold both.
pub(crate) fn editor(context: &Context) -> Result<(PathBuf, Vec<OsString>)> {
    let path = context.env.os(&vars::PATH);
    for var in [&vars::EDITOR, &vars::VISUAL] {
        let mut words = context.env.text(var).unwrap_or_default().split_whitespace();
        if let Some(name) = words.next() {
            let program = find_on_path(OsStr::new(name), path).ok_or_else(|| {
                CommandError::environment(format!("the editor {name} was not found")).hint(format!(
                    "it comes from {}; set that to a program that exists",
                    var.name
                ))
            })?;
            return Ok((program, words.map(OsString::from).collect()));
        }
    }
    let found = EDITORS
        .iter()
        .find_map(|name| find_on_path(OsStr::new(name), path));
    found
        .map(|program| (program, Vec::new()))
        .ok_or_else(no_editor)
}

fn no_editor() -> CommandError {
    CommandError::environment("no editor was found").hint("set EDITOR, or install nano or vim")
}
