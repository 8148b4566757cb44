//! Older spellings of settings, moved to where they are read.

use serde_json::{Map, Value};

/// Root keys that belong into `model`.
const MODEL_AT_ROOT: [&str; 3] = ["provider", "base_url", "context_length"];

/// Puts a file's tree into today's shape.
pub(super) fn normalise(tree: &mut Map<String, Value>) {
    if let Some(turns) = tree.remove("max_turns") {
        let agent = tree
            .entry("agent")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(agent) = agent {
            agent.entry("max_turns").or_insert(turns);
        }
    }
    if let Some(Value::Object(terminal)) = tree.get_mut("terminal")
        && let Some(backend) = terminal.remove("env_type")
    {
        fill(terminal, "backend", backend);
    }
    let misplaced: Vec<(&str, Value)> = MODEL_AT_ROOT
        .iter()
        .filter_map(|key| Some((*key, tree.remove(*key)?)))
        .collect();
    if let Some(Value::String(name)) = tree.get("model")
        && !name.is_empty()
    {
        let map = Map::from_iter([("default".to_owned(), Value::String(name.clone()))]);
        tree.insert("model".to_owned(), Value::Object(map));
    }
    if misplaced.is_empty() && !tree.contains_key("model") {
        return;
    }
    let model = tree
        .entry("model")
        .or_insert_with(|| Value::Object(Map::new()));
    if !misplaced.is_empty() && !model.is_object() {
        *model = Value::Object(Map::new());
    }
    if let Value::Object(model) = model {
        if let Some(address) = model.remove("api_base") {
            fill(model, "base_url", address);
        }
        for (key, value) in misplaced {
            fill(model, key, value);
        }
    }
}

fn fill(map: &mut Map<String, Value>, key: &str, value: Value) {
    let vacant = match map.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if vacant {
        map.insert(key.to_owned(), value);
    }
}

/// Where in the file a normalised path may have come from, the likeliest first.
pub(super) fn source_paths(path: &[String]) -> Vec<Vec<String>> {
    let mut paths = vec![path.to_vec()];
    let segments: Vec<&str> = path.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["terminal", "backend"] => {
            paths.push(vec!["terminal".to_owned(), "env_type".to_owned()]);
        }
        ["agent", "max_turns"] => paths.push(vec!["max_turns".to_owned()]),
        ["model", "default"] => paths.push(vec!["model".to_owned()]),
        ["model", "base_url"] => {
            paths.push(vec!["model".to_owned(), "api_base".to_owned()]);
            paths.push(vec!["base_url".to_owned()]);
        }
        ["model", key] if MODEL_AT_ROOT.contains(key) => paths.push(vec![(*key).to_owned()]),
        _ => {}
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn normalised(value: Value) -> Value {
        let Value::Object(mut map) = value else {
            panic!()
        };
        normalise(&mut map);
        Value::Object(map)
    }

    #[test]
    fn old_spellings_move() {
        assert_eq!(
            normalised(json!({"model": "m", "provider": "p", "max_turns": 5})),
            json!({"model": {"default": "m", "provider": "p"}, "agent": {"max_turns": 5}})
        );
        assert_eq!(
            normalised(json!({"model": {"provider": "q", "api_base": "u"}, "provider": "p"})),
            json!({"model": {"provider": "q", "base_url": "u"}})
        );
        assert_eq!(
            normalised(json!({"agent": {"max_turns": 1}, "max_turns": 2})),
            json!({"agent": {"max_turns": 1}})
        );
        assert_eq!(
            normalised(json!({"terminal": {"env_type": "docker"}})),
            json!({"terminal": {"backend": "docker"}})
        );
        assert_eq!(
            normalised(json!({"terminal": {"env_type": "docker", "backend": "ssh"}})),
            json!({"terminal": {"backend": "ssh"}})
        );
        assert_eq!(normalised(json!({"model": ""})), json!({"model": ""}));
        assert_eq!(normalised(json!({})), json!({}));
    }
}
