//! The files of a remote host: which script answers which query of the tools.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_policy::ReadGuard;
use hermes_terminal::remote::ScriptRunner;

use super::rules::{Home, JudgedWrite, WriteRules};
use crate::context::CallContext;
use crate::files::filesystem::{FileOperations, Loaded, PageRead, Writing, Written};
use crate::files::page::PageRequest;
use crate::files::search::{FileQuery, SearchResults};
use crate::remote::{ScriptAnswer, ScriptQuery};
use crate::saved_result::ResultToSave;

/// Shell functions all scripts begin with.
const PATHS: &str = include_str!("scripts/paths.sh");
const HOME: &str = include_str!("scripts/home.sh");
const LOOK: &str = include_str!("scripts/look.sh");

/// The files of a remote host.
pub struct RemoteFiles {
    pub(super) host: Arc<dyn ScriptRunner>,
    pub(super) rules: WriteRules,
    home: Mutex<Option<Home>>,
}

impl RemoteFiles {
    /// The files of a host, protected by these rules. Made once for a host: it remembers where the
    /// home there is.
    pub fn new(host: Arc<dyn ScriptRunner>, rules: WriteRules) -> Self {
        Self {
            host,
            rules,
            home: Mutex::default(),
        }
    }

    /// Where the home is; asked once.
    pub(super) fn home_remote(&self, context: &CallContext) -> Result<Home, String> {
        // Not asked under the lock: two that ask at once hear the same.
        let known = || self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = &*known() {
            return Ok(home.clone());
        }
        let mut answer = self.ask(ScriptQuery::new(HOME, &context.interrupt))?;
        if answer.text()? != "home" {
            return Err(format!(
                "The home directory on {} is not known: HOME is not set there.",
                self.host.describe()
            ));
        }
        let home = Home {
            written: answer.path()?,
            real: answer.path()?,
        };
        *known() = Some(home.clone());
        Ok(home)
    }

    pub(super) fn read_guard(&self, context: &CallContext) -> Result<ReadGuard, String> {
        let home = match self.rules {
            WriteRules::Unrestricted => None,
            WriteRules::Machine { .. } => Some(self.home_remote(context)?),
        };
        Ok(self.rules.read_guard(home.as_ref()))
    }

    /// Runs a script that knows paths; the error is a sentence.
    pub(super) fn ask(&self, query: ScriptQuery<'_>) -> Result<ScriptAnswer, String> {
        let functions = [PATHS, query.functions].concat();
        let query = ScriptQuery {
            functions: &functions,
            ..query
        };
        query.ask(self.host.as_ref())
    }

    /// Where a path ends, and whether something is there.
    fn look(&self, path: &Path, context: &CallContext) -> Result<(PathBuf, bool), String> {
        let path = tidied(path, context)?;
        let mut answer = self.ask(ScriptQuery {
            arguments: &[path.as_os_str().as_bytes()],
            ..ScriptQuery::new(LOOK, &context.interrupt)
        })?;
        match answer.text()?.as_str() {
            kind @ ("there" | "missing") => Ok((answer.path()?, kind == "there")),
            kind => Err(answer.refusal(kind, &path, "look at")),
        }
    }

    /// The error if the rules forbid a write that ends at `real`.
    pub(super) fn judge(&self, write: &Writing<'_>, real: &Path) -> Result<(), String> {
        if self.rules == WriteRules::Unrestricted {
            return Ok(());
        }
        let home = self.home_remote(write.context)?;
        let refusal = self.rules.refusal(&JudgedWrite {
            written: write.path,
            real,
            home: &home,
            cwd: &write.context.working_directory()?,
            cross_profile: write.cross_profile,
        });
        refusal.map_or(Ok(()), Err)
    }
}

impl FileOperations for RemoteFiles {
    fn describe(&self) -> String {
        self.host.describe()
    }

    fn script_runner(&self) -> Option<Arc<dyn ScriptRunner>> {
        Some(Arc::clone(&self.host))
    }

    /// Following links there takes asking the host.
    fn real_path(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn home(&self, context: &CallContext) -> Result<PathBuf, String> {
        Ok(self.home_remote(context)?.written)
    }

    fn check_write(&self, write: &Writing<'_>) -> Result<PathBuf, String> {
        if self.rules == WriteRules::Unrestricted {
            // Nothing to judge; the script that writes follows the links itself.
            return tidied(write.path, write.context);
        }
        let (real, _) = self.look(write.path, write.context)?;
        self.judge(write, &real)?;
        Ok(real)
    }

    fn read_page(
        &self,
        path: &Path,
        wanted: PageRequest,
        context: &CallContext,
    ) -> Result<PageRead, String> {
        self.read_page_remote(&tidied(path, context)?, wanted, context)
    }

    fn load(&self, write: &Writing<'_>, most: u64) -> Result<Option<Loaded>, String> {
        let path = tidied(write.path, write.context)?;
        let loaded = self.load_remote(&path, most, write.context)?;
        if let Some(loaded) = &loaded {
            self.judge(write, &loaded.target)?;
        }
        Ok(loaded)
    }

    fn vacant(&self, write: &Writing<'_>) -> Result<Option<PathBuf>, String> {
        let (real, there) = self.look(write.path, write.context)?;
        self.judge(write, &real)?;
        Ok((!there).then_some(real))
    }

    fn write(&self, target: &Path, bytes: &[u8], context: &CallContext) -> Result<Written, String> {
        self.write_remote(target, bytes, context)
    }

    fn keep(&self, keeping: &ResultToSave<'_>) -> Result<PathBuf, String> {
        self.keep_remote(keeping)
    }

    fn remove(&self, target: &Path, context: &CallContext) -> Result<(), String> {
        self.remove_remote(target, context)
    }

    fn search(&self, query: &FileQuery, context: &CallContext) -> Result<SearchResults, String> {
        self.search_remote(query, context)
    }
}

/// An absolute path without `.` and doubled slashes. `..` stays: behind a link it leads elsewhere.
fn tidied(path: &Path, context: &CallContext) -> Result<PathBuf, String> {
    if !path.is_absolute() {
        return Err(format!(
            "{} is not a full path, and where the session works is not known yet: {}.",
            path.display(),
            context.session.cwd().display()
        ));
    }
    let parts = path.components();
    Ok(parts.filter(|part| *part != Component::CurDir).collect())
}
