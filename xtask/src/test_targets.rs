//! The test binaries of the workspace, by the names that `cargo nextest` gives them. `scripts/test`
//! runs the tests by this list where nextest is missing.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::workspace::{array, metadata, text};

/// One name per line.
pub(crate) fn list() -> Result<String> {
    Ok(names(&metadata(&["--no-deps"])?)?.join("\n"))
}

fn names(metadata: &Value) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for package in array(metadata, "packages")? {
        for target in array(package, "targets")? {
            if target["test"] == true {
                names.push(name(package, target)?);
            }
        }
    }
    names.sort();
    Ok(names)
}

fn name(package: &Value, target: &Value) -> Result<String> {
    let (package, name) = (text(package, "name")?, text(target, "name")?);
    let kinds = array(target, "kind")?;
    Ok(match kinds.first().and_then(Value::as_str) {
        Some("lib" | "proc-macro") => package.to_owned(),
        Some("test") => format!("{package}::{name}"),
        Some(kind @ ("bin" | "example" | "bench")) => format!("{package}::{kind}/{name}"),
        _ => bail!("{package}: the target {name} is of a kind without tests: {kinds:?}"),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_target_with_tests_is_named_and_no_other() {
        let target = |kind: &str, name: &str, test: bool| json!({"kind": [kind], "name": name, "test": test});
        let metadata = json!({"packages": [
            {"name": "b", "targets": [
                target("bin", "tool", true),
                target("test", "it", true),
                target("custom-build", "build-script-build", false),
            ]},
            {"name": "a-lib", "targets": [
                target("lib", "a_lib", true),
                target("test", "it", true),
                target("example", "helper", false),
                target("example", "tested", true),
            ]},
        ]});
        assert_eq!(
            names(&metadata).unwrap(),
            [
                "a-lib",
                "a-lib::example/tested",
                "a-lib::it",
                "b::bin/tool",
                "b::it"
            ]
        );
    }

    #[test]
    fn a_kind_without_a_name_here_is_an_error() {
        let metadata = json!({"packages": [
            {"name": "a", "targets": [{"kind": ["new"], "name": "n", "test": true}]},
        ]});
        let error = names(&metadata).unwrap_err().to_string();
        assert!(error.contains("a: the target n"), "{error}");
    }
}
