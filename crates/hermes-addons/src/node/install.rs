//! Installing a package of npm: resolved once to hashes, fetched by them, never run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_fs::Staging;
use hermes_http::{PublicPackage, Registry};
use hermes_proc::find_on_path;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::OLDEST_NODE;
use super::account::settings_for_npm;
use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::install::{
    InstallObserver, InstallRequest, InstallStep, Installed, Runner, commit, fresh_generation,
    make_read_only, of_failure, report,
};
use crate::node_package::NodePackage;
use crate::store::{
    Index, IndexState, Record, RecordedInstaller, RecordedPackage, SITE, STAGES, Store,
    StoredFeature, read_tree, tree_digest,
};

const VERSION_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_LOCK: u64 = 16 << 20;
const LOCK_FILE: &str = "package-lock.json";
/// The settings of npm, in the stage.
const SETTINGS_FILE: &str = "npmrc";

/// Node and its installer.
struct Tools {
    node: PathBuf,
    node_version: String,
    npm: PathBuf,
    npm_version: String,
}

impl Addons {
    /// Installs a package of npm in one exact version, or again in the one that is there.
    pub(crate) fn install_node(
        &self,
        request: &InstallRequest,
        observer: &dyn InstallObserver,
    ) -> Result<Installed> {
        let mut package = NodePackage::parse(&request.feature)?;
        let feature = package.feature();
        self.install_package(&mut package, &feature, request, observer)
            .map_err(|error| error.of(&feature))
    }

    fn install_package(
        &self,
        package: &mut NodePackage,
        feature: &str,
        request: &InstallRequest,
        observer: &dyn InstallObserver,
    ) -> Result<Installed> {
        let begun = Instant::now();
        let existing = self.existing_store().ok().flatten();
        if package.version.is_none() {
            let stored = existing.as_ref().and_then(|store| stored(store, feature));
            package.version = stored.map(|stored| stored.indexed.version);
        }
        let Some(version) = package.version.clone() else {
            let reason = "it is not installed, and no version was named";
            return Err(AddonError::new(Code::UnknownFeature, reason)
                .hint(format!("name one: hermes addons install {feature}@1.2.3")));
        };
        if !request.force
            && let Some(ready) = existing
                .as_ref()
                .and_then(|store| ready(store, feature, &version))
        {
            return Ok(ready);
        }
        if let Some((code, reason, hint)) = self.settings.gate.refusal() {
            return Err(AddonError::new(code, reason).hint(hint));
        }
        let store = self.usable_store()?;
        let waiting = |holder: &crate::addons::LockHolder| {
            observer.step(InstallStep::Waiting {
                pid: holder.pid,
                feature: holder.feature.clone(),
            });
        };
        let lock = self.lock(&store, feature, request.cancel.as_deref(), waiting)?;
        // By it others know that the directory is a store.
        let (mut index, state) = Index::load(&store);
        if state == IndexState::Missing {
            index.save(&store, state)?;
        }
        store.create_parts()?;
        if !request.force
            && let Some(ready) = ready(&store, feature, &version)
        {
            return Ok(ready);
        }
        let outcome = PackageAttempt {
            addons: self,
            store: &store,
            package,
            version: &version,
            feature,
            request,
            observer,
            begun,
        }
        .run();
        drop(lock);
        outcome
    }
}

/// One attempt, under the lock of the store.
struct PackageAttempt<'a> {
    addons: &'a Addons,
    store: &'a Store,
    package: &'a NodePackage,
    version: &'a str,
    feature: &'a str,
    request: &'a InstallRequest,
    observer: &'a dyn InstallObserver,
    begun: Instant,
}

impl PackageAttempt<'_> {
    fn run(&self) -> Result<Installed> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.store.root, &error);
        let stages = self.store.path(STAGES);
        Staging::sweep(&stages, "").map_err(failed)?;
        let stage = Staging::begin(&stages, "npm").map_err(failed)?;
        let site = stage.path().join(SITE);
        for directory in [stage.path().join("tmp"), site.clone()] {
            hermes_fs::create_dir(&directory, 0o700).map_err(failed)?;
        }
        let runner = Runner {
            settings: &self.addons.settings,
            stage: stage.path(),
            deadline: self.begun + self.addons.settings.install_timeout,
            cancel: self.request.cancel.as_ref(),
        };
        let tools = Tools::find(&runner)?;
        self.refuse_malware()?;
        let npmrc = stage.path().join(SETTINGS_FILE);
        let settings = tools.settings(&runner, self.request.mirror.as_deref());
        hermes_fs::write_atomic(&npmrc, settings.as_bytes(), 0o600).map_err(failed)?;
        let manifest = json!({"private": true, "dependencies": {&self.package.name: self.version}});
        let manifest = manifest.to_string();
        hermes_fs::write_atomic(&site.join("package.json"), manifest.as_bytes(), 0o600)
            .map_err(failed)?;
        self.observer.step(InstallStep::Installing {
            tool: "npm".to_owned(),
            packages: 1,
            site: site.clone(),
        });
        let npm = Npm {
            addons: self.addons,
            runner: &runner,
            tools: &tools,
            site: &site,
            settings: &npmrc,
            feature: self.feature,
            spec: format!("{}@{}", self.package.name, self.version),
        };
        // The hashes of the first install count for every later one of this version.
        let known = stored(self.store, self.feature)
            .filter(|stored| stored.indexed.version == self.version);
        let known = known.map(|stored| stored.generation.site(self.store).join(LOCK_FILE));
        match known.and_then(|path| hermes_fs::read_optional(&path, MAX_LOCK).ok().flatten()) {
            Some(bytes) => {
                hermes_fs::write_atomic(&site.join(LOCK_FILE), &bytes, 0o600).map_err(failed)?;
            }
            None => npm.run(&["install", "--package-lock-only"])?,
        }
        let (digest, packages) = hashed_packages(&site, self.package, self.version)?;
        npm.run(&["ci", "--no-bin-links"])?;
        self.observer.step(InstallStep::Checking);
        inspect(&site)?;
        super::launch::program_of(&site, &self.package.name)?;
        make_read_only(&site).map_err(failed)?;
        for needless in ["tmp", SETTINGS_FILE] {
            hermes_fs::remove_tree(&stage.path().join(needless)).map_err(failed)?;
        }
        let entries =
            read_tree(&site).map_err(|why| AddonError::new(Code::InstallerFailed, why))?;
        let record = Record {
            schema: 1,
            feature: self.feature.to_owned(),
            generation: fresh_generation(self.store, self.feature, &digest),
            abi: format!("node:{}", tools.node_version),
            interpreter: tools.node.clone(),
            installer: RecordedInstaller {
                tool: "npm".to_owned(),
                version: tools.npm_version.clone(),
            },
            lock_sha256: digest,
            created_at: crate::install::now(),
            packages,
            files: entries.len(),
            bytes: entries.iter().map(|(_, _, size, _)| size).sum(),
            tree_sha256: tree_digest(&entries),
            entries,
        };
        commit(self.store, stage, &record, None)?;
        Ok(Installed {
            feature: self.feature.to_owned(),
            state: "installed",
            generation: Some(record.generation),
            bytes: record.bytes,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}

impl PackageAttempt<'_> {
    /// What is known as malware is not even fetched.
    fn refuse_malware(&self) -> Result<()> {
        let package = PublicPackage {
            registry: Registry::Npm,
            name: self.package.name.clone(),
            version: Some(self.version.to_owned()),
        };
        let advisories = self.addons.settings.malware.advisories_now(&package);
        let Some(first) = advisories.first() else {
            return Ok(());
        };
        let reason = format!(
            "{}@{} is known as malware ({}); nothing was installed",
            self.package.name,
            self.version,
            advisories.join(", ")
        );
        Err(AddonError::new(Code::Malware, reason)
            .hint(format!("see https://osv.dev/vulnerability/{first}")))
    }
}

fn stored(store: &Store, feature: &str) -> Option<StoredFeature> {
    StoredFeature::find(store, feature, &Index::load(store).0)
}

fn ready(store: &Store, feature: &str, version: &str) -> Option<Installed> {
    let stored = stored(store, feature)?;
    let fits = stored.indexed.version == version && stored.indexed.interpreter.is_file();
    fits.then(|| Installed {
        feature: feature.to_owned(),
        state: "current",
        generation: Some(stored.generation.name),
        bytes: stored.indexed.bytes,
        seconds: 0.0,
    })
}

impl Tools {
    fn find(runner: &Runner<'_>) -> Result<Self> {
        let missing = |what: String| {
            AddonError::new(Code::NoInterpreter, what)
                .hint(format!("install Node {OLDEST_NODE} or newer, with npm"))
        };
        let find = |name: &str| {
            let found = find_on_path(name.as_ref(), Some(&runner.settings.search_path));
            found
                .filter(|path| path.is_absolute())
                .ok_or_else(|| missing(format!("{name} was not found on PATH")))
        };
        let version = |program: &Path| -> Result<String> {
            let args = vec![OsString::from("--version")];
            let ran = runner
                .run(program, args, VERSION_TIMEOUT)
                .map_err(|error| runner.stopped(error))?;
            let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
            Ok(text.trim_start_matches('v').to_owned())
        };
        let (node, npm) = (find("node")?, find("npm")?);
        let (node_version, npm_version) = (version(&node)?, version(&npm)?);
        let major = node_version.split('.').next();
        let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or(0);
        if major < OLDEST_NODE {
            let what = format!("needs Node {OLDEST_NODE} or newer; found: {node_version}");
            return Err(missing(what));
        }
        Ok(Self {
            node,
            node_version,
            npm,
            npm_version,
        })
    }

    /// The settings that npm gets, with the registry of the account or the mirror.
    fn settings(&self, runner: &Runner<'_>, mirror: Option<&str>) -> String {
        let args = ["config", "get", "globalconfig"].map(OsString::from);
        let asked = runner.run(&self.npm, args.into(), VERSION_TIMEOUT).ok();
        let global = asked.filter(|asked| asked.status.success()).map(|asked| {
            let path = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
            PathBuf::from(path)
        });
        let settings = runner.settings;
        settings_for_npm(
            global.filter(|path| path.is_absolute()).as_deref(),
            &settings.places.user_home,
            &settings.npm,
            mirror,
        )
    }
}

/// npm at work in a stage.
struct Npm<'a> {
    addons: &'a Addons,
    runner: &'a Runner<'a>,
    tools: &'a Tools,
    site: &'a Path,
    /// The only file of settings that it reads.
    settings: &'a Path,
    feature: &'a str,
    spec: String,
}

impl Npm<'_> {
    /// Runs npm. Nothing of a package runs with it.
    fn run(&self, words: &[&str]) -> Result<()> {
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache"];
        let args = words.iter().chain(&quiet).map(OsString::from);
        let cache = self.addons.settings.places.home.join("cache/npm");
        let site = self.site.as_os_str().to_owned();
        let args = args.chain([
            cache.into(),
            "--userconfig".into(),
            self.settings.into(),
            "--globalconfig".into(),
            "/dev/null".into(),
            "--prefix".into(),
            site,
        ]);
        let output = self
            .runner
            .run(
                &self.tools.npm,
                args.collect(),
                self.addons.settings.install_timeout,
            )
            .map_err(|error| self.runner.stopped(error))?;
        if output.status.success() {
            return Ok(());
        }
        let mut error = of_failure(&output, &[&self.spec]);
        let home = &self.addons.settings.places.home;
        let name = self.feature.replace(['/', ':'], "+");
        let version = &self.tools.npm_version;
        error.installer = Some(Box::new(report(home, &name, "npm", version, &output)));
        Err(error)
    }
}

/// What the lock pins, each with a hash; its own hash comes first.
fn hashed_packages(
    site: &Path,
    package: &NodePackage,
    version: &str,
) -> Result<(String, Vec<RecordedPackage>)> {
    let refused = |why: String| {
        AddonError::new(Code::InstallerFailed, why).hint("nothing was installed; report it")
    };
    let bytes = hermes_fs::read_capped(&site.join(LOCK_FILE), MAX_LOCK)
        .map_err(|error| refused(error.to_string()))?;
    let lock: Value = serde_json::from_slice(&bytes)
        .map_err(|error| refused(format!("npm wrote a lock that cannot be read: {error}")))?;
    let mut packages = Vec::new();
    for (path, entry) in lock["packages"].as_object().into_iter().flatten() {
        if path.is_empty() {
            continue;
        }
        let name = path.rsplit("node_modules/").next().unwrap_or(path);
        let integrity = entry["integrity"].as_str().unwrap_or_default();
        if entry["link"] == true || !integrity.starts_with("sha512-") {
            return Err(refused(format!("npm found no SHA-512 for {name}")));
        }
        packages.push(RecordedPackage {
            name: name.to_owned(),
            version: entry["version"].as_str().unwrap_or_default().to_owned(),
        });
    }
    let is_wanted = |one: &RecordedPackage| one.name == package.name && one.version == version;
    if !packages.iter().any(is_wanted) {
        let wanted = format!("{}@{version}", package.name);
        return Err(refused(format!("npm did not resolve {wanted}")));
    }
    packages.sort();
    Ok((hermes_fs::hex(&Sha256::digest(&bytes)), packages))
}

/// Refuses what a package never contains: links, and programs with rights of their owner.
fn inspect(site: &Path) -> Result<()> {
    let entries = read_tree(site).map_err(|why| AddonError::new(Code::InstallerFailed, why))?;
    for (path, mode, _, hash) in &entries {
        if hash == "link" || mode & 0o6000 != 0 {
            let reason =
                format!("what npm wrote is refused: {path} is a link or has special rights");
            return Err(AddonError::new(Code::InstallerFailed, reason)
                .hint("nothing was installed; report it"));
        }
    }
    Ok(())
}
