//! A parsed document.

use std::sync::Arc;

use serde_json::Value;

use super::node::Node;
use super::parse::{YamlError, build};

/// Nodes a document may have once its aliases are followed. A settings file has hundreds; an alias
/// bomb has billions.
const MAX_EXPANDED_NODES: usize = 200_000;

/// A YAML file in memory.
#[derive(Debug, Clone)]
pub struct Document {
    text: Arc<str>,
    root: Arc<Node>,
    value: Value,
}

impl Document {
    /// Parses a text that holds at most one document.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        let root = build(text)?;
        let mut budget = MAX_EXPANDED_NODES;
        let value = root.resolve(&mut budget).ok_or(YamlError {
            line: root.line,
            column: root.column,
            message: format!("aliases expand to more than {MAX_EXPANDED_NODES} values"),
        })?;
        Ok(Self {
            text: text.into(),
            root,
            value,
        })
    }

    /// The source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The outermost value; null for an empty document.
    pub fn root(&self) -> &Arc<Node> {
        &self.root
    }

    /// The whole document as plain data, aliases and merges followed.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The node at a path of keys and list indices.
    pub fn find<S: AsRef<str>>(&self, path: &[S]) -> Option<&Arc<Node>> {
        let mut node = &self.root;
        for segment in path {
            node = node.child(segment.as_ref())?;
        }
        Some(node)
    }
}
