//! What the work on a card changed, as values. They serialise to what `kanban diff --json` prints.

use serde::Serialize;

use crate::model::RepoPath;
use crate::model::text_enum::text_enum;

/// Everything that a card's work changed: commits of its branch, staged, unstaged and untracked files
/// in one view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub base: DiffBase,
    /// The commit that is checked out; `None` if there is none.
    pub head: Option<String>,
    pub branch: Option<String>,
    /// Changes whenever the work does.
    pub fingerprint: String,
    pub files: Vec<DiffFile>,
    /// Files that changed and are not among `files`.
    pub omitted: Vec<OmittedFile>,
}

impl Diff {
    /// A changed file by its name, or by its name before.
    pub fn file(&self, path: &RepoPath) -> Option<&DiffFile> {
        let mut files = self.files.iter();
        files.find(|file| file.path == *path || file.old_path.as_ref() == Some(path))
    }
}

/// What the work is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffBase {
    /// A commit, or the tree without files.
    pub commit: String,
    /// The branch that the work came from.
    pub branch: Option<String>,
    pub origin: Origin,
}

text_enum! {
    /// How the base of a diff was found.
    Origin {
        /// It was recorded when the work began.
        Recorded = "recorded",
        /// Where the card's branch and the one it came from part.
        MergeBase = "merge_base",
        /// The commit that is checked out: only what is not committed shows.
        Head = "head",
        /// There was nothing before.
        Nothing = "nothing",
    }
}

text_enum! {
    /// What happened to a file.
    Change {
        Added = "added",
        Deleted = "deleted",
        Modified = "modified",
        Renamed = "renamed",
        Copied = "copied",
        /// Its conflicts are not resolved.
        Unmerged = "unmerged",
    }
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffFile {
    pub path: RepoPath,
    /// Its name before, if that was another.
    pub old_path: Option<RepoPath>,
    pub change: Change,
    /// Modes as git writes them: `100644`, `100755`, `120000` (a link), `160000` (a submodule).
    pub old_mode: Option<String>,
    pub mode: Option<String>,
    /// Whether its content is not shown: it is no text, or too large.
    pub binary: bool,
    pub additions: usize,
    pub deletions: usize,
    pub hunks: Vec<DiffHunk>,
}

/// Lines that changed, with some around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffHunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// The line that the hunk lies below, such as the head of a function.
    pub heading: String,
    pub lines: Vec<DiffLine>,
}

text_enum! {
    /// Kinds of lines in a hunk.
    LineKind {
        Context = "context",
        Added = "added",
        Removed = "removed",
    }
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Its number before; `None` for an added line.
    pub old: Option<u32>,
    /// Its number now; `None` for a removed line.
    pub new: Option<u32>,
    /// Without the line break; bytes that are no text are replaced.
    pub text: String,
    /// Whether the file ends here without a line break.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_newline: bool,
}

/// A changed file that is only named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedFile {
    pub path: RepoPath,
    /// Why, in a few words.
    pub reason: String,
}
