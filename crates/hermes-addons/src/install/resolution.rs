//! Resolving what no catalog has: the pins of a plugin become a closure with hashes, once. The hashes of
//! the first time count for every later one.

use std::ffi::OsString;
use std::path::Path;

use hermes_http::{PublicPackage, Registry};
use serde_json::Value;

use super::diagnosis;
use super::run::{Attempt, Contents, InstallRequest, InstallStep};
use super::tool::{CONSTRAINTS, Origin, REPORT, REQUIREMENTS, Runner, Tool, WANTED, words};
use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::plugin_packages::PluginPackages;
use crate::store::{Index, RecordedLock};

const MAX_ANSWER: u64 = 16 << 20;

/// Packages that the programs which add-ons start with have of their own, pinned: what is resolved must
/// agree with them. They need none. Never the packages of an earlier install: those would keep a pin
/// from moving.
const OWN_PACKAGES: [&str; 0] = [];

impl Addons {
    /// What a plugin declares, or what was installed for it last.
    pub(super) fn contents_of_plugin(&self, request: &InstallRequest) -> Result<Contents> {
        let name = &request.feature;
        let specs = PluginPackages::check(&request.specs).map_err(|error| error.of(name))?;
        let store = self.existing_store().ok().flatten();
        let recorded = store.as_ref().and_then(|store| {
            if specs.is_empty() {
                let digest = Index::load(store).0.features.remove(name)?.lock_sha256;
                return store.lock_with(name, &digest);
            }
            store.lock_for(name, &specs)
        });
        if specs.is_empty() && recorded.is_none() {
            let reason = "no packages were ever installed for it, and it declares none";
            return Err(AddonError::new(Code::NotInstalled, reason)
                .hint("`hermes plugins list` shows the plugins")
                .of(name));
        }
        let (specs, closure) = match recorded {
            Some(lock) => (lock.specs, Some(lock.closure)),
            None => (specs, None),
        };
        Ok(Contents {
            name: name.clone(),
            specs,
            closure,
            modules: &[],
            size_mb: 0,
        })
    }

    /// What a resolution must not contradict.
    fn constraints(&self) -> Vec<String> {
        let own = OWN_PACKAGES.iter().map(|spec| (*spec).to_owned());
        let test = self.settings.test_locks.as_ref();
        let test = test.and_then(|directory| {
            hermes_fs::read_text_capped(&directory.join(CONSTRAINTS), MAX_ANSWER).ok()
        });
        let test = test.unwrap_or_default();
        own.chain(test.lines().map(str::to_owned)).collect()
    }
}

impl Attempt<'_> {
    /// Finds the closure of what is asked for.
    pub(super) fn resolve(
        &self,
        runner: &Runner<'_>,
        tool: &Tool,
        origin: &Origin,
    ) -> Result<RecordedLock> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.store.root, &error);
        self.refuse_malware()?;
        self.observer.step(InstallStep::Resolving {
            tool: tool.name.to_owned(),
        });
        let write = |name: &str, lines: &[String]| {
            let text: String = lines
                .iter()
                .flat_map(|line| [line.as_str(), "\n"])
                .collect();
            hermes_fs::write_atomic(&runner.stage.join(name), text.as_bytes(), 0o600)
        };
        write(WANTED, &self.contents.specs).map_err(failed)?;
        write(CONSTRAINTS, &self.addons.constraints()).map_err(failed)?;
        let output = tool.run(runner, self.resolving(runner.stage, tool, origin))?;
        if !output.status.success() {
            let error = diagnosis::of_failure(&output, &self.specs());
            return Err(self.with_report(error, tool, &output));
        }
        let lock = if tool.is_uv() {
            hermes_fs::read_text_capped(&runner.stage.join(REQUIREMENTS), MAX_ANSWER).ok()
        } else {
            lock_of_report(&runner.stage.join(REPORT))
        };
        let known = self.store.locks(&self.contents.name);
        let lock = lock
            .map(|lock| with_known_hashes(&lock, &known))
            .and_then(|lock| RecordedLock::new(&self.contents.specs, &lock));
        lock.ok_or_else(|| {
            let reason = format!(
                "{} found no versions with a SHA-256 for everything that is needed",
                tool.name
            );
            let error = AddonError::new(Code::InstallerFailed, reason)
                .hint("nothing was installed; use a package index that tells hashes");
            self.with_report(error, tool, &output)
        })
    }

    /// The arguments of a resolution. Nothing is built, so that no code of a package runs.
    fn resolving(&self, stage: &Path, tool: &Tool, origin: &Origin) -> Vec<OsString> {
        let mut args = tool.before.clone();
        let path = |name: &str| stage.join(name).into_os_string();
        if tool.is_uv() {
            let interpreter = self.interpreter.path.clone().into();
            args.extend(words(["pip", "compile", "--python"], [interpreter]));
            let quiet = ["--quiet", "--generate-hashes", "--no-header"];
            args.extend(words(quiet, ["--no-annotate".into()]));
            args.extend(words(["--output-file"], [path(REQUIREMENTS)]));
        } else {
            let quiet = ["--no-input", "--disable-pip-version-check", "install"];
            args.extend(words(quiet, ["--dry-run".into()]));
            args.extend(words(["--quiet", "--ignore-installed"], []));
            args.extend(words(["--timeout", "15", "--retries", "1"], []));
            args.extend(words(["--report"], [path(REPORT)]));
        }
        args.extend(words(["--only-binary", ":all:"], []));
        args.extend(tool.source(origin));
        args.extend(words(["--constraint"], [path(CONSTRAINTS)]));
        if !tool.is_uv() {
            args.push("-r".into());
        }
        args.push(path(WANTED));
        args
    }

    /// What is known as malware is not even looked up.
    fn refuse_malware(&self) -> Result<()> {
        // A directory of wheels is the user's own.
        if self.request.wheelhouse.is_some() {
            return Ok(());
        }
        for spec in &self.contents.specs {
            let (name, version) = spec.split_once("==").unwrap_or((spec, ""));
            let package = PublicPackage {
                registry: Registry::PyPi,
                name: name.split('[').next().unwrap_or(name).to_owned(),
                version: Some(version.to_owned()),
            };
            let advisories = self.addons.settings.malware.advisories_now(&package);
            if let Some(first) = advisories.first() {
                let reason = format!(
                    "{spec} is known as malware ({}); nothing was installed",
                    advisories.join(", ")
                );
                return Err(AddonError::new(Code::Malware, reason)
                    .hint(format!("see https://osv.dev/vulnerability/{first}")));
            }
        }
        Ok(())
    }
}

/// The lock that pip's report means; `None` if a package has no hash in it.
fn lock_of_report(path: &Path) -> Option<String> {
    let bytes = hermes_fs::read_capped(path, MAX_ANSWER).ok()?;
    let report: Value = serde_json::from_slice(&bytes).ok()?;
    let mut lock = String::new();
    for package in report["install"].as_array()? {
        let name = package["metadata"]["name"].as_str()?;
        let version = package["metadata"]["version"].as_str()?;
        let archive = &package["download_info"]["archive_info"];
        let hash = archive["hashes"]["sha256"].as_str().or_else(|| {
            // As pip wrote it at first.
            archive["hash"].as_str()?.strip_prefix("sha256=")
        })?;
        lock.push_str(&format!("{name}=={version} \\\n    --hash=sha256:{hash}\n"));
    }
    Some(lock)
}

/// A lock in which every package that is known in its version has the hashes that are known of it.
fn with_known_hashes(lock: &str, known: &[RecordedLock]) -> String {
    let known: Vec<_> = known
        .iter()
        .flat_map(|lock| lock.closure.blocks())
        .collect();
    let blocks = crate::closure::blocks(lock).into_iter().map(|(pin, text)| {
        let same = known.iter().find(|(other, _)| *other == pin);
        same.map_or(text, |(_, text)| *text)
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn block(pin: &str, digit: &str) -> String {
        format!("{pin} \\\n    --hash=sha256:{}\n", digit.repeat(64))
    }

    #[test]
    fn hashes_that_are_known_are_kept_and_others_are_new() {
        let specs = ["a==1".to_owned()];
        let old = format!("{}{}", block("a==1", "1"), block("Dep.x==1", "2"));
        let known = [RecordedLock::new(&specs, &old).unwrap()];
        let new = format!("{}{}", block("a==2", "3"), block("dep-x==1", "4"));
        let kept = with_known_hashes(&new, &known);
        assert_eq!(
            kept,
            format!("{}{}", block("a==2", "3"), block("Dep.x==1", "2"))
        );
    }

    #[test]
    fn the_report_of_pip_becomes_a_lock_or_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let package = |archive: Value| {
            let metadata = serde_json::json!({"name": "a", "version": "1"});
            let info = serde_json::json!({"archive_info": archive});
            let one = serde_json::json!({"metadata": metadata, "download_info": info});
            let report = serde_json::json!({ "install": [one] }).to_string();
            hermes_fs::write_atomic(&path, report.as_bytes(), 0o600).unwrap();
            lock_of_report(&path)
        };
        let hash = "1".repeat(64);
        let expected = Some(block("a==1", "1"));
        let newer = serde_json::json!({"hashes": {"sha256": hash}});
        assert_eq!(package(newer), expected);
        let older = serde_json::json!({"hash": format!("sha256={hash}")});
        assert_eq!(package(older), expected);
        assert_eq!(package(serde_json::json!({})), None);
        assert_eq!(package(serde_json::json!({"hash": "md5=1"})), None);
    }
}
