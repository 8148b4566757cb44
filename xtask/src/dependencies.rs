//! Dependencies: each one is used, has one version, a permitted licence, and comes from crates.io.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::sources::{SourceFile, code_lines, has_word, rust_files};
use crate::workspace;

/// Licences whose terms we can meet.
const LICENCES: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Duplicates count where the program is built; crates for other systems are never compiled.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates that may be there in several versions, with the reason.
const ALLOWED_TWICE: &[(&str, &str)] = &[
    (
        "base64",
        "postgres-protocol stays with 0.22, everything else has moved on",
    ),
    (
        "bitflags",
        "defmt, an optional part that is never built, stays with 1",
    ),
    (
        "darling",
        "derive_builder, a part of croner, stays with 0.20; only the build needs it",
    ),
    ("darling_core", "as darling"),
    ("darling_macro", "as darling"),
    (
        "fallible-iterator",
        "postgres-protocol stays with 0.2, rusqlite has moved on",
    ),
    (
        "getrandom",
        "ring stays with 0.2, everything else has moved on",
    ),
    (
        "miniz_oxide",
        "png, a part of image, stays with 0.8; flate2 has moved on",
    ),
    ("strum", "croner stays with 0.27; ratatui has moved on"),
    ("strum_macros", "as strum"),
    (
        "syn",
        "enumflags2, a part of landlock, stays with 2; only the build needs it",
    ),
];

/// Dependencies that are needed without being named in code, with the reason.
const ALLOWED_UNNAMED: &[(&str, &str)] = &[];

/// Everything that is wrong with the dependencies of the workspace.
pub(crate) fn findings() -> Result<Vec<String>> {
    let metadata = workspace::metadata(&["--locked", "--offline", "--filter-platform", PLATFORM])?;
    let members: BTreeSet<&str> = array(&metadata, "workspace_members")
        .filter_map(Value::as_str)
        .collect();
    let (own, foreign): (Vec<&Value>, Vec<&Value>) =
        array(&metadata, "packages").partition(|package| {
            package["id"]
                .as_str()
                .is_some_and(|id| members.contains(id))
        });
    let files = rust_files(&workspace::root())?;
    let manifest = workspace::read(&workspace::root().join("Cargo.toml"))?;
    let mut found = Vec::new();
    for package in &own {
        found.extend(unnamed(package, &files)?);
    }
    found.extend(unclaimed(&manifest, &own));
    found.extend(duplicates(&foreign, &needed(&metadata, &own)));
    for package in foreign {
        found.extend(wrong_licence(package));
        let source = text(package, "source");
        if source != REGISTRY {
            found.push(format!("{} comes from {source}", text(package, "name")));
        }
    }
    Ok(found)
}

/// Dependencies of a package that none of its files names.
fn unnamed(package: &Value, files: &[SourceFile]) -> Result<Vec<String>> {
    let name = text(package, "name");
    let manifest = text(package, "manifest_path");
    let root = format!("{}/", workspace::root().display());
    let directory = manifest
        .strip_prefix(&root)
        .and_then(|path| path.strip_suffix("Cargo.toml"))
        .with_context(|| format!("{manifest} is not in the workspace"))?;
    let named = |word: &str, for_tests: bool| {
        let own = files.iter().filter(|file| {
            let inside = file.path.strip_prefix(directory);
            inside.is_some_and(|path| for_tests || path.starts_with("src/") || path == "build.rs")
        });
        let mut lines = own.flat_map(|file| code_lines(&file.text));
        lines.any(|(_, line)| has_word(&line, word))
    };
    let dependencies = array(package, "dependencies").filter(|dependency| {
        let dependency_name = text(dependency, "name");
        let code_name = dependency["rename"].as_str().unwrap_or(dependency_name);
        let for_tests = dependency["kind"] == "dev";
        !ALLOWED_UNNAMED
            .iter()
            .any(|(allowed, _)| *allowed == dependency_name)
            && !named(&code_name.replace('-', "_"), for_tests)
    });
    Ok(dependencies
        .map(|dependency| {
            format!(
                "{name} does not use its dependency {}",
                text(dependency, "name")
            )
        })
        .collect())
}

/// Entries of `[workspace.dependencies]` that no package takes up.
fn unclaimed(manifest: &str, own: &[&Value]) -> Vec<String> {
    let claimed: BTreeSet<&str> = own
        .iter()
        .flat_map(|package| array(package, "dependencies"))
        .map(|dependency| text(dependency, "name"))
        .collect();
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()))
        .filter(|name| !name.starts_with('#') && !claimed.contains(name))
        .map(|name| format!("no package uses {name} of [workspace.dependencies]"))
        .collect()
}

/// Ids of packages that are built on this platform for the workspace.
fn needed<'m>(metadata: &'m Value, own: &[&'m Value]) -> BTreeSet<&'m str> {
    let edges: BTreeMap<&str, &Value> = array(&metadata["resolve"], "nodes")
        .map(|node| (text(node, "id"), node))
        .collect();
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> = own.iter().map(|package| text(package, "id")).collect();
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            let node = edges.get(id).copied().unwrap_or(&Value::Null);
            waiting.extend(array(node, "deps").map(|dependency| text(dependency, "pkg")));
        }
    }
    found
}

fn duplicates(foreign: &[&Value], needed: &BTreeSet<&str>) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in foreign {
        if needed.contains(text(package, "id")) {
            versions
                .entry(text(package, "name"))
                .or_default()
                .push(text(package, "version"));
        }
    }
    let several = |name: &str| versions.get(name).is_some_and(|found| found.len() > 1);
    let idle = ALLOWED_TWICE.iter().filter(|(name, _)| !several(name));
    let idle =
        idle.map(|(name, _)| format!("{name} has one version; remove it from ALLOWED_TWICE"));
    let twice = versions.iter().filter(|(name, found)| {
        found.len() > 1 && !ALLOWED_TWICE.iter().any(|(allowed, _)| allowed == *name)
    });
    twice
        .map(|(name, found)| {
            format!(
                "{name} is there in {} versions: {}",
                found.len(),
                found.join(", ")
            )
        })
        .chain(idle)
        .collect()
}

fn wrong_licence(package: &Value) -> Option<String> {
    let licence = package["license"].as_str().unwrap_or("no licence");
    (!is_permitted(licence)).then(|| {
        format!(
            "{} has a licence that is not on the list: {licence}",
            text(package, "name")
        )
    })
}

/// Whether one way of reading the expression needs permitted licences only.
fn is_permitted(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    // What stands in parentheses is judged by itself and then counts as one licence.
    if let Some((before, inside)) = expression.split_once('(') {
        let (inside, after) = inside.split_once(')').unwrap_or((inside, ""));
        let verdict = if is_permitted(inside) { "MIT" } else { "none" };
        return is_permitted(&format!("{before}{verdict}{after}"));
    }
    let mut alternatives = expression.split(" OR ");
    alternatives.any(|all| {
        all.split(" AND ")
            .all(|licence| LICENCES.contains(&licence.trim()))
    })
}

fn array<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value[key].as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_licence_needs_one_permitted_reading() {
        for fine in [
            "MIT",
            "MIT OR GPL-3.0",
            "Apache-2.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(is_permitted(fine), "{fine}");
        }
        for wrong in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "no licence",
            "(GPL-3.0 OR AGPL-3.0) AND MIT",
        ] {
            assert!(!is_permitted(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_unnamed_dependency_is_found_and_tests_count_for_dev_dependencies_only() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("crates/a/src/lib.rs", "use used_one::X; // idle"),
            file("crates/a/tests/it.rs", "use for_tests::Y; use idle::Z;"),
        ];
        let package = json!({
            "name": "a",
            "manifest_path": workspace::root().join("crates/a/Cargo.toml"),
            "dependencies": [
                {"name": "used-one", "kind": null},
                {"name": "idle", "kind": null},
                {"name": "for-tests", "kind": "dev"},
            ],
        });
        let found = unnamed(&package, &files).unwrap();
        assert_eq!(found, ["a does not use its dependency idle"]);
    }

    #[test]
    fn two_versions_of_a_crate_are_found() {
        let package = |id: &str, name: &str, version: &str| json!({"id": id, "name": name, "version": version});
        let packages = [
            package("1", "x", "1.0"),
            package("2", "x", "2.0"),
            package("3", "y", "1.0"),
        ];
        let packages: Vec<&Value> = packages.iter().collect();
        let found = duplicates(&packages, &BTreeSet::from(["1", "2", "3"]));
        assert_eq!(found[0], "x is there in 2 versions: 1.0, 2.0");
        let idle = |line: &String| line.contains("remove it from ALLOWED_TWICE");
        assert_eq!(
            found.iter().filter(|line| idle(line)).count(),
            ALLOWED_TWICE.len()
        );
        let found = duplicates(&packages, &BTreeSet::from(["1", "3"]));
        assert!(found.iter().all(idle), "{found:?}");
    }

    #[test]
    fn an_entry_of_the_workspace_that_nobody_uses_is_found() {
        let manifest = "[workspace.dependencies]\nused = \"1\"\n# a note = x\nidle = \"1\"\n\n[profile.dev]\nx = 1\n";
        let package = json!({"dependencies": [{"name": "used"}]});
        assert_eq!(
            unclaimed(manifest, &[&package]),
            ["no package uses idle of [workspace.dependencies]"]
        );
    }
}
