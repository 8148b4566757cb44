//! The person at the terminal: asked there if there is one, shown everything on standard error.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest};
use hermes_proc::Wake;
use hermes_runtime::Person;
use hermes_secret::SecretString;
use hermes_tools::ClarifyQuestion;

use super::question::{Echo, TerminalQuestions};
use super::{Printer, approval_prompt, one_line, visible};

/// Characters of a notice that are shown.
const NOTICE: usize = 1_000;

/// What the person at the terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing: a program is at the other end.
    Nothing,
    /// For approval of commands, and for passwords.
    Approval,
    /// That, and the agent's own questions.
    Everything,
}

/// The person at the terminal.
#[derive(Debug)]
pub(crate) struct TerminalPerson {
    printer: Printer,
    questions: Option<TerminalQuestions>,
    asked: Asked,
}

impl TerminalPerson {
    /// Questions are withdrawn when `interrupt` is raised.
    pub(crate) fn new(printer: Printer, interrupt: &Arc<Wake>, asked: Asked) -> Arc<Self> {
        let questions = match asked {
            Asked::Nothing => None,
            Asked::Approval | Asked::Everything => TerminalQuestions::new(printer, interrupt),
        };
        Arc::new(Self {
            printer,
            questions,
            asked,
        })
    }

    /// A person who is shown things and asked nothing.
    pub(crate) fn shown_only(printer: Printer) -> Arc<dyn Person> {
        Arc::new(Self {
            printer,
            questions: None,
            asked: Asked::Nothing,
        })
    }

    fn ask(&self, question: &str, timeout: Duration, echo: Echo) -> Option<SecretString> {
        self.questions.as_ref()?.ask(question, timeout, echo)
    }
}

// A failure to write these lines is ignored: with standard error closed nobody wants to read them.
impl Person for TerminalPerson {
    fn approves_commands(&self) -> bool {
        self.questions.is_some()
    }

    fn answers_questions(&self) -> bool {
        self.questions.is_some() && self.asked == Asked::Everything
    }

    fn approve(&self, request: &ApprovalRequest) -> Answer {
        let answer = self.ask(&approval_prompt::prompt(request), request.timeout, Echo::On);
        let answer = answer.map(|answer| answer.expose().trim().to_lowercase());
        approval_prompt::meaning(answer.as_deref(), request)
    }

    fn sudo_password(&self, timeout: Duration) -> Option<SecretString> {
        let question = format!(
            "\nThe command uses sudo. Password (hidden, times out after {} s, Enter to continue \
             without): ",
            timeout.as_secs()
        );
        self.ask(&question, timeout, Echo::Off)
    }

    fn secret(&self, question: &str, timeout: Duration) -> Option<SecretString> {
        let question = format!(
            "\n{}\nValue (not shown, Enter to go on without): ",
            visible(question)
        );
        let value = self.ask(&question, timeout, Echo::Off)?;
        (!value.expose().trim().is_empty()).then_some(value)
    }

    fn answer(&self, question: &ClarifyQuestion, timeout: Duration) -> Option<String> {
        let mut text = format!("\n{}\n", visible(&question.text));
        for (index, choice) in question.choices.iter().enumerate() {
            text.push_str(&format!("  {}. {}\n", index + 1, visible(choice)));
        }
        text.push_str("? ");
        let answer = self.ask(&text, timeout, Echo::On)?;
        let answer = answer.expose().trim();
        let chosen = answer
            .parse::<usize>()
            .ok()
            .and_then(|number| question.choices.get(number.checked_sub(1)?));
        Some(chosen.map_or_else(|| answer.to_owned(), Clone::clone))
    }

    fn warn(&self, message: &str, hint: Option<&str>) {
        drop(self.printer.warn(visible(message)));
        drop(hint.map(|hint| self.printer.hint(hint)));
    }

    fn notify(&self, message: &str) {
        drop(self.printer.note(one_line(message, NOTICE)));
    }

    fn progress(&self, line: &str) {
        if std::io::stderr().is_terminal() {
            drop(self.printer.note(line));
        }
    }
}
