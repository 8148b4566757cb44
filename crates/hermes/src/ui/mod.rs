//! What people see: where text goes, how tables align, how questions are asked.

mod input_lines;
mod mark;
mod person;
mod printer;
mod prompt;
mod size;
mod table;
mod visible;

pub(crate) use input_lines::{Line, Lines, MAX_LINE};
pub(crate) use mark::Mark;
pub(crate) use person::{Echo, Person};
pub(crate) use printer::Printer;
pub(crate) use prompt::{ask_line, confirm};
pub(crate) use size::{human_age, human_size};
pub(crate) use table::{Table, cut, heading};
pub(crate) use visible::{one_line, visible};
