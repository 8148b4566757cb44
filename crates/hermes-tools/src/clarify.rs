//! `clarify`: a question to the user of a conversation.
//!
//! Without a user to ask, the tool answers at once: decide yourself.

use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, texts};
use crate::result::error;
use crate::tool::{CallContext, ClarifyQuestion, Tool, ToolSpec};

/// Most answers to choose from; the user can always write another.
const MAX_CHOICES: usize = 4;

const SPEC: ToolSpec = ToolSpec {
    name: "clarify",
    toolset: "clarify",
    description: "Asks the user a question and waits for the answer: when the task can be read in several \
     ways with different results, or a decision is theirs. Give up to four choices, or none \
     for an open question. Do not ask whether a command may run, nor what you can find out or \
     decide yourself.",
    arguments: &[
        Argument::required("question", ArgKind::Text, "What to ask."),
        Argument::texts(
            "choices",
            "Up to four answers to choose from; the user can always write another.",
        ),
    ],
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClarifyTool;

impl Tool for ClarifyTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let text = args["question"].as_str().unwrap_or_default().trim();
        if text.is_empty() {
            return error("The question is empty.");
        }
        let mut choices = texts(args, "choices");
        choices.truncate(MAX_CHOICES);
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
            Some(answerer) => answerer.answer(&question),
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
