//! The reference's own default settings: all of them are known here and have the same default.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::{V0_19_0, Version};
use crate::world::World;

with_each_reference!(the_whole_default_file_is_flawless);

const DUMP: &str = "\
import json
from hermes_cli.config import DEFAULT_CONFIG
print(json.dumps(DEFAULT_CONFIG))
";

fn reference_defaults(world: &World) -> Value {
    serde_json::from_str(&world.python(DUMP, &[])).unwrap()
}

fn the_whole_default_file_is_flawless(version: Version) {
    let world = World::empty(version);
    let defaults = reference_defaults(&world);
    let home = world.root("");
    fs::create_dir_all(&home).unwrap();
    // JSON is YAML.
    fs::write(home.join("config.yaml"), defaults.to_string()).unwrap();
    let check: Value = serde_json::from_str(&world.ours(&["config", "check", "--json"])).unwrap();
    assert_eq!(check["problems"], json!([]));
    assert_eq!(check["unknown_keys"], 0);
}

#[test]
fn every_default_of_the_reference_is_in_effect_here() {
    let world = World::empty(V0_19_0);
    let theirs = reference_defaults(&world);
    let ours: Value = serde_json::from_str(&world.ours(&["config", "show", "--json"])).unwrap();
    let mut differences = Vec::new();
    compare(&theirs, &ours, "", &mut differences);
    assert_eq!(differences, ["_config_version: 33 there, nothing here"]);
}

/// Compares what is in the first tree, mapping by mapping.
fn compare(theirs: &Value, ours: &Value, path: &str, differences: &mut Vec<String>) {
    if let (Value::Object(theirs), Value::Object(ours)) = (theirs, ours) {
        for (key, value) in theirs {
            let below = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            match ours.get(key) {
                Some(own) => compare(value, own, &below, differences),
                None => differences.push(format!("{below}: {value} there, nothing here")),
            }
        }
    } else if theirs != ours && theirs.as_f64().is_none_or(|n| Some(n) != ours.as_f64()) {
        differences.push(format!("{path}: {theirs} there, {ours} here"));
    }
}
