//! The store on disk: made once, locked while it changes, its settings looked at before git is run.
//!
//! `checkpoints/store` is a bare git repository with `indexes/<id>` and `projects/<id>.json` beside
//! what git keeps there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_config::Environment;
use hermes_fs::{
    FileLock, LockOptions, Staging, create_dir_all, exists_no_follow, read_text_capped,
    remove_file_if_present, write_atomic_exact,
};
use hermes_proc::{EnvPlan, Git, GitError, GitLimits, GitStore};
use serde_json::{Map, Value, json};

use crate::exclude::{ATTRIBUTES, PATTERNS};
use crate::limits::git_timeout;
use crate::{Error, Project, Result};

/// Beginning of the names of directories that hold what an older layout left.
pub(crate) const LEGACY: &str = "legacy-";
/// When the store was last tidied up, in seconds since 1970.
pub(crate) const MARKER: &str = ".last_prune";
/// The directory of a home that has everything about snapshots.
pub(crate) const BASE: &str = "checkpoints";
const LOCK: &str = ".lock";
const STORE: &str = "store";
/// Settings of the repository; git gets them by name as well.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[user]\n\
    \temail = hermes@local\n\tname = Hermes Checkpoint\n[commit]\n\tgpgsign = false\n[tag]\n\tgpgSign = \
    false\n[gc]\n\tauto = 0\n";
/// Settings that a store may have: those above, and those that git writes by itself.
const SETTINGS: [&str; 15] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.logallrefupdates",
    "user.email",
    "user.name",
    "commit.gpgsign",
    "tag.gpgsign",
    "gc.auto",
    "extensions.objectformat",
    "extensions.refstorage",
    "maintenance.auto",
];
/// Directories without which git takes the store for no repository. Its own tidying up removes them
/// when they are empty.
const NEEDED: [&str; 2] = ["refs/heads", "branches"];
/// Longest file of the store that is read here.
const LONGEST: u64 = 64 * 1024;
/// After this time a lock of git's belongs to nobody any more: no call of it takes as long.
const STALE_LOCK: Duration = Duration::from_mins(10);
/// Bytes of an answer of git's that are kept.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;

/// The snapshots of a home.
#[derive(Debug, Clone)]
pub struct Store {
    base: PathBuf,
    git: Option<Git>,
    timeout: Duration,
}

impl Store {
    /// The store of a home, which need not exist. `plan` is the environment of a program that is run for
    /// our own ends.
    pub fn of_home(home: &Path, plan: EnvPlan, env: &Environment) -> Self {
        Self {
            base: home.join(BASE),
            git: Git::find(plan).ok().map(|git| git.of_nobody()),
            timeout: git_timeout(env),
        }
    }

    /// The directory of everything about snapshots.
    pub fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.base.join(STORE)
    }

    /// Whether anything was ever saved.
    pub(crate) fn exists(&self) -> bool {
        exists_no_follow(&self.directory().join("HEAD"))
    }

    pub(crate) fn index(&self, project: &Project) -> PathBuf {
        self.directory().join("indexes").join(project.id())
    }

    pub(crate) fn record_path(&self, id: &str) -> PathBuf {
        self.directory().join("projects").join(format!("{id}.json"))
    }

    /// Keeps other processes of ours from changing the store.
    pub(crate) fn lock(&self) -> Result<FileLock> {
        let options = LockOptions {
            what: "the store of snapshots",
            // Somebody else's first snapshot of a large directory.
            timeout: self.timeout * 2,
        };
        loop {
            create_dir_all(&self.base, 0o700)?;
            let lock = match FileLock::acquire(&self.base.join(LOCK), &options) {
                Ok(lock) => lock,
                // Cleared meanwhile, as below.
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            // All snapshots may have been cleared while this waited, the lock with them.
            if lock.is_in_place()? {
                return Ok(lock);
            }
        }
    }

    /// Makes the store if it is not there. Called under the lock.
    pub(crate) fn ensure(&self) -> Result<()> {
        let store = self.directory();
        if !self.exists() {
            if !exists_no_follow(&store) {
                self.set_legacy_aside()?;
            }
            self.create()?;
        }
        let attributes = store.join("info/attributes");
        if !exists_no_follow(&attributes) {
            create_dir_all(&store.join("info"), 0o700)?;
            write_atomic_exact(&attributes, ATTRIBUTES.as_bytes(), 0o600)?;
        }
        self.make_needed()
    }

    /// Makes the directories without which git does not know the store.
    pub(crate) fn make_needed(&self) -> Result<()> {
        for needed in NEEDED {
            create_dir_all(&self.directory().join(needed), 0o700)?;
        }
        Ok(())
    }

    fn create(&self) -> Result<()> {
        let git = self.git.as_ref().ok_or(Error::NoGit)?;
        Staging::sweep(&self.base, STORE)?;
        let staging = Staging::begin(&self.base, STORE)?;
        let words = ["init", "--quiet", "--bare", "--template=", "."];
        git.run_within(staging.path(), words, self.limits(1))?;
        let put = |name: &str, text: &str| -> Result<()> {
            let path = staging.path().join(name);
            Ok(write_atomic_exact(&path, text.as_bytes(), 0o600)?)
        };
        for directory in ["indexes", "projects", "info"] {
            create_dir_all(&staging.path().join(directory), 0o700)?;
        }
        put("config", CONFIG)?;
        put("info/exclude", &format!("{}\n", PATTERNS.join("\n")))?;
        put("info/attributes", ATTRIBUTES)?;
        let store = self.directory();
        if exists_no_follow(&store) {
            // Begun by a program that was killed: there is nothing in it without a HEAD.
            hermes_fs::remove_tree(&store)?;
        }
        Ok(staging.publish(&store)?)
    }

    /// Moves what an older layout left, one repository for each directory, out of the way.
    fn set_legacy_aside(&self) -> Result<()> {
        let mut target = None;
        for entry in hermes_fs::read_dir(&self.base)? {
            let name = entry.name.to_string_lossy();
            if [STORE, MARKER, LOCK].contains(&&*name)
                || name.starts_with(LEGACY)
                || name.starts_with(&format!(".{STORE}."))
            {
                continue;
            }
            let aside = target.get_or_insert_with(|| {
                let stamp = hermes_time::now().strftime("%Y%m%d-%H%M%S").to_string();
                self.base.join(format!("{LEGACY}{stamp}"))
            });
            create_dir_all(aside, 0o700)?;
            hermes_fs::rename(&entry.path, &aside.join(&entry.name))?;
        }
        Ok(())
    }

    /// Refuses a store whose settings could make git run something, or that has them elsewhere.
    fn check_settings(&self) -> Result<()> {
        let elsewhere = self.directory().join("commondir");
        if exists_no_follow(&elsewhere) {
            return Err(Error::ForeignSetting {
                file: elsewhere,
                setting: "commondir".to_owned(),
            });
        }
        let file = self.directory().join("config");
        let text = read_text_capped(&file, LONGEST)?;
        match foreign_setting(&text) {
            None => Ok(()),
            Some(setting) => Err(Error::ForeignSetting { file, setting }),
        }
    }

    /// Removes locks of git's that a killed call left. Called under our own lock.
    pub(crate) fn remove_stale_locks(&self, project: Option<&Project>) {
        let store = self.directory();
        let mut locks = vec![store.join("packed-refs.lock"), store.join("shallow.lock")];
        if let Some(project) = project {
            locks.push(store.join(format!("indexes/{}.lock", project.id())));
            locks.push(store.join(format!("{}.lock", project.reference())));
        }
        for lock in locks {
            let age = hermes_fs::symlink_metadata(&lock)
                .ok()
                .and_then(|meta| meta.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > STALE_LOCK)
                && let Err(error) = remove_file_if_present(&lock)
            {
                tracing::warn!(%error, "a lock that git left was not removed");
            }
        }
    }

    /// How long a call may take: so many times the limit.
    pub(crate) fn limits(&self, times: u32) -> GitLimits {
        GitLimits {
            timeout: self.timeout * times,
            max_output: MAX_OUTPUT,
        }
    }

    /// Git on the store, for what concerns no work tree.
    pub(crate) fn plain(&self) -> Result<StoreGit> {
        self.git_on(&self.base, &self.directory().join("index"))
    }

    /// Git on the store with a project as its work tree. Every call of git on the store begins here.
    pub(crate) fn git_on(&self, work_tree: &Path, index: &Path) -> Result<StoreGit> {
        let git = self.git.as_ref().ok_or(Error::NoGit)?;
        self.check_settings()?;
        Ok(StoreGit {
            git: git.on_store(GitStore {
                directory: &self.directory(),
                work_tree,
                index,
            }),
            work_tree: work_tree.to_owned(),
            limits: self.limits(1),
        })
    }

    /// The records of all projects, each with its name.
    pub(crate) fn records(&self) -> Result<Vec<(String, Map<String, Value>)>> {
        let directory = self.directory().join("projects");
        let entries = match hermes_fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let records = entries.into_iter().filter_map(|entry| {
            let name = entry.name.to_str()?.strip_suffix(".json")?.to_owned();
            let is_id = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            let record = read_record(&entry.path).filter(|_| is_id)?;
            Some((name, record))
        });
        Ok(records.collect())
    }

    /// Writes down that a project is in use.
    pub(crate) fn touch(&self, project: &Project) -> Result<()> {
        let path = self.record_path(project.id());
        let now = seconds_now();
        let mut record = read_record(&path).unwrap_or_default();
        let directory = project.directory().to_string_lossy();
        record.insert("workdir".to_owned(), json!(directory));
        record.entry("created_at").or_insert(json!(now));
        record.insert("last_touch".to_owned(), json!(now));
        if let Some(parent) = path.parent() {
            create_dir_all(parent, 0o700)?;
        }
        let text = Value::Object(record).to_string();
        Ok(write_atomic_exact(&path, text.as_bytes(), 0o600)?)
    }
}

/// A call of git's on the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreGit {
    git: Git,
    work_tree: PathBuf,
    limits: GitLimits,
}

impl StoreGit {
    /// With more settings.
    #[must_use]
    pub(crate) fn with_settings(mut self, settings: &[&'static str]) -> Self {
        self.git = self.git.with_settings(settings);
        self
    }

    /// With so many times the time.
    #[must_use]
    pub(crate) fn patient(mut self, times: u32) -> Self {
        self.limits.timeout *= times;
        self
    }

    pub(crate) fn run<A: Into<OsString>>(
        &self,
        words: impl IntoIterator<Item = A>,
    ) -> std::result::Result<String, GitError> {
        self.git.run_within(&self.work_tree, words, self.limits)
    }

    pub(crate) fn run_with<A: Into<OsString>>(
        &self,
        words: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> std::result::Result<Vec<u8>, GitError> {
        let git = &self.git;
        git.run_with_input(&self.work_tree, words, input, self.limits)
    }
}

pub(crate) fn seconds_now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn read_record(path: &Path) -> Option<Map<String, Value>> {
    let text = read_text_capped(path, LONGEST).ok()?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(record)) => Some(record),
        Ok(_) | Err(_) => None,
    }
}

/// The first setting in a file of git's that no store needs, or the line that cannot be read.
fn foreign_setting(text: &str) -> Option<String> {
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            match name.strip_suffix(']') {
                Some(name) if name.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                    section = name.to_ascii_lowercase();
                    continue;
                }
                _ => return Some(line.to_owned()),
            }
        }
        let key = line.split('=').next().unwrap_or(line).trim();
        let setting = format!("{section}.{}", key.to_ascii_lowercase());
        // A value that goes on in the next line could hide the next setting.
        if line.ends_with('\\') || !SETTINGS.contains(&setting.as_str()) {
            return Some(setting);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn settings_that_run_programs_are_found() {
        let known = |text: &str| foreign_setting(&format!("{CONFIG}{text}"));
        assert_eq!(known(""), None);
        assert_eq!(known("# a comment\n[GC]\n Auto=1\n"), None);
        for (text, found) in [
            ("[core]\n\tfsmonitor = /x\n", "core.fsmonitor"),
            ("[filter \"x\"]\n\tclean = /x\n", "[filter \"x\"]"),
            ("[include]\npath = /x\n", "include.path"),
            ("[gc]\nrecentObjectsHook = /x\n", "gc.recentobjectshook"),
            ("[core] pager = /x\n", "[core] pager = /x"),
            ("[user]\nname = a \\\n", "user.name"),
        ] {
            assert_eq!(known(text).as_deref(), Some(found), "{text}");
        }
    }
}
