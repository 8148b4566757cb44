//! Snapshots of files before a call that may change them.

use std::path::PathBuf;

use hermes_checkpoints::{Checkpoints, is_destructive};
use serde_json::Value;

use crate::files::patched_paths;
use crate::tool::CallContext;

/// Characters of a command in the reason of a snapshot.
const COMMAND: usize = 60;

/// Has a snapshot taken of every directory that the call may change, if it is one that may.
pub(crate) fn before_call(tool: &str, args: &Value, context: &CallContext) {
    let Some(checkpoints) = &context.conversation.checkpoints else {
        return;
    };
    match tool {
        "write_file" | "patch" => {
            for path in changed_files(args, context) {
                checkpoints.before_change(&path, &format!("before {tool}"));
            }
        }
        "terminal" => before_command(checkpoints, args, context),
        _ => {}
    }
}

fn changed_files(args: &Value, context: &CallContext) -> Vec<PathBuf> {
    let named = args.get("path").and_then(Value::as_str);
    let patch = args.get("patch").and_then(Value::as_str);
    let named = named.map(str::to_owned);
    let paths = named
        .into_iter()
        .chain(patch.into_iter().flat_map(patched_paths));
    paths
        .filter_map(|path| context.resolve(&path).ok())
        .collect()
}

fn before_command(checkpoints: &Checkpoints, args: &Value, context: &CallContext) {
    let command = args.get("command").and_then(Value::as_str);
    let Some(command) = command.filter(|command| is_destructive(command)) else {
        return;
    };
    let workdir = args.get("workdir").and_then(Value::as_str);
    let workdir = workdir.and_then(|path| context.resolve(path).ok());
    let directory = workdir.unwrap_or_else(|| context.session.cwd());
    let command = context.redactor.redact(command);
    let command = hermes_text::one_line(&command, COMMAND);
    checkpoints.before_change(&directory, &format!("before terminal: {command}"));
}
