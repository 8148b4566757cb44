//! `hermes tools call --stdin`: a call per line, an answer per line, until the input ends. A bad line
//! is answered like a bad call and the next one is read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::ExitCode;

use hermes_proc::{Wake, first_readable};
use serde_json::{Map, Value, json};

use super::call::Args;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::toolbox::{Ending, Toolbox};

/// A longer line is answered and not kept.
const MAX_LINE: usize = 16 * 1024 * 1024;

pub(super) fn run(
    toolbox: &Toolbox,
    ending: &Ending,
    args: &Args,
    context: &Context,
) -> Result<ExitCode> {
    let idle = toolbox.watch_idle()?;
    let talked = talk(toolbox, args, context);
    drop(idle);
    toolbox.end_conversations(context)?;
    toolbox.leave();
    talked?;
    Ok(ending.exit_code(0))
}

fn talk(toolbox: &Toolbox, args: &Args, context: &Context) -> Result<()> {
    let mut input = Lines::of_standard_input(toolbox.interrupt())?;
    while let Some(line) = input.next()? {
        let answer = match line {
            Line::Text(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Text(bytes) => match parse(&bytes) {
                Ok(request) => answer(toolbox, &request, &args.session, args.check),
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

fn answer(toolbox: &Toolbox, request: &Request, default_session: &str, check: bool) -> Value {
    let session = request.session.as_deref().unwrap_or(default_session);
    let call = toolbox.call_context(session);
    let registry = &toolbox.registry;
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

enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// Standard input line by line, until it ends or the program is to.
struct Lines<'a> {
    input: BufReader<File>,
    interrupt: &'a Wake,
}

impl<'a> Lines<'a> {
    fn of_standard_input(interrupt: &'a Wake) -> Result<Self> {
        // A reader of our own: only it can tell whether a line is there already or must be waited for.
        let input =
            rustix::io::dup(rustix::stdio::stdin()).map_err(|errno| unread(&errno.into()))?;
        Ok(Self {
            input: BufReader::new(File::from(input)),
            interrupt,
        })
    }

    fn next(&mut self) -> Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        let mut any = false;
        loop {
            let Some(buffer) = self.more()? else {
                return Ok(None);
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
            self.input.consume(taken);
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

    /// What has been read and not consumed, nothing at the end of input; `None` when the program is to
    /// end.
    fn more(&mut self) -> Result<Option<&[u8]>> {
        if self.interrupt.is_raised() {
            return Ok(None);
        }
        if self.input.buffer().is_empty() {
            let sources = [self.interrupt.as_fd(), self.input.get_ref().as_fd()];
            if first_readable(&sources, None).map_err(|error| unread(&error))? == Some(0) {
                return Ok(None);
            }
        }
        self.input
            .fill_buf()
            .map(Some)
            .map_err(|error| unread(&error))
    }
}

fn unread(error: &std::io::Error) -> CommandError {
    CommandError::environment(format!("could not read standard input: {error}"))
}
