//! What a person sees of a turn. For a single query standard output carries the answer and nothing else;
//! everything else goes to standard error or the log.

use std::time::Instant;

use hermes_agent::{TurnEvent, TurnObserver, TurnOutcome, TurnResult};
use hermes_chat::ToolProgress;
use hermes_config::Config;
use hermes_providers::StreamEvent;
use hermes_runtime::Conversation;
use serde_json::Value;

use super::options::{ChatOptions, InputMode};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Printer, one_line};

/// Characters of arguments that are shown unless everything is.
const SHORT: usize = 100;
/// Characters of a notice or an error.
const NOTICE: usize = 1_000;
/// Width of the line above and below an answer.
const RULE: usize = 60;

/// Shows turns.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of the command line, and they combine"
)]
pub(super) struct Display {
    printer: Printer,
    quiet: bool,
    /// Whether there is one query, whose answer others may read.
    single: bool,
    script: bool,
    /// How much is shown of tool calls in this session.
    pub(super) progress: ToolProgress,
    /// Whether the interface has a status line in this session.
    pub(super) status_bar: bool,
    /// The tool whose call was shown last.
    last_tool: String,
    begun: Instant,
    /// What selects the profile on a command line, with a blank behind it.
    profile_flag: String,
}

impl Display {
    pub(super) fn new(options: &ChatOptions, context: &Context) -> Self {
        Self {
            printer: context.printer,
            quiet: options.is_quiet(),
            single: !matches!(options.mode, InputMode::Lines { .. }),
            script: matches!(options.mode, InputMode::Oneshot(_)),
            progress: if options.verbose {
                ToolProgress::Verbose
            } else {
                tool_progress(context.config())
            },
            status_bar: true,
            last_tool: String::new(),
            begun: Instant::now(),
            profile_flag: context.profile_flag(),
        }
    }

    /// Says which session goes on.
    pub(super) fn resumed(&self, conversation: &mut Conversation) -> Result<()> {
        let Some(session) = conversation.resumed() else {
            return Ok(());
        };
        let title = session.title.as_deref();
        let title = title.map_or_else(String::new, |title| {
            format!(" \"{}\"", one_line(title, SHORT))
        });
        let id = session.id.clone();
        let (total, person) = conversation.agent().message_counts();
        self.printer.note(format!(
            "↻ Resumed session {id}{title} ({person} user messages, {total} total messages)"
        ))
    }

    pub(super) fn query(&self, query: &str) -> Result<()> {
        if !self.quiet {
            self.feed(format!("Query: {query}\n"))?;
        }
        Ok(())
    }

    /// What is shown beside answers.
    fn feed(&self, text: impl AsRef<str>) -> Result<()> {
        if self.single {
            self.printer.note(text)
        } else {
            self.printer.line(text)
        }
    }

    /// Shows what came of a turn.
    pub(super) fn answer(&self, result: &TurnResult) -> Result<()> {
        if let Some(text) = &result.final_response {
            if self.quiet || self.single {
                self.printer.line(text)?;
            } else {
                let rule = "─".repeat(RULE);
                self.printer.line(format!("{rule}\n{text}\n{rule}"))?;
            }
        }
        if !result.unwritten_files.is_empty() {
            let files = result.unwritten_files.join(", ");
            self.printer.note(format!(
                "Not changed because the last attempt failed: {files}"
            ))?;
        }
        match (&result.failure, result.outcome) {
            (Some(failure), _) => {
                let message = one_line(&failure.message, NOTICE);
                self.printer.note(format!("Error: {message}"))?;
                if let Some(hint) = failure.hint.as_ref().filter(|_| !self.script) {
                    self.printer.hint(hint)?;
                }
                if self.progress == ToolProgress::Verbose {
                    for line in &failure.history {
                        self.printer.note(line)?;
                    }
                }
            }
            (None, TurnOutcome::Interrupted) if !self.script => {
                self.printer.note("Interrupted.")?;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// The last words: which session it was, and how to go on with it.
    pub(super) fn farewell(
        &self,
        conversation: &mut Conversation,
        result: &TurnResult,
    ) -> Result<()> {
        let id = &result.session_id;
        if self.quiet {
            return self.printer.note(format!("\nsession_id: {id}"));
        }
        let (total, person) = conversation.agent().message_counts();
        let seconds = self.begun.elapsed().as_secs_f64();
        self.feed(format!(
            "\nGo on with: hermes {}--resume {id}\nSession: {id}\nDuration: {seconds:.1} s\n\
             Messages: {total} ({person} from the user)",
            self.profile_flag
        ))
    }

    fn calling(&mut self, tool: &str, arguments: &Value) {
        let is_new = self.last_tool != tool;
        tool.clone_into(&mut self.last_tool);
        let most = match self.progress {
            ToolProgress::Off => return,
            ToolProgress::New if !is_new => return,
            ToolProgress::New | ToolProgress::All => SHORT,
            ToolProgress::Verbose => usize::MAX,
        };
        let text = one_line(&arguments.to_string(), most);
        // A reader that has gone is noticed when the answer is printed.
        drop(self.feed(format!("┊ {tool} {text}")));
    }
}

impl TurnObserver for Display {
    /// What cannot be shown is left out: a reader that has gone is noticed when the answer is printed.
    fn on(&mut self, event: TurnEvent<'_>) {
        match event {
            TurnEvent::Calling {
                tool, arguments, ..
            } if !self.quiet => self.calling(tool, arguments),
            TurnEvent::Called {
                tool, result, took, ..
            } if !self.quiet && self.progress == ToolProgress::Verbose => {
                let seconds = took.as_secs_f64();
                drop(self.feed(format!("┊ {tool} ({seconds:.1} s): {result}")));
            }
            TurnEvent::Notice(text) if !self.script => {
                drop(self.printer.note(one_line(&text, NOTICE)));
            }
            TurnEvent::Stream(StreamEvent::Switched(text)) if !self.script => {
                drop(self.printer.note(one_line(&text, NOTICE)));
            }
            // Told in scripts as well: a wait without a word looks like a program that hangs.
            TurnEvent::Stream(StreamEvent::Waiting { seconds, reason }) => {
                let reason = one_line(&reason, NOTICE);
                let seconds = seconds.ceil();
                drop(
                    self.printer
                        .note(format!("Retrying in {seconds:.0} s: {reason}")),
                );
            }
            TurnEvent::Stream(StreamEvent::Restart) => {
                drop(self.printer.note("The answer broke off; asking again."));
            }
            TurnEvent::Calling { .. }
            | TurnEvent::Called { .. }
            | TurnEvent::Notice(_)
            | TurnEvent::Stored
            | TurnEvent::Stream(_) => {}
        }
    }
}

/// How much is shown of tool calls.
fn tool_progress(config: &Config) -> ToolProgress {
    match config.text("display.tool_progress") {
        "off" => ToolProgress::Off,
        "new" => ToolProgress::New,
        "verbose" => ToolProgress::Verbose,
        _ => ToolProgress::All,
    }
}
