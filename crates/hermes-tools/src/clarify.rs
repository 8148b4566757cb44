//! `clarify`: a question to the person behind a conversation.
//!
//! Where nobody can answer, the answer comes at once: decide yourself. A call never waits for
//! somebody who is not there.

use serde_json::{Value, json};

use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Most answers to choose from; the person can always write another.
const MOST_CHOICES: usize = 4;

/// A question with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Answers to choose from; none for an open question.
    pub choices: Vec<String>,
}

/// Somebody who answers.
pub trait Answerer: Send + Sync {
    /// Their answer; `None` if none came in time. Ends early when `context.interrupt` is raised.
    fn answer(&self, question: &Question, context: &CallContext) -> Option<String>;
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
            Argument::required("question", Kind::Text, "What to ask."),
            Argument::optional(
                "choices",
                Kind::Texts,
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
            .take(MOST_CHOICES)
            .collect();
        let question = Question {
            text: text.to_owned(),
            choices,
        };
        let answer = match &context.conversation.answerer {
            None => Some(
                "[Nobody can be asked in this run. Decide yourself: take the most reasonable \
                 reading, say what you assumed, and go on.]"
                    .to_owned(),
            ),
            Some(answerer) => answerer.answer(&question, context),
        };
        let answer = answer.unwrap_or_else(|| {
            "[The user did not answer. Decide yourself: take the most reasonable reading, say what \
             you assumed, and go on.]"
                .to_owned()
        });
        let offered = (!question.choices.is_empty()).then_some(question.choices);
        json!({"question": question.text, "choices_offered": offered, "user_response": answer})
    }
}
