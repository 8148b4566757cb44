//! The line at the bottom where a person types: text, attachments, history, completions.

mod files;
mod fuzzy;
mod history;
mod popup;
mod text;

pub(crate) use fuzzy::matching;
pub(crate) use history::{History, Newer, has_words, words};
pub(crate) use popup::{FileList, Popup, PopupKind};
pub(crate) use text::{Composer, Submission};
