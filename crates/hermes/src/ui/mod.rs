//! What people see: where text goes, how tables align, how questions are asked.

mod approval_prompt;
mod input_lines;
mod mark;
mod person;
mod pick_list;
mod picker;
mod piped_text;
mod printer;
mod prompt;
mod question;
mod size;
mod table;
mod terminal_guard;
mod terminal_kind;

pub(crate) use hermes_text::{one_line, visible};
pub(crate) use input_lines::{Line, Lines, MAX_LINE};
pub(crate) use mark::Mark;
pub(crate) use person::{Asked, TerminalPerson};
pub(crate) use pick_list::Choice;
pub(crate) use picker::{Picked, can_ask, pick};
pub(crate) use piped_text::piped_text;
pub(crate) use printer::{Printer, Style};
pub(crate) use prompt::{ask_line, confirm, must_confirm};
pub(crate) use question::{Echo, TerminalQuestions};
pub(crate) use size::{counted, human_size};
pub(crate) use table::{Page, Table, cut, heading};
pub(crate) use terminal_guard::{end_signals_are_watched, guard_terminal};
pub(crate) use terminal_kind::{is_full_terminal, is_utf8};
