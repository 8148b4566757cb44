//! `hermes tools call --stdin`: a call per line, an answer per line, until the input ends. A bad line
//! is answered like a bad call and the next one is read.

use std::process::ExitCode;

use hermes_runtime::ToolSet;
use serde_json::{Map, Value, json};

use super::call::Args;
use crate::context::Context;
use crate::error::Result;
use crate::signal_watch::SignalWatch;
use crate::ui::{Line, Lines, MAX_LINE, TerminalPerson};

pub(super) fn run(
    tools: &ToolSet,
    signals: &SignalWatch,
    args: &Args,
    context: &Context,
) -> Result<ExitCode> {
    let idle = tools.watch_idle()?;
    let answered = answer_lines(tools, args, context);
    drop(idle);
    tools.stop_background(context, &*TerminalPerson::shown_only(&context.printer));
    tools.release();
    answered?;
    Ok(signals.exit_code(0))
}

fn answer_lines(tools: &ToolSet, args: &Args, context: &Context) -> Result<()> {
    let mut input = Lines::of_standard_input(tools.interrupt())?;
    while let Some(line) = input.next()? {
        let answer = match line {
            Line::Text(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(bytes) => match parse(&bytes) {
                Ok(request) => answer(tools, &request, &args.session, args.check),
                Err(message) => json!({"error": message}),
            },
            Line::TooLong => {
                json!({"error": format!("The line is longer than {MAX_LINE} bytes.")})
            }
        };
        context.printer.line(answer.to_string())?;
    }
    Ok(())
}

fn answer(tools: &ToolSet, request: &Request, default_session: &str, check: bool) -> Value {
    let session = request.session.as_deref().unwrap_or(default_session);
    let call = tools.call_context(session);
    let registry = &tools.registry;
    if check {
        registry.verdict(&request.tool, &request.args, &call)
    } else {
        registry.call(&request.tool, &request.args, &call)
    }
}

struct Request {
    tool: String,
    args: Value,
    session: Option<String>,
}

fn parse(line: &[u8]) -> std::result::Result<Request, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("The line is not JSON: {error}"))?;
    let Value::Object(mut fields) = value else {
        return Err("The line is not a JSON object.".to_owned());
    };
    let Some(Value::String(tool)) = fields.remove("tool") else {
        return Err("The line has no \"tool\" that is a string.".to_owned());
    };
    let session = match fields.remove("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(session)) => Some(session),
        Some(_) => return Err("\"session\" is not a string.".to_owned()),
    };
    Ok(Request {
        tool,
        args: fields
            .remove("args")
            .unwrap_or_else(|| Value::Object(Map::new())),
        session,
    })
}
