//! Typed reading of a YAML tree with the line in every complaint.

use std::sync::Arc;

use hermes_config::yaml::{Node, NodeKind};
use serde_json::Value;

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl Complaint {
    pub(super) fn new(node: &Node, reason: impl Into<String>) -> Self {
        Self {
            line: node.line,
            reason: reason.into(),
        }
    }
}

/// The entries of a mapping, all of whose keys are among `known`.
pub(super) fn fields<'n>(
    node: &'n Node,
    what: &str,
    known: &[&str],
) -> Result<Fields<'n>, Complaint> {
    if !node.is_map() {
        return Err(Complaint::new(node, format!("{what} must be a mapping")));
    }
    for entry in node.entries() {
        if !known.contains(&entry.key.as_str()) {
            return Err(Complaint {
                line: entry.line,
                reason: format!(
                    "{what} has no key `{}`; it may have {}",
                    entry.key,
                    known.join(", ")
                ),
            });
        }
    }
    Ok(Fields(node))
}

/// A mapping whose keys were checked.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n>(&'n Node);

impl<'n> Fields<'n> {
    /// The value of a key, unless absent or null.
    pub(super) fn get(self, key: &str) -> Option<&'n Arc<Node>> {
        let node = self.0.child(key)?;
        let null = matches!(node.target().kind, NodeKind::Scalar(Value::Null));
        (!null).then_some(node)
    }

    pub(super) fn text(self, key: &str) -> Result<Option<String>, Complaint> {
        self.get(key).map(|node| text(node, key)).transpose()
    }

    pub(super) fn number(self, key: &str) -> Result<Option<f64>, Complaint> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        let number = scalar(node).and_then(Value::as_f64);
        match number.filter(|number| number.is_finite() && *number >= 0.0) {
            Some(number) => Ok(Some(number)),
            None => Err(Complaint::new(
                node,
                format!("`{key}` must be a number of 0 or more"),
            )),
        }
    }

    pub(super) fn whole(self, key: &str) -> Result<Option<u64>, Complaint> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        match scalar(node).and_then(Value::as_u64) {
            Some(number) => Ok(Some(number)),
            None => Err(Complaint::new(
                node,
                format!("`{key}` must be a whole number of 0 or more"),
            )),
        }
    }

    /// The elements of a list; none if the key is absent.
    pub(super) fn list(self, key: &str) -> Result<&'n [Arc<Node>], Complaint> {
        let Some(node) = self.get(key) else {
            return Ok(&[]);
        };
        match &node.target().kind {
            NodeKind::List { items, .. } => Ok(items),
            _ => Err(Complaint::new(node, format!("`{key}` must be a list"))),
        }
    }
}

/// A text, or a number or boolean as it would be written.
pub(super) fn text(node: &Node, what: &str) -> Result<String, Complaint> {
    match scalar(node) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        _ => Err(Complaint::new(node, format!("`{what}` must be text"))),
    }
}

fn scalar(node: &Node) -> Option<&Value> {
    match &node.target().kind {
        NodeKind::Scalar(value) => Some(value),
        _ => None,
    }
}
