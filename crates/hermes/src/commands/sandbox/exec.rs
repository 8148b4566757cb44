//! `hermes sandbox exec`: a command in a sandbox, as the terminal tool would run it, on the user's own
//! word: nobody is asked to approve it.

use std::ffi::OsString;
use std::process::ExitCode;

use hermes_docker::SHARED_TASK;
use hermes_runtime::{Approval, BackendKind, BackendRequest, RemoteLease, TerminalSetup};
use hermes_terminal::SessionKey;
use serde_json::{Value, json};

use crate::commands::exec::Execution;
use crate::context::Context;
use crate::error::Result;
use crate::ui::Asked;

/// The conversation commands belong to.
const SESSION: &str = "cli";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task whose sandbox to use
    #[arg(long, value_name = "ID", default_value = SHARED_TASK)]
    task: String,
    /// Directory to run the command in, as seen in the sandbox
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Timeout in seconds; the command is then stopped and the exit code is 124
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Print output, exit code, directory and container as JSON
    #[arg(long)]
    json: bool,
    /// The command: a single argument is a shell command line, several are a program and its
    /// arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let execution = Execution {
        command: &args.command,
        workdir: args.workdir.as_deref(),
        timeout: args.timeout,
        backend: BackendRequest {
            kind: BackendKind::Docker,
            task: Some(&args.task),
            session: SESSION,
            credential_files: &[],
        },
        approval: Approval::NotNeeded,
        sandbox: None,
        asked: Asked::Nothing,
    };
    execution.run(context, args.json.then_some(as_json))
}

fn as_json(result: Value, setup: &TerminalSetup, session: &SessionKey) -> Value {
    let cwd = setup.terminal().session(session).snapshot().cwd;
    let mut shown = json!({
        "output": result["output"],
        "exit_code": result["exit_code"],
        "cwd": cwd.display().to_string(),
        "container": setup.remote().and_then(RemoteLease::container_name),
    });
    if !result["error"].is_null() {
        shown["error"] = result["error"].clone();
    }
    shown
}
