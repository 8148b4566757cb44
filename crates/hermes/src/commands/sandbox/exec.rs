//! `hermes sandbox exec`: a command in a sandbox, as the terminal tool would run it, on the user's own
//! word: nobody is asked to approve it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use hermes_docker::SHARED_TASK;
use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteLease};
use hermes_terminal::{CommandRequest, SessionKey};
use serde_json::json;

use crate::commands::exec::{Execution, shell_line};
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
    #[arg(long, value_name = "ID", default_value = SHARED_TASK)]
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
    let line = shell_line(&args.command)?;
    let setup = tool_access::terminal(context, backend, Approval::NotNeeded, Asked::Nothing)?;
    let signals = SignalWatch::start(&setup)?;
    setup.recover();
    let session = SessionKey::new(SESSION);
    let execution = Execution::run(
        &setup,
        &CommandRequest {
            command: &line,
            session: &session,
            workdir: args.workdir.as_deref().filter(|dir| !dir.is_empty()),
            timeout: args
                .timeout
                .map(|seconds| Duration::from_secs(seconds.into())),
            interrupt: setup.interrupt(),
        },
    );
    let code = execution.exit_code(&setup);
    let container = setup.remote().and_then(RemoteLease::container_name);
    setup.release();
    if args.json {
        let result = execution.into_json();
        let cwd = setup.terminal().session(&session).snapshot().cwd;
        let mut shown = json!({
            "output": result["output"],
            "exit_code": result["exit_code"],
            "cwd": cwd.display().to_string(),
            "container": container,
        });
        if !result["error"].is_null() {
            shown["error"] = result["error"].clone();
        }
        context.printer.line(shown.to_string())?;
    } else {
        execution.show(context)?;
    }
    Ok(signals.exit_code(code))
}
