//! Status of a card, kind of a block, outcome of an attempt.

use crate::model::text_enum::text_enum;

text_enum! {
    /// Status of a card, in the order of the columns.
    Status {
        /// To be specified.
        Triage = "triage",
        /// Waits for its parents.
        Todo = "todo",
        Scheduled = "scheduled",
        Ready = "ready",
        /// Claimed by a worker.
        Running = "running",
        /// Waits for a person.
        Blocked = "blocked",
        /// Waits for a reviewer.
        Review = "review",
        Done = "done",
        Archived = "archived",
    } else {
        /// A status of a newer program. Such a card is shown and otherwise left alone.
        Unknown = "unknown"
    }
}

impl Status {
    /// As [`Self::parse`], for a text from the database.
    pub fn from_database(text: &str) -> Self {
        Self::parse(text).unwrap_or(Self::Unknown)
    }

    /// Whether a parent in this status holds its children back no longer.
    pub const fn satisfies_children(self) -> bool {
        matches!(self, Self::Done | Self::Archived)
    }
}

text_enum! {
    /// Why a card was blocked.
    BlockKind {
        /// Another card must be finished first.
        Dependency = "dependency",
        /// A person has to decide or answer.
        NeedsInput = "needs_input",
        /// Something no agent here can do.
        Capability = "capability",
        /// May pass by itself.
        Transient = "transient",
    }
}

text_enum! {
    /// Kind of workspace.
    #[derive(Default)]
    WorkspaceKind {
        /// A directory that is removed when the card is done.
        #[default]
        Scratch = "scratch",
        /// A directory that stays.
        Dir = "dir",
        Worktree = "worktree",
    }
}

text_enum! {
    /// How an attempt ended.
    Outcome {
        Completed = "completed",
        Blocked = "blocked",
        /// The worker was gone.
        Crashed = "crashed",
        /// The worker exceeded its time or turn limit.
        TimedOut = "timed_out",
        SpawnFailed = "spawn_failed",
        /// No worker could be started, once too often.
        GaveUp = "gave_up",
        /// The worker sent no heartbeats.
        Stale = "stale",
        Scheduled = "scheduled",
        Reclaimed = "reclaimed",
        RateLimited = "rate_limited",
        CheckFailed = "check_failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(*status));
        }
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(*outcome));
        }
        assert_eq!(Status::parse("unknown"), None);
        assert_eq!(Status::from_database("cancelled"), Status::Unknown);
        assert_eq!(BlockKind::parse("Dependency"), None);
    }
}
