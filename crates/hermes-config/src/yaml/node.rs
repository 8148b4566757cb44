//! Values with their position in the text.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    pub kind: NodeKind,
    /// Line of its first byte, from 1.
    pub line: usize,
    /// Column of its first byte, from 1.
    pub column: usize,
    /// Its bytes in the text, anchors and tags included. Empty for an absent value.
    pub(super) span: Range<usize>,
}

/// The shape of a value.
#[derive(Debug, Clone)]
pub enum NodeKind {
    Scalar(Value),
    List {
        items: Vec<Arc<Node>>,
        /// Written as `[…]`.
        flow: bool,
    },
    /// A mapping, in the order of the file.
    Map {
        /// Its entries, duplicates included.
        entries: Vec<Entry>,
        /// Written as `{…}`.
        flow: bool,
    },
    /// `*name`, standing for a value elsewhere.
    Alias(Arc<Node>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key as text; numbers and booleans as written.
    pub key: String,
    pub(super) key_span: Range<usize>,
    /// Column of the key, from 0: the indentation of its siblings.
    pub(super) key_column: usize,
    /// Line of the key, from 1.
    pub line: usize,
    pub value: Arc<Node>,
}

impl Node {
    /// The node behind an alias, or the node itself.
    pub fn target(&self) -> &Self {
        match &self.kind {
            NodeKind::Alias(target) => target.target(),
            _ => self,
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.target().kind {
            NodeKind::Map { entries, .. } => entries,
            _ => &[],
        }
    }

    /// Whether this is a mapping, or an alias of one.
    pub fn is_map(&self) -> bool {
        matches!(self.target().kind, NodeKind::Map { .. })
    }

    /// The own entry of that key; of duplicates the last, as PyYAML has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().rev().find(|entry| entry.key == key)
    }

    /// The value of a key, or of a list index, own or merged in by `<<`.
    pub fn child(&self, segment: &str) -> Option<&Arc<Self>> {
        match &self.target().kind {
            NodeKind::Map { entries, .. } => match self.entry(segment) {
                Some(entry) => Some(&entry.value),
                None => merged_sources(entries)
                    .into_iter()
                    .find_map(|node| node.child(segment)),
            },
            NodeKind::List { items, .. } => items.get(segment.parse::<usize>().ok()?),
            NodeKind::Scalar(_) | NodeKind::Alias(_) => None,
        }
    }

    /// Plain data, or `None` when the budget of nodes is used up.
    pub(super) fn resolve(&self, budget: &mut usize) -> Option<Value> {
        *budget = budget.checked_sub(1)?;
        match &self.kind {
            NodeKind::Scalar(value) => Some(value.clone()),
            NodeKind::Alias(target) => target.resolve(budget),
            NodeKind::List { items, .. } => items
                .iter()
                .map(|item| item.resolve(budget))
                .collect::<Option<_>>()
                .map(Value::Array),
            NodeKind::Map { entries, .. } => {
                let mut map = Map::new();
                for source in merged_sources(entries) {
                    if let Value::Object(merged) = source.resolve(budget)? {
                        for (key, value) in merged {
                            map.entry(key).or_insert(value);
                        }
                    }
                }
                for entry in entries.iter().filter(|entry| entry.key != "<<") {
                    map.insert(entry.key.clone(), entry.value.resolve(budget)?);
                }
                Some(Value::Object(map))
            }
        }
    }
}

/// The mappings that `<<` brings in, the first winning over the later.
fn merged_sources(entries: &[Entry]) -> Vec<&Arc<Node>> {
    let mut sources = Vec::new();
    for entry in entries.iter().filter(|entry| entry.key == "<<") {
        match &entry.value.target().kind {
            NodeKind::List { items, .. } => sources.extend(items),
            _ => sources.push(&entry.value),
        }
    }
    sources
}
