//! The files of a remote host: which script answers which query of the tools.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_policy::ReadGuard;
use hermes_terminal::remote::ScriptRunner;

use super::page::{content_of, content_of_page, most_bytes, stamp_of};
use super::rules::{Home, JudgedWrite, WriteRules};
use super::search::Search;
use crate::file_ledger::FileStamp;
use crate::filesystem::operations::{
    FileCall, FileOperations, Filesystem, Loaded, PageRead, ResultToSave, Writing, Written,
};
use crate::filesystem::page::{BinaryFile, MAX_COUNTED_BYTES, PageRequest, SNIFFED_BYTES};
use crate::filesystem::search::{FileQuery, SearchResults};
use crate::remote::{ScriptAnswer, ScriptQuery};

/// Shell functions all scripts begin with.
const PATHS: &str = include_str!("scripts/paths.sh");
const HOME: &str = include_str!("scripts/home.sh");
const LOOK: &str = include_str!("scripts/look.sh");
const READ: &str = include_str!("scripts/read.sh");
const LOAD: &str = include_str!("scripts/load.sh");
const WRITE: &str = include_str!("scripts/write.sh");
const KEEP: &str = include_str!("scripts/keep.sh");
const CARRY: &str = include_str!("scripts/carry.sh");
const REMOVE: &str = include_str!("scripts/remove.sh");

/// Files up to this size come whole, and what is shown of them is found here.
const SENT_WHOLE: usize = 128 * 1024;
/// How long a write may take: content travels, and disks are slow.
const WRITE_LIMIT: Duration = Duration::from_mins(2);

/// The files of a remote host.
pub struct RemoteFiles {
    host: Arc<dyn ScriptRunner>,
    rules: WriteRules,
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
    fn account_home(&self, call: FileCall<'_>) -> Result<Home, String> {
        // Not asked under the lock: two that ask at once hear the same.
        let known = || self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = &*known() {
            return Ok(home.clone());
        }
        let mut answer = self.ask(ScriptQuery::new(HOME, call.interrupt))?;
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

    fn read_guard(&self, call: FileCall<'_>) -> Result<ReadGuard, String> {
        let home = match self.rules {
            WriteRules::Unrestricted => None,
            WriteRules::Machine { .. } => Some(self.account_home(call)?),
        };
        Ok(self.rules.read_guard(home.as_ref()))
    }

    /// Runs a script that knows paths; the error is a sentence.
    fn ask(&self, query: ScriptQuery<'_>) -> Result<ScriptAnswer, String> {
        let functions = [PATHS, query.functions].concat();
        let query = ScriptQuery {
            functions: &functions,
            ..query
        };
        query.ask(self.host.as_ref())
    }

    /// Where a path ends, and whether something is there.
    fn look(&self, path: &Path, call: FileCall<'_>) -> Result<(PathBuf, bool), String> {
        let path = tidied(path, call)?;
        let mut answer = self.ask(ScriptQuery {
            arguments: &[path.as_os_str().as_bytes()],
            ..ScriptQuery::new(LOOK, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            kind @ ("there" | "missing") => Ok((answer.path()?, kind == "there")),
            kind => Err(answer.refusal(kind, &path, "look at")),
        }
    }

    /// The error if the rules forbid a write that ends at `real`.
    fn judge(&self, write: &Writing<'_>, real: &Path) -> Result<(), String> {
        if self.rules == WriteRules::Unrestricted {
            return Ok(());
        }
        let home = self.account_home(write.call)?;
        let refusal = self.rules.refusal(&JudgedWrite {
            written: write.path,
            real,
            home: &home,
            cwd: &self.working_directory(write.call)?,
            cross_profile: write.cross_profile,
        });
        refusal.map_or(Ok(()), Err)
    }
}

impl From<RemoteFiles> for Filesystem {
    fn from(files: RemoteFiles) -> Self {
        Self::new(files)
    }
}

impl FileOperations for RemoteFiles {
    fn script_runner(&self) -> Option<Arc<dyn ScriptRunner>> {
        Some(Arc::clone(&self.host))
    }

    /// Following links there takes asking the host.
    fn real_path(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn home(&self, call: FileCall<'_>) -> Result<PathBuf, String> {
        Ok(self.account_home(call)?.written)
    }

    fn check_write(&self, write: &Writing<'_>) -> Result<PathBuf, String> {
        if self.rules == WriteRules::Unrestricted {
            // Nothing to judge; the script that writes follows the links itself.
            return tidied(write.path, write.call);
        }
        let (real, _) = self.look(write.path, write.call)?;
        self.judge(write, &real)?;
        Ok(real)
    }

    fn read_page(
        &self,
        path: &Path,
        wanted: PageRequest,
        call: FileCall<'_>,
    ) -> Result<PageRead, String> {
        let path = &tidied(path, call)?;
        // By its name alone this one is not shown, so its content can stay where it is.
        let is_data = BinaryFile::recognised(path, b"").is_some();
        let most = most_bytes(wanted);
        let numbers = [
            wanted.offset,
            if is_data { 0 } else { wanted.limit },
            SNIFFED_BYTES,
            wanted.max_line_bytes() as u64,
            most as u64,
            MAX_COUNTED_BYTES,
            SENT_WHOLE as u64,
        ]
        .map(|number| number.to_string());
        let mut arguments = vec![path.as_os_str().as_bytes()];
        arguments.extend(numbers.iter().map(String::as_bytes));
        let mut answer = self.ask(ScriptQuery {
            arguments: &arguments,
            most_output: most.max(SENT_WHOLE),
            ..ScriptQuery::new(READ, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            "file" => {}
            "missing" => return Ok(PageRead::Missing(answer.paths())),
            "directory" => return Ok(PageRead::Directory),
            "special" => return Ok(PageRead::Special),
            kind => return Err(answer.refusal(kind, path, "open")),
        }
        let real = answer.path()?;
        if let Some(message) = self.read_guard(call)?.refusal(&real) {
            return Err(message);
        }
        let (stamp, size) = stamp_of(&mut answer)?;
        let content = if answer.text()? == "whole" {
            content_of(path, answer.rest(), wanted)?
        } else {
            content_of_page(path, &mut answer, size, wanted)?
        };
        Ok(PageRead::File {
            real,
            size,
            stamp,
            content,
        })
    }

    fn load(&self, write: &Writing<'_>, most: u64) -> Result<Option<Loaded>, String> {
        let path = tidied(write.path, write.call)?;
        let one_more = most.saturating_add(1).to_string();
        let mut answer = self.ask(ScriptQuery {
            arguments: &[path.as_os_str().as_bytes(), one_more.as_bytes()],
            most_output: usize::try_from(most).unwrap_or(usize::MAX),
            ..ScriptQuery::new(LOAD, write.call.interrupt)
        })?;
        let kind = answer.text()?;
        if kind == "missing" {
            return Ok(None);
        }
        if kind != "file" {
            return Err(answer.refusal(&kind, &path, "open"));
        }
        let target = answer.path()?;
        let (stamp, size) = stamp_of(&mut answer)?;
        let bytes = answer.rest().to_vec();
        let length = bytes.len() as u64;
        if length > most {
            return Err(format!(
                "{} is larger than {most} bytes and is not edited as a whole.",
                path.display()
            ));
        }
        if length < size {
            return Err(format!(
                "could not read {}: {length} of {size} bytes arrived",
                path.display()
            ));
        }
        self.judge(write, &target)?;
        Ok(Some(Loaded {
            target,
            bytes,
            stamp,
        }))
    }

    fn vacant(&self, write: &Writing<'_>) -> Result<Option<PathBuf>, String> {
        let (real, there) = self.look(write.path, write.call)?;
        self.judge(write, &real)?;
        Ok((!there).then_some(real))
    }

    fn write(&self, target: &Path, bytes: &[u8], call: FileCall<'_>) -> Result<Written, String> {
        let length = bytes.len().to_string();
        let nonce = hermes_fs::random_hex(16);
        let mut answer = self.ask(ScriptQuery {
            arguments: &[
                target.as_os_str().as_bytes(),
                length.as_bytes(),
                nonce.as_bytes(),
            ],
            input: bytes,
            limit: WRITE_LIMIT,
            ..ScriptQuery::new(WRITE, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            "written" => {}
            "special" => {
                return Err(format!(
                    "{} is not a regular file and is not replaced.",
                    target.display()
                ));
            }
            kind => return Err(answer.refusal(kind, target, "write")),
        }
        let target = answer.path()?;
        let dirs_created = answer.text()? == "yes";
        let stamp = |text: String| (!text.is_empty()).then(|| FileStamp::reported(text));
        Ok(Written {
            target,
            dirs_created,
            before: stamp(answer.text()?),
            after: stamp(answer.text()?),
        })
    }

    fn save(&self, result: &ResultToSave<'_>, call: FileCall<'_>) -> Result<PathBuf, String> {
        let length = result.text.len().to_string();
        let mut answer = self.ask(ScriptQuery {
            arguments: &[
                result.directory.as_bytes(),
                result.file.as_bytes(),
                length.as_bytes(),
            ],
            input: result.text.as_bytes(),
            limit: WRITE_LIMIT,
            ..ScriptQuery::new(KEEP, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            "kept" => answer.path(),
            kind => Err(answer.refusal(kind, Path::new(&result.file), "write")),
        }
    }

    fn carry(&self, relative: &Path, bytes: &[u8], call: FileCall<'_>) -> Result<(), String> {
        let length = bytes.len().to_string();
        let nonce = hermes_fs::random_hex(16);
        let mut answer = self.ask(ScriptQuery {
            arguments: &[
                relative.as_os_str().as_bytes(),
                length.as_bytes(),
                nonce.as_bytes(),
            ],
            input: bytes,
            limit: WRITE_LIMIT,
            ..ScriptQuery::new(CARRY, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            "carried" => Ok(()),
            kind => Err(answer.refusal(kind, relative, "write")),
        }
    }

    fn remove(&self, target: &Path, call: FileCall<'_>) -> Result<(), String> {
        let mut answer = self.ask(ScriptQuery {
            arguments: &[target.as_os_str().as_bytes()],
            ..ScriptQuery::new(REMOVE, call.interrupt)
        })?;
        match answer.text()?.as_str() {
            "removed" => Ok(()),
            kind => Err(answer.refusal(kind, target, "remove")),
        }
    }

    fn search(&self, query: &FileQuery, call: FileCall<'_>) -> Result<SearchResults, String> {
        Search {
            ask: &|query| self.ask(query),
            query,
            guard: self.read_guard(call)?,
            interrupt: call.interrupt,
        }
        .run()
    }
}

/// An absolute path without `.` and doubled slashes. `..` stays: behind a link it leads elsewhere.
fn tidied(path: &Path, call: FileCall<'_>) -> Result<PathBuf, String> {
    if !path.is_absolute() {
        return Err(format!(
            "{} is not an absolute path, and the session's working directory is not known yet: {}.",
            path.display(),
            call.session.cwd().display()
        ));
    }
    let parts = path.components();
    Ok(parts.filter(|part| *part != Component::CurDir).collect())
}
