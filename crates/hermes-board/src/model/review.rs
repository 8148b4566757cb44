//! The review of a card's work: where it began, comments on its lines, the verdict.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::model::RepoPath;
use crate::model::text_enum::text_enum;

/// Where the work on a card began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkBase {
    /// The directory that all worktrees of the repository share.
    pub repository: PathBuf,
    pub commit: String,
    /// The branch that was checked out in the repository; `None` if none was.
    pub branch: Option<String>,
}

text_enum! {
    /// Sides of a diff.
    DiffSide {
        /// As it was.
        Old = "old",
        /// As the card leaves it.
        New = "new",
    }
}

/// What becomes of work that is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnApprove {
    /// It stays where it is.
    Keep,
    /// Its branch is merged into the one it came from.
    Merge,
    /// Its branch is pushed to this remote, or to that of the branch it came from.
    Push(Option<String>),
}

impl OnApprove {
    /// The action of a text: `none`, `merge`, `push` or `push:REMOTE`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(':') {
            None if text == "none" => Self::Keep,
            None if text == "merge" => Self::Merge,
            None if text == "push" => Self::Push(None),
            Some(("push", remote)) if is_remote_name(remote) => Self::Push(Some(remote.to_owned())),
            _ => return None,
        })
    }
}

/// Whether a text can only be the name of a remote: no address, no path, no option.
fn is_remote_name(text: &str) -> bool {
    let fits = |char: char| char.is_alphanumeric() || "._-".contains(char);
    !text.is_empty() && text.chars().all(fits) && !text.starts_with(['-', '.'])
}

impl std::fmt::Display for OnApprove {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keep => f.write_str("none"),
            Self::Merge => f.write_str("merge"),
            Self::Push(None) => f.write_str("push"),
            Self::Push(Some(remote)) => write!(f, "push:{remote}"),
        }
    }
}

impl Serialize for OnApprove {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The approval of a card's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    pub by: String,
    pub at: i64,
    /// What was done with the work: `none`, `merge` or `push:REMOTE`.
    pub action: String,
    /// The commit that was merged or pushed.
    pub commit: Option<String>,
    /// The branch it was merged into or pushed as.
    pub branch: Option<String>,
}

/// Everything about the review of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Review {
    /// `None` for work that began before this was recorded, or outside of a repository.
    pub base: Option<WorkBase>,
    /// What the card says about approved work; `None` leaves it to the board.
    pub on_approve: Option<OnApprove>,
    pub approval: Option<Approval>,
    pub comments: Vec<ReviewComment>,
}

impl Review {
    /// Comments that are not resolved.
    pub fn open(&self) -> impl Iterator<Item = &ReviewComment> {
        self.comments.iter().filter(|comment| comment.is_open())
    }
}

/// A comment on lines of a card's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewComment {
    /// Its number on the card, from 1.
    pub number: u32,
    #[serde(flatten)]
    pub lines: LineRange,
    /// The lines as they were when the comment was made, without what is beyond a limit.
    pub quote: String,
    /// The commit that was checked out then.
    pub commit: Option<String>,
    pub author: String,
    pub body: String,
    pub created_at: i64,
    /// Whether the lines could not be found any more when they were last looked for.
    pub outdated: bool,
    pub resolved_by: Option<String>,
    pub resolved_at: Option<i64>,
    pub replies: Vec<ReviewReply>,
}

impl ReviewComment {
    /// Whether nobody has resolved it.
    pub fn is_open(&self) -> bool {
        self.resolved_at.is_none()
    }
}

/// Lines of a file on one side of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineRange {
    pub file: RepoPath,
    pub side: DiffSide,
    /// From 1.
    pub first_line: u32,
    /// At least `first_line`.
    pub last_line: u32,
}

impl std::fmt::Display for LineRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.first_line)?;
        if self.last_line > self.first_line {
            write!(f, "-{}", self.last_line)?;
        }
        match self.side {
            DiffSide::Old => f.write_str(" (old)"),
            DiffSide::New => Ok(()),
        }
    }
}

/// An answer to a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewReply {
    pub author: String,
    pub body: String,
    pub created_at: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn actions_are_words_and_a_remote_is_a_name() {
        for text in ["none", "merge", "push", "push:origin", "push:my-fork_2"] {
            let action = OnApprove::parse(text).unwrap();
            assert_eq!(action.to_string(), text);
        }
        for text in [
            "",
            "Merge",
            "merge:main",
            "push:",
            "push:--force",
            "push:../other",
            "push:https://example.org/x.git",
            "push:ext::sh",
        ] {
            assert_eq!(OnApprove::parse(text), None, "{text}");
        }
    }
}
