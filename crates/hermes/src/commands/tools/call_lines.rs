//! `hermes tools call --stdin`: a call per line, an answer per line, until the input ends. A bad line
//! is answered like a bad call and the next one is read.

use std::io::BufRead;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::toolbox::Toolbox;

/// A longer line is answered and not kept.
const MAX_LINE: usize = 16 * 1024 * 1024;

pub(super) fn run(
    toolbox: &Toolbox,
    session: &str,
    check: bool,
    context: &Context,
) -> Result<ExitCode> {
    let mut input = std::io::stdin().lock();
    while let Some(line) = next_line(&mut input)? {
        let answer = match line {
            Line::Text(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(bytes) => match parse(&bytes) {
                Ok(request) => answer(toolbox, &request, session, check)?,
                Err(message) => json!({"error": message}),
            },
            Line::TooLong => {
                json!({"error": format!("The line is longer than {MAX_LINE} bytes.")})
            }
        };
        context.printer.line(answer.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(
    toolbox: &Toolbox,
    request: &Request,
    default_session: &str,
    check: bool,
) -> Result<Value> {
    let session = request.session.as_deref().unwrap_or(default_session);
    let call = toolbox.call_context(session)?;
    let registry = &toolbox.registry;
    Ok(if check {
        registry.verdict(&request.tool, &request.args, &call)
    } else {
        registry.call(&request.tool, &request.args, &call)
    })
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

enum Line {
    Text(Vec<u8>),
    TooLong,
}

fn next_line(input: &mut impl BufRead) -> Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(CommandError::environment(format!(
                    "could not read standard input: {error}"
                )));
            }
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer
            .get(..end.unwrap_or(buffer.len()))
            .unwrap_or_default();
        let finished = end.is_some() || buffer.is_empty();
        any |= !buffer.is_empty();
        too_long |= line.len() + piece.len() > MAX_LINE;
        if !too_long {
            line.extend_from_slice(piece);
        }
        let taken = end.map_or(buffer.len(), |end| end + 1);
        input.consume(taken);
        if finished {
            let line = if too_long {
                Line::TooLong
            } else {
                Line::Text(line)
            };
            return Ok(any.then_some(line));
        }
    }
}
