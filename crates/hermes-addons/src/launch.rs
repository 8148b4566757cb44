//! Starting an add-on's interpreter.

use std::ffi::OsString;
use std::path::PathBuf;

use hermes_fs::SharedLock;
use hermes_http::PublicPackage;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::plugin_packages::PluginPackages;
use crate::store::{Generation, Index, Store, StoredFeature};

/// Runs `-m MODULE`, `-c CODE` or a script as Python itself would, with the standard library first,
/// then the script's own directory, then the add-on. Nothing of the environment is run before that:
/// without site processing a `.pth` file is just a file.
const BOOT: &str = "\
import runpy, sys
site = sys.argv[1]
del sys.argv[:2]
if sys.argv[:1] == ['-m']:
    del sys.argv[:1]
    sys.path.append(site)
    runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
elif sys.argv[:1] == ['-c']:
    code = sys.argv[1]
    del sys.argv[1]
    sys.path.append(site)
    exec(compile(code, '<string>', 'exec'), {'__name__': '__main__'})
else:
    import os
    sys.path.append(os.path.dirname(os.path.abspath(sys.argv[0])))
    sys.path.append(site)
    runpy.run_path(sys.argv[0], run_name='__main__')
";

/// A program of an add-on: an interpreter with the add-on behind its standard library, or that of a
/// package.
#[derive(Debug)]
pub struct Launch {
    pub program: PathBuf,
    /// What comes before the arguments of the caller.
    pub args: Vec<OsString>,
    /// What it is in a public registry, if it is one package of one.
    pub package: Option<PublicPackage>,
    /// Keeps the environment from being removed; to be held while the program runs.
    pub lease: Option<SharedLock>,
}

/// An environment that is in service, with the interpreter it was made for.
#[derive(Debug)]
pub(crate) struct Serviceable {
    pub(crate) store: Store,
    pub(crate) generation: Generation,
    pub(crate) interpreter: Interpreter,
    pub(crate) lease: Option<SharedLock>,
}

impl Serviceable {
    /// The directory of its code.
    pub(crate) fn site(&self) -> PathBuf {
        self.generation.site(&self.store)
    }
}

impl Addons {
    /// The environment of a feature that is ready to be used, kept from being removed. If the store
    /// was made for another interpreter, what is of no use any more goes.
    pub(crate) fn serviceable(&self, name: &str) -> Result<Serviceable> {
        let missing = |code: Code, reason: String| {
            AddonError::new(code, reason)
                .hint(format!("run: hermes addons install {name}"))
                .of(name)
        };
        let not_installed = || missing(Code::NotInstalled, "it is not installed".to_owned());
        if !PluginPackages::is_meant(name) && Self::feature(name)?.addon().is_none() {
            let reason = "it is not an add-on, and has no interpreter";
            return Err(AddonError::new(Code::Unsupported, reason).of(name));
        }
        let store = self.existing_store().map_err(|error| error.of(name))?;
        let store = store.ok_or_else(not_installed)?;
        let (index, _) = Index::load(&store);
        let stored = StoredFeature::find(&store, name, &index).ok_or_else(not_installed)?;
        let lease = stored.generation.lease(&store);
        // It may have gone between the two steps.
        if !stored.generation.is_present(&store) {
            return Err(not_installed());
        }
        let path = &stored.indexed.interpreter;
        let interpreter = match Interpreter::probe(path) {
            Ok(found) if found.abi == stored.indexed.abi => found,
            Ok(found) => {
                let reason = format!(
                    "it was installed for another interpreter than {} is now ({})",
                    path.display(),
                    found.version
                );
                return Err(missing(Code::Broken, reason));
            }
            Err(why) => {
                let reason = format!("its interpreter {} cannot be used: {why}", path.display());
                return Err(missing(Code::NoInterpreter, reason));
            }
        };
        if store.stamp().as_deref() != Some(interpreter.abi.as_str()) {
            self.forget_other_interpreters(&store, name, &interpreter);
        }
        Ok(Serviceable {
            generation: stored.generation,
            store,
            interpreter,
            lease,
        })
    }

    /// Removes what was made for other interpreters. A store that cannot be changed serves as it is.
    fn forget_other_interpreters(&self, store: &Store, feature: &str, interpreter: &Interpreter) {
        let wiped = self.lock(store, feature, None, |_| {}).and_then(|_lock| {
            store.create_parts()?;
            store.wipe_other_abis(&interpreter.abi)
        });
        if let Err(error) = wiped {
            tracing::warn!(%error, "the add-on store still holds what is for another interpreter");
        }
    }

    /// The command that runs a script, a module (`-m`) or code (`-c`) with an add-on.
    pub fn launch(&self, name: &str, args: &[OsString]) -> Result<Launch> {
        let ready = self.serviceable(name)?;
        let boot = ["-I", "-S", "-B", "-u", "-X", "utf8", "-c", BOOT].map(OsString::from);
        let site = ready.site().into_os_string();
        // `-c` is in `sys.argv` in the place of a script's name.
        let args = boot.into_iter().chain([site]).chain(args.iter().cloned());
        Ok(Launch {
            args: args.collect(),
            program: ready.interpreter.path,
            package: None,
            lease: ready.lease,
        })
    }
}
