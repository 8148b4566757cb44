//! `hermes sandbox exec`: a command in a sandbox, as the terminal tool would run it, on the user's own
//! word: nobody is asked to approve it.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_docker::keys;
use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteBackend};
use serde_json::{Value, json};

use crate::commands::exec::{self, MISSING_PART, TOOL};
use crate::context::Context;
use crate::error::Result;
use crate::signal_watch::SignalWatch;
use crate::tool_access;
use crate::ui::Asked;

/// The conversation commands belong to.
const SESSION: &str = "cli";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The task whose sandbox is meant
    #[arg(long, value_name = "ID", default_value = keys::SHARED)]
    task: String,
    /// Directory for this command, as seen in the sandbox
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Seconds it may take; then it is stopped and the exit code is 124
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Print output, exit code, directory and container as JSON
    #[arg(long)]
    json: bool,
    /// The command: one argument is a line for the shell, several are a program with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let backend = BackendRequest {
        kind: BackendKind::Docker,
        task: Some(&args.task),
        session: SESSION,
    };
    let mut call = json!({"command": exec::shell_line(&args.command)?});
    if let Some(workdir) = &args.workdir {
        call["workdir"] = json!(workdir);
    }
    if let Some(timeout) = args.timeout {
        call["timeout"] = json!(timeout);
    }
    let tools = tool_access::assemble(context, backend, Approval::NotNeeded, Asked::Nothing)?;
    let signals = SignalWatch::start(&tools)?;
    tools.recover();
    let surroundings = tools.call_context(SESSION);
    let result = tools.registry.call(TOOL, &call, &surroundings);
    let mut code = exec::exit_code_of(&result);
    if exec::did_not_start(&result) && tools.remote().is_some_and(RemoteBackend::is_down) {
        code = MISSING_PART;
    }
    let container = tools.remote().and_then(RemoteBackend::container_name);
    tools.release();
    if args.json {
        let field = |name: &str| result.get(name).cloned().unwrap_or(Value::Null);
        let mut shown = json!({
            "output": field("output"),
            "exit_code": field("exit_code"),
            "cwd": surroundings.session.cwd().display().to_string(),
            "container": container,
        });
        if !field("error").is_null() {
            shown["error"] = field("error");
        }
        context.printer.line(shown.to_string())?;
    } else {
        exec::show(context, &result)?;
    }
    Ok(signals.exit_code(code))
}
