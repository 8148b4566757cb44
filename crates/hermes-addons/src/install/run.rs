//! The steps of an install, in their order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_fs::Staging;
use hermes_proc::{Captured, Wake};
use serde::Serialize;

use super::commit::{commit, fresh_generation, now, report};
use super::tool::{Origin, REQUIREMENTS, RESOLVING, Runner, Tool};
use super::{diagnosis, inspection};
use crate::addons::Addons;
use crate::catalog::{Feature, PythonAddon, Support};
use crate::closure::Closure;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::node_package::NodePackage;
use crate::plugin_packages::PluginPackages;
use crate::store::{
    Failure, Index, IndexedInterpreter, Record, RecordedInstaller, RecordedPackage, SITE, STAGES,
    Store, StoredFeature, TRASH, read_tree, tree_digest,
};
use crate::worker::shim;

const PROBE_TIMEOUT: Duration = Duration::from_mins(1);
/// Space that must be free, whatever the size of the feature.
const LEAST_FREE: u64 = 200 << 20;
/// Imports modules with an environment behind the standard library.
const IMPORT: &str =
    "import sys; sys.path.append(sys.argv[1]); [__import__(name) for name in sys.argv[2:]]";

/// What to install, and from where.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    pub feature: String,
    /// The pins that a plugin declares. Without any, those of its last install count.
    pub specs: Vec<String>,
    /// Install anew what is there.
    pub force: bool,
    pub python: Option<PathBuf>,
    /// The package index to use instead of the machine's.
    pub mirror: Option<String>,
    /// A directory of wheels to use instead of any index.
    pub wheelhouse: Option<PathBuf>,
    /// Ends the install early.
    pub cancel: Option<Arc<Wake>>,
}

/// What an install is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process has the store.
    Waiting { pid: u32, feature: String },
    /// An installer finds out which versions fit together.
    Resolving { tool: String },
    /// An installer runs; what it writes appears in `site`.
    Installing {
        tool: String,
        packages: usize,
        site: PathBuf,
    },
    /// What it wrote is inspected, compiled and imported.
    Checking,
}

/// Is told what an install is doing.
pub trait InstallObserver {
    /// The install has come to this step.
    fn step(&self, step: InstallStep);
}

/// The outcome of an install.
#[derive(Debug, Clone, Serialize)]
pub struct Installed {
    pub feature: String,
    /// `native`, `current` for one that was there, or `installed`.
    pub state: &'static str,
    pub generation: Option<String>,
    pub bytes: u64,
    pub seconds: f64,
}

impl Addons {
    /// Makes a feature ready for use.
    pub fn install(
        &self,
        request: &InstallRequest,
        observer: &dyn InstallObserver,
    ) -> Result<Installed> {
        if NodePackage::is_meant(&request.feature) {
            return self.install_node(request, observer);
        }
        if PluginPackages::is_meant(&request.feature) {
            let contents = self.contents_of_plugin(request)?;
            return self.install_contents(&contents, request, observer);
        }
        let feature = Self::feature(&request.feature)?;
        let addon = match &feature.support {
            Support::Native => {
                return Ok(Installed {
                    feature: feature.name.to_owned(),
                    state: "native",
                    generation: None,
                    bytes: 0,
                    seconds: 0.0,
                });
            }
            Support::Planned => {
                let reason = "it is not part of this version of Hermes, natively or as an add-on";
                return Err(AddonError::new(Code::Unsupported, reason)
                    .hint("`hermes addons list --all` shows what there is")
                    .of(feature.name));
            }
            Support::Python(addon) => addon,
        };
        let contents = self.contents_of(feature, addon)?;
        self.install_contents(&contents, request, observer)
    }

    fn contents_of(&self, feature: &Feature, addon: &PythonAddon) -> Result<Contents> {
        let closure = self.closure(feature.name, addon);
        Ok(Contents {
            name: feature.name.to_owned(),
            specs: feature
                .specs
                .iter()
                .map(|spec| (*spec).to_owned())
                .collect(),
            closure: Some(closure.map_err(|error| error.of(feature.name))?),
            modules: addon.modules,
            size_mb: addon.size_mb,
        })
    }

    fn install_contents(
        &self,
        contents: &Contents,
        request: &InstallRequest,
        observer: &dyn InstallObserver,
    ) -> Result<Installed> {
        self.install_locked(contents, request, observer)
            .map_err(|error| error.of(&contents.name))
    }

    fn install_locked(
        &self,
        contents: &Contents,
        request: &InstallRequest,
        observer: &dyn InstallObserver,
    ) -> Result<Installed> {
        let begun = Instant::now();
        let python = request.python.as_deref();
        if !request.force
            && let Ok(Some(store)) = self.existing_store()
            && let Some(ready) = ready(&store, contents, python)
        {
            return Ok(ready);
        }
        if let Some((code, reason, hint)) = self.settings.gate.refusal() {
            return Err(AddonError::new(code, reason).hint(hint));
        }
        let store = self.usable_store()?;
        let interpreter = Interpreter::find(&self.settings, request.python.as_deref())?;
        let waiting = |holder: &crate::addons::LockHolder| {
            observer.step(InstallStep::Waiting {
                pid: holder.pid,
                feature: holder.feature.clone(),
            });
        };
        let cancel = request.cancel.as_deref();
        let lock = self.lock(&store, &contents.name, cancel, waiting)?;
        // First of all: by it others know that the directory is a store.
        if store.stamp().is_none() {
            store.write_stamp(&interpreter.abi)?;
        }
        store.create_parts()?;
        // Somebody else may have installed it while we waited.
        if !request.force
            && let Some(ready) = ready(&store, contents, python)
        {
            return Ok(ready);
        }
        let attempt = Attempt {
            addons: self,
            store: &store,
            contents,
            interpreter: &interpreter,
            request,
            observer,
            begun,
        };
        let outcome = attempt.run();
        // That somebody did not want to wait says nothing about the next time.
        if let Err(error) = &outcome
            && error.code != Code::Cancelled
        {
            attempt.remember(error);
        }
        drop(lock);
        outcome
    }

    /// The store, made if it is missing.
    pub(crate) fn usable_store(&self) -> Result<Store> {
        let made = Store::examine(&self.settings).and_then(|(store, _)| {
            store.create()?;
            Ok(store)
        });
        made.map_err(|error| {
            if self.settings.is_managed && error.code == Code::StoreUnwritable {
                let reason =
                    "this installation is managed by a package manager and the store is read-only";
                return AddonError::new(Code::Managed, reason)
                    .hint("set HERMES_LAZY_INSTALL_TARGET to a directory that can be written");
            }
            error
        })
    }
}

/// The environment that is in service, if it is what an install would make.
fn ready(store: &Store, contents: &Contents, python: Option<&Path>) -> Option<Installed> {
    let (index, _) = Index::load(store);
    let stored = StoredFeature::find(store, &contents.name, &index)?;
    // Somebody else may have resolved it meanwhile.
    let closure = contents.closure.clone();
    let closure = closure.or_else(|| {
        let lock = store.lock_for(&contents.name, &contents.specs)?;
        Some(lock.closure)
    })?;
    let wanted = python.unwrap_or(&stored.indexed.interpreter);
    let fits = stored.indexed.lock_sha256 == closure.digest()
        && Interpreter::probe(wanted).is_ok_and(|found| found.abi == stored.indexed.abi);
    fits.then(|| Installed {
        feature: contents.name.clone(),
        state: "current",
        generation: Some(stored.generation.name),
        bytes: stored.indexed.bytes,
        seconds: 0.0,
    })
}

/// What an environment is to hold.
pub(super) struct Contents {
    pub(super) name: String,
    pub(super) specs: Vec<String>,
    /// `None` if it is yet to be resolved.
    pub(super) closure: Option<Closure>,
    /// Imported once before the environment goes into service.
    pub(super) modules: &'static [&'static str],
    /// Megabytes on disk, as far as they are known before.
    pub(super) size_mb: u64,
}

/// One attempt, under the lock of the store.
pub(super) struct Attempt<'a> {
    pub(super) addons: &'a Addons,
    pub(super) store: &'a Store,
    pub(super) contents: &'a Contents,
    pub(super) interpreter: &'a Interpreter,
    pub(super) request: &'a InstallRequest,
    pub(super) observer: &'a dyn InstallObserver,
    begun: Instant,
}

impl Attempt<'_> {
    fn run(&self) -> Result<Installed> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.store.root, &error);
        let stages = self.store.path(STAGES);
        Staging::sweep(&stages, "").map_err(failed)?;
        self.empty_trash();
        self.require_space(self.contents.size_mb << 20)?;
        let name = self.file_name();
        let stage = Staging::begin(&stages, &name).map_err(failed)?;
        Self::furnish(stage.path()).map_err(failed)?;
        let runner = Runner {
            settings: &self.addons.settings,
            stage: stage.path(),
            deadline: self.begun + self.addons.settings.install_timeout,
            cancel: self.request.cancel.as_ref(),
        };
        let tool = Tool::find(&runner, self.interpreter)?;
        let site = stage.path().join(SITE);
        let origin = Origin {
            mirror: self.request.mirror.clone(),
            wheelhouse: self.request.wheelhouse.clone(),
        };
        let (closure, resolved) = match &self.contents.closure {
            Some(closure) => (closure.clone(), None),
            None => {
                let lock = self.resolve(&runner, &tool, &origin)?;
                (lock.closure.clone(), Some(lock))
            }
        };
        let lock = closure.text().as_bytes();
        hermes_fs::write_atomic(&stage.path().join(REQUIREMENTS), lock, 0o600).map_err(failed)?;
        let wanted = closure
            .packages_for(&self.interpreter.markers)
            .map_err(|why| AddonError::new(Code::Broken, why))?;
        self.observer.step(InstallStep::Installing {
            tool: tool.name.to_owned(),
            packages: wanted.len(),
            site: site.clone(),
        });
        let output = tool.install(&runner, self.interpreter, &origin)?;
        if !output.status.success() {
            let error = diagnosis::of_failure(&output, &self.specs());
            return Err(self.with_report(error, &tool, &output));
        }
        self.observer.step(InstallStep::Checking);
        inspection::inspect(&site, &wanted)
            .map_err(|error| self.with_report(error, &tool, &output))?;
        self.compile(&runner, &site)?;
        self.import(&runner, &site)?;
        for needless in ["tmp", "pipenv", REQUIREMENTS, "uv.toml"]
            .iter()
            .chain(&RESOLVING)
        {
            hermes_fs::remove_tree(&stage.path().join(needless)).map_err(failed)?;
        }
        inspection::make_read_only(&site).map_err(failed)?;
        let record = self.record(&site, &tool, &closure, wanted)?;
        self.require_space(record.bytes)?;
        if let Some(lock) = &resolved {
            self.store.keep_lock(&self.contents.name, lock)?;
        }
        self.commit(stage, &record)
    }

    /// The name of what is installed, as part of a file's.
    fn file_name(&self) -> String {
        self.contents.name.replace(['/', ':'], "+")
    }

    pub(super) fn specs(&self) -> Vec<&str> {
        self.contents.specs.iter().map(String::as_str).collect()
    }

    /// What the installer needs in the stage. The empty `uv.toml` keeps uv from looking for one in
    /// the directories above.
    fn furnish(stage: &Path) -> hermes_fs::Result<()> {
        hermes_fs::write_atomic(&stage.join("uv.toml"), b"", 0o600)?;
        hermes_fs::create_dir(&stage.join("tmp"), 0o700)?;
        hermes_fs::create_dir(&stage.join(SITE), 0o700)
    }

    fn empty_trash(&self) {
        for entry in hermes_fs::read_dir(&self.store.path(TRASH)).unwrap_or_default() {
            if let Err(error) = hermes_fs::remove_tree(&entry.path) {
                tracing::warn!(%error, "something of the add-on store could not be removed");
            }
        }
    }

    /// Refuses what the disk or the store has no room for.
    fn require_space(&self, size: u64) -> Result<()> {
        let needed = LEAST_FREE.max(2 * size);
        if let Some(disk) = hermes_fs::disk_space(&self.store.root)
            && disk.free < needed
        {
            let reason = format!(
                "{} MB of free space are needed, {} MB are left",
                needed >> 20,
                disk.free >> 20
            );
            return Err(AddonError::new(Code::NoSpace, reason)
                .hint("free some space; `hermes addons gc` removes what is no longer needed"));
        }
        let (index, _) = Index::load(self.store);
        let others = index
            .features
            .iter()
            .filter(|(name, _)| **name != self.contents.name);
        let stored: u64 = others.map(|(_, feature)| feature.bytes).sum();
        let most = self.addons.settings.max_store_bytes;
        if stored + size > most {
            let reason = format!(
                "the store would hold {} MB, more than addons.max_store_mb ({}) allows",
                (stored + size) >> 20,
                most >> 20
            );
            return Err(AddonError::new(Code::NoSpace, reason)
                .hint("remove an add-on that is not needed, or raise addons.max_store_mb"));
        }
        Ok(())
    }

    /// Compiles what can be compiled: workers find no place to write bytecode. Templates in some
    /// packages are no valid code, so its verdict does not count.
    fn compile(&self, runner: &Runner<'_>, site: &Path) -> Result<()> {
        let args = [
            "-I",
            "-S",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "unchecked-hash",
        ];
        let args = args.iter().map(Into::into).chain([site.into()]).collect();
        let limit = self.addons.settings.install_timeout;
        runner
            .run(&self.interpreter.path, args, limit)
            .map(drop)
            .map_err(|error| runner.stopped(error))
    }

    /// Imports what the feature is about, once, as a worker would.
    fn import(&self, runner: &Runner<'_>, site: &Path) -> Result<()> {
        if self.contents.modules.is_empty() {
            return Ok(());
        }
        let args = ["-I", "-S", "-B", "-c", IMPORT].iter().map(Into::into);
        let modules = self.contents.modules.iter().map(Into::into);
        let args = args.chain([site.into()]).chain(modules).collect();
        let output = runner
            .run(&self.interpreter.path, args, PROBE_TIMEOUT)
            .map_err(|error| runner.stopped(error))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let reason = format!(
            "the packages were installed but cannot be imported: {}",
            hermes_text::one_line(last.unwrap_or("Python gave no reason"), 300)
        );
        Err(AddonError::new(Code::ProbeFailed, reason)
            .hint("nothing was put into service; try another interpreter with --python"))
    }

    fn record(
        &self,
        site: &Path,
        tool: &Tool,
        closure: &Closure,
        packages: Vec<(String, String)>,
    ) -> Result<Record> {
        let entries = read_tree(site).map_err(|why| AddonError::new(Code::InstallerFailed, why))?;
        let digest = closure.digest();
        let generation = fresh_generation(self.store, &self.contents.name, &digest);
        Ok(Record {
            schema: 1,
            feature: self.contents.name.clone(),
            generation,
            abi: self.interpreter.abi.clone(),
            interpreter: self.interpreter.path.clone(),
            installer: RecordedInstaller {
                tool: tool.name.to_owned(),
                version: tool.version.clone(),
            },
            lock_sha256: digest,
            created_at: now(),
            packages: packages
                .into_iter()
                .map(|(name, version)| RecordedPackage { name, version })
                .collect(),
            files: entries.len(),
            bytes: entries.iter().map(|(_, _, size, _)| size).sum(),
            tree_sha256: tree_digest(&entries),
            entries,
        })
    }

    /// Puts the stage into service. The index decides; what comes after is tidying.
    fn commit(&self, stage: Staging, record: &Record) -> Result<Installed> {
        // There is room and a right to write now; a worker may start when there is not.
        shim::provide(self.store)?;
        let interpreter = IndexedInterpreter {
            path: self.interpreter.path.clone(),
            version: self.interpreter.version.clone(),
            abi: self.interpreter.abi.clone(),
        };
        commit(self.store, stage, record, Some(interpreter))?;
        self.store.wipe_other_abis(&self.interpreter.abi)?;
        self.addons.forget_crashes(&self.contents.name);
        Ok(Installed {
            feature: self.contents.name.clone(),
            state: "installed",
            generation: Some(record.generation.clone()),
            bytes: record.bytes,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }

    /// Notes a failure in the index, for lists. The error itself is on its way to the user, so that
    /// this one is not.
    fn remember(&self, error: &AddonError) {
        let (mut index, state) = Index::load(self.store);
        let entry = index
            .features
            .entry(self.contents.name.clone())
            .or_default();
        let count = entry.failure.as_ref().map_or(0, |failure| failure.count);
        entry.failure = Some(Failure {
            code: error.code.name(),
            message: error.reason.clone(),
            at: now(),
            count: count + 1,
            hint: error.hint.clone(),
            installer: error.installer.clone(),
        });
        if let Err(error) = index.save(self.store, state) {
            tracing::warn!(%error, "a failed install could not be noted");
        }
    }

    pub(super) fn with_report(
        &self,
        mut error: AddonError,
        tool: &Tool,
        output: &Captured,
    ) -> AddonError {
        let home = &self.addons.settings.places.home;
        let report = report(home, &self.file_name(), tool.name, &tool.version, output);
        error.installer = Some(Box::new(report));
        error
    }
}
