//! Starting the program of an installed package.

use std::path::{Path, PathBuf};

use hermes_http::{PublicPackage, Registry};
use serde_json::Value;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::launch::Launch;
use crate::node_package::NodePackage;
use crate::store::{Index, StoredFeature};

const MAX_MANIFEST: u64 = 1 << 20;

impl Addons {
    /// The command that runs an installed package of npm, named as `npm:<name>`.
    pub fn launch_node(&self, name: &str) -> Result<Launch> {
        let package = NodePackage::parse(name)?;
        let feature = package.feature();
        let missing = || {
            AddonError::new(Code::NotInstalled, "it is not installed")
                .hint(format!(
                    "name a version: hermes addons install {feature}@<version>"
                ))
                .of(&feature)
        };
        let store = self.existing_store().map_err(|error| error.of(&feature))?;
        let store = store.ok_or_else(missing)?;
        let (index, _) = Index::load(&store);
        let stored = StoredFeature::find(&store, &feature, &index).ok_or_else(missing)?;
        let is_other = |wanted: &String| *wanted != stored.indexed.version;
        if package.version.as_ref().is_some_and(is_other) {
            let reason = format!("version {} is installed", stored.indexed.version);
            return Err(AddonError::new(Code::NotInstalled, reason)
                .hint(format!("run: hermes addons install {name}"))
                .of(&feature));
        }
        let lease = stored.generation.lease(&store);
        if !stored.generation.is_present(&store) {
            return Err(missing());
        }
        let program = stored.indexed.interpreter.clone();
        if !program.is_file() {
            let reason = format!("{} is gone", program.display());
            return Err(AddonError::new(Code::NoInterpreter, reason)
                .hint(format!("run: hermes addons install {feature} --force"))
                .of(&feature));
        }
        let site = stored.generation.site(&store);
        let file = program_of(&site, &package.name).map_err(|error| error.of(&feature))?;
        Ok(Launch {
            program,
            args: vec![file.into()],
            package: Some(PublicPackage {
                registry: Registry::Npm,
                name: package.name,
                version: Some(stored.indexed.version),
            }),
            lease,
        })
    }
}

/// The file that a package is started by: its only program, or the one of its own name.
pub(super) fn program_of(site: &Path, name: &str) -> Result<PathBuf> {
    let none = |why: &str| {
        AddonError::new(Code::Unsupported, why.to_owned())
            .hint("only packages with a program can be run")
    };
    let directory = site.join("node_modules").join(name);
    let manifest = hermes_fs::read_capped(&directory.join("package.json"), MAX_MANIFEST);
    let manifest = manifest.map_err(|error| none(&error.to_string()))?;
    let manifest: Value =
        serde_json::from_slice(&manifest).map_err(|_| none("its package.json cannot be read"))?;
    let own = name.rsplit('/').next().unwrap_or(name);
    let file = match &manifest["bin"] {
        Value::String(file) => Some(file.as_str()),
        Value::Object(files) if files.len() == 1 => files.values().next().and_then(Value::as_str),
        Value::Object(files) => files.get(own).and_then(Value::as_str),
        _ => None,
    };
    let file = file.ok_or_else(|| none("the package has no program of its name"))?;
    let file = Path::new(file.trim_start_matches("./"));
    let is_inside = file
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let path = directory.join(file);
    if is_inside && path.is_file() {
        Ok(path)
    } else {
        Err(none("the program that the package names is not there"))
    }
}
