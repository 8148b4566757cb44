//! Secrets written out in a settings file, where only a `${NAME}` should stand.

use serde_json::Value;

use crate::yaml::{self, Document, EditError, Node, NodeKind};

/// Leaf keys whose value is a secret.
const SECRET_LEAVES: [&str; 4] = ["api_key", "token", "secret", "password"];

/// Dotted paths of literal secrets in a settings file.
pub fn literal_secrets(document: &Document) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(document.root(), &mut Vec::new(), &mut found);
    found
}

/// The text with every literal secret replaced by `""`, and the dotted keys that were.
pub fn blank_secrets(text: &str) -> Result<(String, Vec<String>), EditError> {
    let document = Document::parse(text)?;
    let mut blanked = text.to_owned();
    let paths = literal_secrets(&document);
    for path in &paths {
        blanked = yaml::set(&blanked, path, &Value::String(String::new()))?;
    }
    Ok((blanked, paths.iter().map(|path| path.join(".")).collect()))
}

fn collect(node: &Node, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match &node.kind {
        NodeKind::Map { entries, .. } => {
            for entry in entries {
                path.push(entry.key.clone());
                if SECRET_LEAVES.contains(&entry.key.as_str()) && is_literal(&entry.value) {
                    found.push(path.clone());
                }
                collect(&entry.value, path, found);
                path.pop();
            }
        }
        NodeKind::List { items, .. } => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                collect(item, path, found);
                path.pop();
            }
        }
        NodeKind::Scalar(_) | NodeKind::Alias(_) => {}
    }
}

fn is_literal(node: &Node) -> bool {
    match &node.target().kind {
        NodeKind::Scalar(Value::String(text)) => {
            let text = text.trim();
            let reference = text.starts_with("${") && text.ends_with('}');
            !text.is_empty() && !reference
        }
        // An unquoted key of digits is a number to YAML and a secret all the same.
        NodeKind::Scalar(Value::Number(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn literals_go_and_references_stay() {
        let text = "\
model: {default: x, api_key: sk-1}  # mine
custom_providers:
- name: a
  api_key: ${A_KEY}
- name: b
  api_key: 12345
platforms:
  telegram:
    token: 'abc'
    password: \"\"
";
        let (blanked, keys) = blank_secrets(text).unwrap();
        assert_eq!(
            blanked,
            text.replace("sk-1", "''")
                .replace("12345", "''")
                .replace("'abc'", "''")
        );
        assert_eq!(
            keys,
            [
                "model.api_key",
                "custom_providers.1.api_key",
                "platforms.telegram.token"
            ]
        );
    }
}
