//! The work on a card where it was done, looked at with git: what it changed against where it began.
//!
//! Whoever worked there may have put anything into the workspace, also another repository, or a link
//! instead of the directory. So the repository is not looked up: the one that the worktree was made
//! in must know it, and nothing that a repository names is run. Reading works on a copy of the index
//! and changes nothing.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{Directory, Staging};
use hermes_proc::{Git, GitLimits, GitOutput, GitPlace, GitStore};
use sha2::{Digest, Sha256};

use crate::boards::Board;
use crate::dispatch::WorkerSetup;
use crate::dispatch::local::helper_git;
use crate::model::{DiffSide, RepoPath, Review, Task, WorkspaceKind};
use crate::review::diff::{Change, Diff, DiffBase, DiffFile, OmittedFile, Origin};
use crate::review::parse;
use crate::review::place;
use crate::review_error::ReviewError;
use crate::{Error, Result};

/// Time of one call of git, on large repositories.
const TIMEOUT: Duration = Duration::from_mins(3);
/// Bytes of a diff that are read.
const DIFF_LIMIT: usize = 32 * 1024 * 1024;
/// Bytes of a patch with the content of binary files.
const PATCH_LIMIT: usize = 128 * 1024 * 1024;
/// Bytes of a list of names.
const NAMES_LIMIT: usize = 16 * 1024 * 1024;
/// Larger files are not compared, only named.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;
const BIG_FILE: &str = "core.bigFileThreshold=8m";
/// Untracked files that are looked at.
const MOST_UNTRACKED: usize = 5000;
/// Files that are named as left out.
const MOST_OMITTED: usize = 200;
/// Name of the directories that hold copies of an index.
const TEMPORARY: &str = "review";

/// What makes a diff the same whatever a repository has configured.
const DIFF_ARGS: [&str; 13] = [
    "--no-color",
    "--no-relative",
    "--unified=3",
    "--inter-hunk-context=0",
    "--find-renames",
    "--diff-algorithm=histogram",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--full-index",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "-O/dev/null",
    "--patch",
];
const DIFF_SETTINGS: [&str; 5] = [
    BIG_FILE,
    "core.quotePath=true",
    "diff.suppressBlankEmpty=false",
    "diff.renameLimit=2000",
    "diff.noprefix=false",
];

/// The work on a card, in its workspace.
#[derive(Debug)]
pub struct ReviewedWork {
    pub(super) task: Task,
    pub(super) kind: WorkspaceKind,
    /// In the repository of the work, with its own index.
    pub(super) git: Git,
    /// Git where repositories are looked up.
    pub(super) anywhere: Git,
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// The work tree, held open: files are read from there.
    directory: Directory,
    /// The part of the work tree that the card is about, if not all of it.
    scope: Option<PathBuf>,
    index: PathBuf,
    pub(super) base: DiffBase,
    pub(super) head: Option<String>,
    pub(super) branch: Option<String>,
    /// Holds the copy of the index.
    _temporary: Staging,
}

/// A diff as text that `git apply` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub bytes: Vec<u8>,
    /// Files that are not in it.
    pub omitted: Vec<OmittedFile>,
}

impl ReviewedWork {
    /// Finds the work on a card.
    pub fn open(board: &Board, task: &Task, review: &Review, setup: &WorkerSetup) -> Result<Self> {
        let path = match &task.repository {
            Some(address) => place::checked_out(board, task, address, setup)?,
            None => place::workspace(task)?,
        };
        Self::open_at(board, task, review, setup, path)
    }

    /// The work on a card, in a directory of this machine.
    fn open_at(
        board: &Board,
        task: &Task,
        review: &Review,
        setup: &WorkerSetup,
        path: PathBuf,
    ) -> Result<Self> {
        setup.workspaces.check_for(task, &path)?;
        let base = place::base_here(board, task, review.base.as_ref(), setup)?;
        let base = base.as_ref();
        let kind = task.workspace().ok_or_else(|| {
            let kind = crate::shown(&task.workspace_kind, 40);
            Error::BadRequest(format!("unknown kind of workspace: '{kind}'"))
        })?;
        let git = helper_git(setup).map_err(ReviewError::from)?;
        hermes_fs::create_dir_all(&board.workspaces, 0o700)?;
        Staging::sweep(&board.workspaces, TEMPORARY)?;
        let temporary = Staging::begin(&board.workspaces, TEMPORARY)?;
        let index = temporary.path().join("index");
        let place = match kind {
            WorkspaceKind::Scratch => None,
            WorkspaceKind::Worktree => Some(place::worktree(task, &path, base)?),
            WorkspaceKind::Dir => Some(place::directory(task, &path, base, &git)?),
        };
        let Some(place) = place else {
            return Self::scratch(task, &path, &git, temporary, index);
        };
        let own = place.git_dir.join("index");
        if hermes_fs::exists_no_follow(&own) {
            // A file that was changed in the second in which the index was written is looked into
            // because of the time of the index: a newer copy would hide the change.
            hermes_fs::copy_file_with_time(&own, &index, 0o600)?;
        }
        let at = GitPlace {
            directory: &place.git_dir,
            work_tree: &place.top,
        };
        let mut work = Self {
            task: task.clone(),
            kind,
            git: git.at(at),
            anywhere: git,
            directory: Directory::open(&place.top)?,
            top: place.top,
            scope: place.scope,
            index,
            base: DiffBase {
                commit: String::new(),
                branch: None,
                origin: Origin::Nothing,
            },
            head: None,
            branch: None,
            _temporary: temporary,
        };
        work.head = work.commit("HEAD")?;
        work.branch = work.current_branch()?;
        work.base = work.find_base(base)?;
        Ok(work)
    }

    /// Files outside of any repository, compared with nothing.
    fn scratch(
        task: &Task,
        path: &Path,
        git: &Git,
        temporary: Staging,
        index: PathBuf,
    ) -> Result<Self> {
        let store = temporary.path().join("store");
        let words: [OsString; 4] = [
            "init".into(),
            "-q".into(),
            "--bare".into(),
            store.clone().into(),
        ];
        let nobody = git.of_nobody();
        nobody
            .run(temporary.path(), words)
            .map_err(ReviewError::from)?;
        let at = GitStore {
            directory: &store,
            work_tree: path,
            index: &index,
        };
        let mut work = Self {
            task: task.clone(),
            kind: WorkspaceKind::Scratch,
            git: nobody.on_store(at),
            anywhere: git.clone(),
            top: path.to_owned(),
            directory: Directory::open(path)?,
            scope: None,
            index,
            base: DiffBase {
                commit: String::new(),
                branch: None,
                origin: Origin::Nothing,
            },
            head: None,
            branch: None,
            _temporary: temporary,
        };
        work.base.commit = work.empty_tree()?;
        Ok(work)
    }

    /// What the work changed; of these files only, if any are given.
    pub fn diff(&self, only: &[RepoPath]) -> Result<Diff> {
        let mut omitted = self.note_untracked()?;
        let mut words: Vec<OsString> = vec!["diff".into()];
        words.extend(DIFF_ARGS.map(OsString::from));
        words.push(self.base.commit.clone().into());
        words.extend(self.paths(only, &[]));
        let output = self.look(words, DIFF_LIMIT)?;
        let files = parse::files(&output.bytes, output.truncated);
        if output.truncated {
            let reason = format!("the diff has more than {} MiB", DIFF_LIMIT / (1024 * 1024));
            let names = self.changed_names(only)?.into_iter();
            let missing = names.filter(|name| !files.iter().any(|file| file.path == *name));
            omitted.extend(missing.take(MOST_OMITTED).map(|path| OmittedFile {
                path,
                reason: reason.clone(),
            }));
        }
        if !only.is_empty() {
            omitted.retain(|file| only.contains(&file.path));
        }
        let mut hash = Sha256::new();
        hash.update(self.base.commit.as_bytes());
        hash.update(&output.bytes);
        let digest = hash.finalize();
        Ok(Diff {
            base: self.base.clone(),
            head: self.head.clone(),
            branch: self.branch.clone(),
            fingerprint: hermes_fs::hex(digest.get(..8).unwrap_or_default()),
            files,
            omitted,
        })
    }

    /// The same as text that `git apply` takes, with the content of binary files.
    pub fn patch(&self, diff: &Diff, only: &[RepoPath]) -> Result<Patch> {
        let too_large = self.too_large(&diff.files)?;
        let mut words: Vec<OsString> = vec!["diff".into()];
        words.extend(DIFF_ARGS.map(OsString::from));
        words.push("--binary".into());
        words.push(self.base.commit.clone().into());
        let left_out: Vec<RepoPath> = too_large.iter().map(|file| file.path.clone()).collect();
        words.extend(self.paths(only, &left_out));
        let output = self.look(words, PATCH_LIMIT)?;
        if output.truncated {
            return Err(ReviewError::TooLarge { limit: PATCH_LIMIT }.into());
        }
        let mut omitted = diff.omitted.clone();
        omitted.retain(|file| !file.reason.starts_with("the diff has more"));
        omitted.extend(too_large);
        Ok(Patch {
            bytes: output.bytes,
            omitted,
        })
    }

    /// The lines of a changed file on one side.
    pub fn lines(&self, file: &DiffFile, side: DiffSide) -> Result<Vec<String>> {
        let problem = |problem: &str| ReviewError::NoLines {
            file: file.path.to_string(),
            problem: problem.to_owned(),
        };
        let bytes = match side {
            DiffSide::New => self.content(&file.path).map_err(|why| problem(&why))?,
            DiffSide::Old => {
                let path = file.old_path.as_ref().unwrap_or(&file.path);
                let mut object = OsString::from(&self.base.commit);
                object.push(":");
                object.push(path.as_path());
                let words: [OsString; 3] = ["cat-file".into(), "blob".into(), object];
                let limit = usize::try_from(FILE_LIMIT).unwrap_or(usize::MAX);
                let found = self.look(words.to_vec(), limit);
                let found = found.map_err(|_| problem("it was not there before"))?;
                if found.truncated {
                    return Err(problem("it is too large").into());
                }
                found.bytes
            }
        };
        if bytes.contains(&0) {
            return Err(problem("it is no text").into());
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The content of a file as it is now. No link is followed.
    fn content(&self, path: &RepoPath) -> std::result::Result<Vec<u8>, String> {
        let opened = self.directory.open_file(path.as_path());
        let (file, metadata) = match opened {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Err("it is not there any more".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        let mut bytes = Vec::new();
        let read = file.take(FILE_LIMIT + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_LIMIT {
            return Err("it is too large".to_owned());
        }
        Ok(bytes)
    }

    /// Runs git on the copy of the index.
    fn look(&self, words: Vec<OsString>, max_output: usize) -> Result<GitOutput> {
        self.look_with_input(words, b"", max_output)
    }

    fn look_with_input(
        &self,
        words: Vec<OsString>,
        input: &[u8],
        max_output: usize,
    ) -> Result<GitOutput> {
        let limits = GitLimits {
            timeout: TIMEOUT,
            max_output,
        };
        let git = self.git.clone().with_index(&self.index);
        let git = git.with_settings(&DIFF_SETTINGS);
        let answer = git.run_accepting(&[0], &self.top, words, input, limits);
        Ok(answer.map_err(ReviewError::from)?)
    }

    /// Makes untracked files known to the copy of the index, so that a diff shows them.
    fn note_untracked(&self) -> Result<Vec<OmittedFile>> {
        let words = [
            "ls-files",
            "--others",
            "--exclude-standard",
            "-z",
            "--full-name",
        ];
        let mut words: Vec<OsString> = words.map(OsString::from).into();
        words.extend(self.paths(&[], &[]));
        let names = self.look(words, NAMES_LIMIT)?.bytes;
        let mut names = names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let mut omitted = Vec::new();
        let mut known = Vec::new();
        for name in names.by_ref().take(MOST_UNTRACKED) {
            if let Some(repository) = name.strip_suffix(b"/") {
                omitted.push(OmittedFile {
                    path: RepoPath::from_bytes(repository),
                    reason: "a repository of its own".to_owned(),
                });
                continue;
            }
            known.extend_from_slice(name);
            known.push(0);
        }
        omitted.extend(names.take(MOST_OMITTED).map(|name| OmittedFile {
            path: RepoPath::from_bytes(name),
            reason: format!("more than {MOST_UNTRACKED} untracked files"),
        }));
        if known.is_empty() {
            return Ok(omitted);
        }
        let words = [
            "add",
            "--intent-to-add",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        let limits = GitLimits {
            timeout: TIMEOUT,
            ..GitLimits::default()
        };
        let git = self
            .git
            .clone()
            .with_index(&self.index)
            .with_literal_paths();
        git.run_with_input(&self.top, words, &known, limits)
            .map_err(ReviewError::from)?;
        Ok(omitted)
    }

    /// Arguments that limit a command to files of the card, to these if any are given, without those.
    fn paths(&self, only: &[RepoPath], without: &[RepoPath]) -> Vec<OsString> {
        let named = |magic: &str, path: &Path| {
            let mut word = OsString::from(magic);
            word.push(path);
            word
        };
        let mut words = vec![OsString::from("--")];
        if only.is_empty() {
            let scope = self.scope.as_deref();
            words.extend(scope.map(|scope| named(":(top,literal)", scope)));
        } else {
            words.extend(
                only.iter()
                    .map(|path| named(":(top,literal)", path.as_path())),
            );
        }
        if words.len() == 1 && !without.is_empty() {
            words.push(":(top)".into());
        }
        let without = without.iter();
        words.extend(without.map(|path| named(":(top,literal,exclude)", path.as_path())));
        words
    }

    fn changed_names(&self, only: &[RepoPath]) -> Result<Vec<RepoPath>> {
        let words = [
            "diff",
            "--name-only",
            "-z",
            "--find-renames",
            "--ignore-submodules=dirty",
        ];
        let mut words: Vec<OsString> = words.map(OsString::from).into();
        words.push(self.base.commit.clone().into());
        words.extend(self.paths(only, &[]));
        let names = self.look(words, NAMES_LIMIT)?.bytes;
        let names = names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names.map(RepoPath::from_bytes).collect())
    }

    /// Binary files whose content would fill a patch.
    fn too_large(&self, files: &[DiffFile]) -> Result<Vec<OmittedFile>> {
        let binary: Vec<&DiffFile> = files.iter().filter(|file| file.binary).collect();
        if binary.is_empty() {
            return Ok(Vec::new());
        }
        // What was not there before has no size; asking for it would be answered with its name.
        let is_old = |file: &&&DiffFile| file.change != Change::Added;
        let mut objects = Vec::new();
        for file in binary.iter().filter(is_old) {
            objects.extend_from_slice(self.base.commit.as_bytes());
            objects.push(b':');
            let path = file.old_path.as_ref().unwrap_or(&file.path);
            objects.extend_from_slice(path.as_bytes());
            objects.push(0);
        }
        let mut sizes = String::new();
        if !objects.is_empty() {
            let words = ["cat-file", "--batch-check=%(objectsize)", "-z"];
            let words = words.map(OsString::from).into();
            let answer = self.look_with_input(words, &objects, NAMES_LIMIT)?;
            sizes = String::from_utf8_lossy(&answer.bytes).into_owned();
        }
        let mut sizes = sizes.lines().map(|line| line.parse().unwrap_or(0));
        let mut found = Vec::new();
        for file in binary {
            let now = self.directory.metadata(file.path.as_path());
            let now = now.map_or(0, |metadata| metadata.len());
            let before = if is_old(&&file) { sizes.next() } else { None };
            if now.max(before.unwrap_or(0)) > FILE_LIMIT {
                let reason = format!("larger than {} MiB", FILE_LIMIT / (1024 * 1024));
                found.push(OmittedFile {
                    path: file.path.clone(),
                    reason,
                });
            }
        }
        Ok(found)
    }
}
