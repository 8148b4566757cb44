//! The workspace as its manifests describe it. Asks `cargo metadata`, which parses them for us and
//! needs no network for this; resolves nothing and builds nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::layers::{Crate, Dependency, DependencyKind, Layer};

/// Directory of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Every crate of the workspace.
pub(crate) fn crates() -> Result<Vec<Crate>> {
    from_metadata(&metadata(&["--no-deps"])?)
}

/// The file that a library or program begins with.
pub(crate) struct RootFile {
    /// Name of the package.
    pub(crate) package: String,
    /// Whether other crates can use it.
    pub(crate) library: bool,
    pub(crate) path: PathBuf,
}

/// The root file of every library and program.
pub(crate) fn root_files() -> Result<Vec<RootFile>> {
    let mut roots = Vec::new();
    for package in array(&metadata(&["--no-deps"])?, "packages")? {
        for target in array(package, "targets")? {
            let kinds = array(target, "kind")?;
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin") {
                roots.push(RootFile {
                    package: text(package, "name")?.to_owned(),
                    library: kinds.iter().any(|kind| kind == "lib"),
                    path: PathBuf::from(text(target, "src_path")?),
                });
            }
        }
    }
    Ok(roots)
}

/// The text of a file of the workspace.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore that reads the sources is no part of the product"
)]
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

/// What `cargo metadata` says with these options.
pub(crate) fn metadata(options: &[&str]) -> Result<Value> {
    let text = cargo(&[&["metadata", "--format-version", "1"], options].concat())?;
    serde_json::from_str(&text).context("cargo metadata gave no JSON")
}

/// The output of cargo, called with these arguments in the workspace.
#[expect(
    clippy::disallowed_methods,
    reason = "the cargo that runs a chore says where it is in a variable"
)]
pub(crate) fn cargo(args: &[&str]) -> Result<String> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    output_of(&program, args)
}

/// What a program prints in the workspace's directory.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore of the project is not a child of the product"
)]
pub(crate) fn output_of(program: &str, args: &[&str]) -> Result<String> {
    let call = format!("{program} {}", args.join(" "));
    let mut command = Command::new(program);
    // Set for this program by the cargo that runs it. Build scripts ask for them, so that they and all
    // that depends on them would be built anew, now and again by the next plain build.
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in ours {
        command.env_remove(name);
    }
    let output = command
        .args(args)
        .current_dir(root())
        .output()
        .with_context(|| format!("could not start {call}"))?;
    if !output.status.success() {
        bail!(
            "{call} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{call} printed no text"))
}

fn from_metadata(metadata: &Value) -> Result<Vec<Crate>> {
    let packages = array(metadata, "packages")?;
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Result<Crate> {
    let name = text(package, "name")?.to_owned();
    let dependencies = array(package, "dependencies")?
        .iter()
        .map(dependency)
        .collect::<Result<_>>()
        .with_context(|| format!("in the dependencies of {name}"))?;
    let layer = match &package["metadata"]["hermes"]["layer"] {
        Value::Null => None,
        Value::String(word) if word == "dev" => Some(Layer::Dev),
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| u8::try_from(number).ok())
            .map(Layer::Number),
        other => bail!("{name}: a layer is a number or \"dev\", not {other}"),
    };
    Ok(Crate {
        name,
        layer,
        dependencies,
    })
}

fn dependency(dependency: &Value) -> Result<Dependency> {
    let kind = match dependency["kind"].as_str() {
        None => DependencyKind::Normal,
        Some("build") => DependencyKind::Build,
        Some("dev") => DependencyKind::Dev,
        Some(other) => bail!("cargo metadata has a new kind of dependency: {other}"),
    };
    Ok(Dependency {
        name: text(dependency, "name")?.to_owned(),
        kind,
    })
}

/// A list that must be there.
pub(crate) fn array<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("cargo metadata lacks '{key}'"))
}

/// A text that must be there.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value[key]
        .as_str()
        .with_context(|| format!("cargo metadata lacks '{key}'"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_layers_and_kinds_of_dependencies() {
        let metadata = json!({"packages": [
            {"name": "a", "metadata": {"hermes": {"layer": 3}}, "dependencies": [
                {"name": "b", "kind": null},
                {"name": "c", "kind": "dev"},
                {"name": "d", "kind": "build"},
            ]},
            {"name": "b", "metadata": null, "dependencies": []},
            {"name": "c", "metadata": {"hermes": {"layer": "dev"}}, "dependencies": []},
        ]});
        let crates = from_metadata(&metadata).unwrap();
        let layers: Vec<_> = crates.iter().map(|found| found.layer).collect();
        assert_eq!(layers, [Some(Layer::Number(3)), None, Some(Layer::Dev)]);
        let kinds: Vec<_> = crates[0].dependencies.iter().map(|d| d.kind).collect();
        assert_eq!(
            kinds,
            [
                DependencyKind::Normal,
                DependencyKind::Dev,
                DependencyKind::Build
            ]
        );
    }

    #[test]
    fn a_layer_of_another_type_is_an_error_that_names_the_crate() {
        let metadata = json!({"packages": [
            {"name": "a", "metadata": {"hermes": {"layer": "top"}}, "dependencies": []},
        ]});
        let error = from_metadata(&metadata).unwrap_err().to_string();
        assert!(error.contains("a: ") && error.contains("top"), "{error}");
    }
}
