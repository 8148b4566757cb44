//! What is shown of a turn besides the answer: tool calls, todo lists, questions.

mod question;
mod todo;
mod tool;

pub(crate) use question::{Handled, QuestionView};
pub(crate) use todo::todo_rows;
pub(crate) use tool::{CallEnd, ToolCell, duration};
