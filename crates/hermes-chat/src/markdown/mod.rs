//! Markdown as it arrives: blocks are shown as soon as nothing that follows can change them.

mod highlight;
mod inline;
mod stream;
mod table;

pub(crate) use highlight::Highlighter;
pub(crate) use stream::MarkdownStream;
