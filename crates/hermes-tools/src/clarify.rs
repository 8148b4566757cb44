//! `clarify`: a question to the user of a conversation.
//!
//! Without a user to ask, the tool answers at once: decide yourself.

use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument};
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Most answers to choose from; the user can always write another.
const MAX_CHOICES: usize = 4;

/// A question with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClarifyQuestion {
    /// What is asked.
    pub text: String,
    /// Answers to choose from; none for an open question.
    pub choices: Vec<String>,
}

/// Asks the user.
pub trait Answerer: Send + Sync {
    /// Their answer; `None` if none came in time. Ends early when `context.interrupt` is raised.
    fn answer(&self, question: &ClarifyQuestion, context: &CallContext) -> Option<String>;
}

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClarifyTool;

impl Tool for ClarifyTool {
    fn name(&self) -> &'static str {
        "clarify"
    }

    fn toolset(&self) -> &'static str {
        "clarify"
    }

    fn description(&self) -> &'static str {
        "Asks the user a question and waits for the answer: when the task can be read in several \
         ways with different results, or a decision is theirs. Give up to four choices, or none \
         for an open question. Do not ask whether a command may run, nor what you can find out or \
         decide yourself."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::required("question", ArgKind::Text, "What to ask."),
            Argument::optional(
                "choices",
                ArgKind::Texts,
                "Up to four answers to choose from; the user can always write another.",
            ),
        ];
        ARGUMENTS
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let text = args["question"].as_str().unwrap_or_default().trim();
        if text.is_empty() {
            return error("The question is empty.");
        }
        let choices = args["choices"].as_array().map(Vec::as_slice);
        let choices: Vec<String> = choices
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(|choice| choice.trim().to_owned())
            .filter(|choice| !choice.is_empty())
            .take(MAX_CHOICES)
            .collect();
        let question = ClarifyQuestion {
            text: text.to_owned(),
            choices,
        };
        let answer = match &context.conversation.answerer {
            None => Some(
                "[No user can be asked in this run. Decide yourself: choose the most reasonable \
                 interpretation, say what you assumed, and continue.]"
                    .to_owned(),
            ),
            Some(answerer) => answerer.answer(&question, context),
        };
        let answer = answer.unwrap_or_else(|| {
            "[The user did not answer. Decide yourself: choose the most reasonable interpretation, \
             say what you assumed, and continue.]"
                .to_owned()
        });
        let offered = (!question.choices.is_empty()).then_some(question.choices);
        json!({"question": question.text, "choices_offered": offered, "user_response": answer})
    }
}
