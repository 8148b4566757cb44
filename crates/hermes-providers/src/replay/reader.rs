//! Typed reading of a YAML tree, with the line number in every error.

use std::sync::Arc;

use hermes_config::yaml::{Node, NodeKind};
use serde_json::Value;

/// An error in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptProblem {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl ScriptProblem {
    pub(super) fn new(node: &Node, reason: impl Into<String>) -> Self {
        Self {
            line: node.line,
            reason: reason.into(),
        }
    }
}

/// The problem of a name that is not among those there are.
pub(super) fn unknown<'n>(
    node: &Node,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str>,
) -> ScriptProblem {
    let known: Vec<&str> = known.collect();
    let known = known.join(", ");
    ScriptProblem::new(node, format!("no such {what}: `{name}`; there are {known}"))
}

/// The entries of a mapping, all of whose keys are among `known`.
pub(super) fn fields<'n>(
    node: &'n Node,
    what: &str,
    known: &[&str],
) -> Result<ScriptFields<'n>, ScriptProblem> {
    if !node.is_map() {
        return Err(ScriptProblem::new(
            node,
            format!("{what} must be a mapping"),
        ));
    }
    for entry in node.entries() {
        if !known.contains(&entry.key.as_str()) {
            return Err(ScriptProblem {
                line: entry.line,
                reason: format!(
                    "{what} has no key `{}`; known keys: {}",
                    entry.key,
                    known.join(", ")
                ),
            });
        }
    }
    Ok(ScriptFields(node))
}

/// A mapping with checked keys.
#[derive(Clone, Copy)]
pub(super) struct ScriptFields<'n>(&'n Node);

impl<'n> ScriptFields<'n> {
    /// The value of a key, unless absent or null.
    pub(super) fn get(self, key: &str) -> Option<&'n Arc<Node>> {
        let node = self.0.child(key)?;
        let null = matches!(node.target().kind, NodeKind::Scalar(Value::Null));
        (!null).then_some(node)
    }

    pub(super) fn text(self, key: &str) -> Result<Option<String>, ScriptProblem> {
        self.get(key).map(|node| text(node, key)).transpose()
    }

    pub(super) fn number(self, key: &str) -> Result<Option<f64>, ScriptProblem> {
        self.read(key, "a number of 0 or more", |value| {
            let number = value.as_f64();
            number.filter(|number| number.is_finite() && *number >= 0.0)
        })
    }

    pub(super) fn whole(self, key: &str) -> Result<Option<u64>, ScriptProblem> {
        self.read(key, "a whole number of 0 or more", Value::as_u64)
    }

    fn read<T>(
        self,
        key: &str,
        what: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ScriptProblem> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        let read = scalar(node).and_then(read).map(Some);
        read.ok_or_else(|| ScriptProblem::new(node, format!("`{key}` must be {what}")))
    }

    /// The elements of a list; empty if the key is absent.
    pub(super) fn list(self, key: &str) -> Result<&'n [Arc<Node>], ScriptProblem> {
        let Some(node) = self.get(key) else {
            return Ok(&[]);
        };
        match &node.target().kind {
            NodeKind::List { items, .. } => Ok(items),
            _ => Err(ScriptProblem::new(node, format!("`{key}` must be a list"))),
        }
    }
}

/// A text; numbers and booleans are converted.
pub(super) fn text(node: &Node, what: &str) -> Result<String, ScriptProblem> {
    match scalar(node) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        _ => Err(ScriptProblem::new(node, format!("`{what}` must be text"))),
    }
}

fn scalar(node: &Node) -> Option<&Value> {
    match &node.target().kind {
        NodeKind::Scalar(value) => Some(value),
        _ => None,
    }
}
