//! `hermes tools call`: one tool, once.

use std::io::Read;
use std::process::ExitCode;

use hermes_runtime::{Approval, BackendKind, BackendRequest, ToolSet};
use hermes_tools::is_failure;
use serde_json::{Value, json};

use super::call_lines::{self, Caller};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::{END_LIMIT, SignalWatch};
use crate::tool_access;
use crate::ui::Asked;

/// Arguments on standard input are not read beyond this.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the tool
    #[arg(required_unless_present = "stdin")]
    tool: Option<String>,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,
    /// Conversation the call belongs to; calls in the same one share a terminal and a working
    /// directory
    #[arg(long, value_name = "KEY", default_value = "cli")]
    session: String,
    /// Print the verdict of the guards instead of running the tool
    #[arg(long)]
    check: bool,
    /// Read calls as JSON lines {"tool", "args", "session"} and answer each with one line
    #[arg(long, conflicts_with_all = ["tool", "arguments"])]
    stdin: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    let asked = if args.stdin || args.check {
        Asked::Nothing
    } else {
        Asked::Approval
    };
    // Before anybody listens for signals: until there is something to end, they just end this.
    let arguments = given_arguments(args.arguments.as_deref())?;
    let backend = BackendRequest {
        kind: BackendKind::choose(context, None)?,
        task: None,
        session: &args.session,
        credential_files: &[],
    };
    let request = tool_access::request(context, backend, Approval::Needed, asked)?;
    let tools = ToolSet::assemble(context, request)?;
    let signals = SignalWatch::start(&tools, END_LIMIT)?;
    if !args.check {
        tools.recover();
    }
    let caller = Caller {
        tools: &tools,
        session: &args.session,
        check: args.check,
    };
    let failed = if args.stdin {
        call_lines::run(&caller, context)?;
        false
    } else {
        let tool = args.tool.as_deref().unwrap_or_default();
        let result = caller.call(tool, &arguments, None);
        tools.release();
        context.json_line(&result)?;
        if args.check {
            result.get("approved") != Some(&json!(true))
        } else {
            is_failure(&result)
        }
    };
    Ok(ExitCode::from(signals.exit_code(u8::from(failed))))
}

fn given_arguments(text: Option<&str>) -> Result<Value> {
    let text = match text {
        None => return Ok(json!({})),
        Some("-") => from_standard_input()?,
        Some(text) => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(CommandError::usage("the arguments are not a JSON object")),
        Err(error) => Err(CommandError::usage(format!(
            "the arguments are not JSON: {error}"
        ))),
    }
}

fn from_standard_input() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            CommandError::environment(format!("could not read standard input: {error}"))
        })?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(CommandError::usage(format!(
            "the arguments are longer than {MAX_INPUT} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|_| CommandError::usage("the arguments are not valid UTF-8"))
}
