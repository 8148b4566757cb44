//! YAML with positions: reading for settings, and edits that leave every other byte alone.
//!
//! Parsing is `granit-parser`'s. This module keeps where each value stands, resolves plain scalars
//! as PyYAML does (`on` is a boolean, `010` is eight), since both programs share the files, and
//! changes text by splicing only the bytes of the value in question.

mod document;
mod edit;
mod node;
mod parse;
mod render;
mod scalar;

pub use document::Document;
pub use edit::{EditError, append, remove, set, set_in_value};
pub(crate) use edit::{put, value_at};
pub use node::{Entry, Node, NodeKind};
pub use parse::{YamlError, check_syntax};
pub use render::{to_block_text, to_flow_text};
pub use scalar::resolve_plain;
