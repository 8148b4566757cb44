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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn explicit_tags_decide_whatever_the_style() {
        let text = "a: !!int \"42\"\nb: !!bool 'Yes'\nc: !!null x\nd: !!float 3\ne: !!str 42\n\
                    f: !!int 0x1F\ng: !!float '1:30.5'\nh: !!null\n";
        assert_eq!(
            *Document::parse(text).unwrap().value(),
            json!({"a": 42, "b": true, "c": null, "d": 3.0, "e": "42", "f": 31, "g": 90.5,
                "h": null})
        );
        for (bad, message) in [
            (
                "a: !!int many",
                "line 1, column 10: 'many' is not a valid !!int",
            ),
            (
                "a: !!bool 1",
                "line 1, column 11: '1' is not a valid !!bool",
            ),
        ] {
            assert_eq!(Document::parse(bad).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn an_alias_can_be_a_key() {
        let text = "names: [&a terminal, &n 7]\n*a : {timeout: 60}\n*n : seven\n";
        assert_eq!(
            *Document::parse(text).unwrap().value(),
            json!({"names": ["terminal", 7], "terminal": {"timeout": 60}, "7": "seven"})
        );
        let error = Document::parse("l: &l [1]\n*l : x\n").unwrap_err();
        assert_eq!(error.message, "a list or map cannot be a key here");
    }
}
