//! `hermes tools call --stdin`: a call per line, an answer per line, until the input ends. A bad line
//! is answered like a bad call and the next one is read.

use hermes_runtime::ToolSet;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::{Line, Lines, MAX_LINE, TerminalPerson};

/// Calls tools, or with `check` asks what the guards say of a call.
pub(super) struct Caller<'a> {
    pub(super) tools: &'a ToolSet,
    /// The session of calls that name none.
    pub(super) session: &'a str,
    pub(super) check: bool,
}

impl Caller<'_> {
    pub(super) fn call(&self, tool: &str, args: &Value, session: Option<&str>) -> Value {
        let call = self.tools.call_context(session.unwrap_or(self.session));
        let registry = &self.tools.registry;
        if self.check {
            registry.verdict(tool, args, &call)
        } else {
            registry.call(tool, args, &call)
        }
    }
}

pub(super) fn run(caller: &Caller<'_>, context: &Context) -> Result<()> {
    let tools = caller.tools;
    let idle = tools.watch_idle()?;
    let answered = answer_lines(caller, context);
    drop(idle);
    tools.stop_background(context, &*TerminalPerson::shown_only(context.printer));
    tools.release();
    answered
}

fn answer_lines(caller: &Caller<'_>, context: &Context) -> Result<()> {
    let mut input = Lines::of_standard_input(caller.tools.interrupt())?;
    while let Some(line) = input.next()? {
        let answer = match line {
            Line::Text(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(bytes) => match parse(&bytes) {
                Ok(request) => {
                    caller.call(&request.tool, &request.args, request.session.as_deref())
                }
                Err(message) => json!({"error": message}),
            },
            Line::TooLong => {
                json!({"error": format!("The line is longer than {MAX_LINE} bytes.")})
            }
        };
        context.json_line(&answer)?;
    }
    Ok(())
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
        return Err("The line has no \"tool\" string.".to_owned());
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
