//! Starting an add-on's interpreter.

use std::ffi::OsString;
use std::path::PathBuf;

use hermes_fs::SharedLock;

use crate::addons::Addons;
use crate::error::{AddonError, Code, Result};
use crate::interpreter::Interpreter;
use crate::store::{Index, StoredFeature};

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

/// An interpreter with an add-on behind its standard library.
#[derive(Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Keeps the environment from being removed; to be held while the program runs.
    pub lease: Option<SharedLock>,
}

impl Addons {
    /// The command that runs a script, a module (`-m`) or code (`-c`) with an add-on.
    pub fn launch(&self, name: &str, args: &[OsString]) -> Result<Launch> {
        let feature = Self::feature(name)?;
        let missing = |code: Code, reason: String| {
            AddonError::new(code, reason)
                .hint(format!("run: hermes addons install {}", feature.name))
                .of(feature.name)
        };
        let not_installed = || missing(Code::NotInstalled, "it is not installed".to_owned());
        if feature.addon().is_none() {
            let reason = "it is not an add-on, and has no interpreter";
            return Err(AddonError::new(Code::Unsupported, reason).of(feature.name));
        }
        let store = self
            .existing_store()
            .map_err(|error| error.of(feature.name))?;
        let store = store.ok_or_else(not_installed)?;
        let (index, _) = Index::load(&store);
        let stored = StoredFeature::find(&store, feature.name, &index).ok_or_else(not_installed)?;
        let lease = stored.generation.lease(&store);
        // It may have gone between the two steps.
        if !stored.generation.is_present(&store) {
            return Err(not_installed());
        }
        let path = &stored.indexed.interpreter;
        match Interpreter::probe(path) {
            Ok(found) if found.abi == stored.indexed.abi => {}
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
        }
        let boot = ["-I", "-S", "-B", "-X", "utf8", "-c", BOOT].map(OsString::from);
        let site = stored.generation.site(&store).into_os_string();
        // `-c` is in `sys.argv` in the place of a script's name.
        let args = boot.into_iter().chain([site]).chain(args.iter().cloned());
        Ok(Launch {
            program: path.clone(),
            args: args.collect(),
            lease,
        })
    }
}
