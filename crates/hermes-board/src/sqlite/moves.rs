//! Moving a card to another column by hand, where no verb of the board leads there.

use serde_json::json;

use crate::model::{Status, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::{Error, Result};

impl StoredBoard {
    /// Puts a card that nobody works on into triage, to do or ready. A card that was done is open
    /// again: those that wait for it wait once more, and its approval is void.
    pub fn move_to(&mut self, id: &TaskId, to: Status) -> Result<()> {
        self.write(|tx| tx.move_to(id, to))
    }
}

impl Transaction<'_> {
    fn move_to(&self, id: &TaskId, to: Status) -> Result<()> {
        let state = self.card_state(id)?;
        if state.status == Status::Running {
            return Err(Error::InProgress {
                id: id.clone(),
                action: "move",
                lock: state.lock,
            });
        }
        match to {
            Status::Ready => self.require_no_open_parents(id)?,
            Status::Triage | Status::Todo => {}
            _ => return Err(Error::not_allowed(id, "move", &state.word)),
        }
        self.free_claim(id)?;
        self.execute(
            "UPDATE tasks SET status = ?2, consecutive_failures = 0, last_failure_error = NULL,
                 scheduled_at = NULL WHERE id = ?1",
            params![id.as_str(), to.as_str()],
        )?;
        self.append(id, None, "status", json!({"status": to}))?;
        if matches!(state.status, Status::Done | Status::Archived) {
            self.forget_approval(id)?;
            self.make_children_wait(id)?;
        }
        Ok(())
    }

    /// Work that goes on is not approved any more.
    pub(super) fn forget_approval(&self, id: &TaskId) -> Result<()> {
        self.execute(
            "UPDATE task_reviews SET approved_by = NULL, approved_at = NULL,
                 approved_action = NULL, approved_commit = NULL, approved_branch = NULL
             WHERE task_id = ?1",
            [id.as_str()],
        )?;
        Ok(())
    }

    /// Cards that were ready because this one was done wait for it again.
    pub(super) fn make_children_wait(&self, id: &TaskId) -> Result<()> {
        for child in self.children(id)? {
            let demoted = self.execute(
                "UPDATE tasks SET status = 'todo' WHERE id = ?1 AND status = 'ready'",
                [child.as_str()],
            )?;
            if demoted > 0 {
                let payload = json!({"status": "todo", "reason": "parent_reopened", "parent": id});
                self.append(&child, None, "status", payload)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoardOptions;
    use crate::boards::{Board, BoardSlug};
    use crate::store::{BoardStore as _, Completion, NewTask, StartIn};
    use pretty_assertions::assert_eq;

    fn board() -> (tempfile::TempDir, StoredBoard) {
        let dir = tempfile::tempdir().unwrap();
        let board = Board::below(dir.path(), &BoardSlug::default_board());
        let store = StoredBoard::open(&board, &BoardOptions::default()).unwrap();
        (dir, store)
    }

    fn status(store: &StoredBoard, id: &TaskId) -> Status {
        store.task(id).unwrap().unwrap().status()
    }

    #[test]
    fn card_in_triage_moves_to_todo_and_back() {
        let (_dir, mut store) = board();
        let new = NewTask {
            start: StartIn::Triage,
            ..NewTask::titled("which?")
        };
        let id = store.create(&new).unwrap().task.id;
        for to in [Status::Todo, Status::Triage, Status::Ready, Status::Todo] {
            store.move_to(&id, to).unwrap();
            assert_eq!(status(&store, &id), to);
        }
        let events = store.show(&id, None).unwrap().events;
        let last = events.last().unwrap();
        assert_eq!(last.kind, "status");
        let refused = store.move_to(&id, Status::Review).unwrap_err();
        assert!(matches!(refused, Error::NotAllowed { .. }), "{refused}");
    }

    #[test]
    fn card_is_not_ready_before_its_parents() {
        let (_dir, mut store) = board();
        let parent = store.create(&NewTask::titled("first")).unwrap().task.id;
        let new = NewTask {
            parents: vec![parent],
            ..NewTask::titled("second")
        };
        let child = store.create(&new).unwrap().task.id;
        store.move_to(&child, Status::Triage).unwrap();
        let refused = store.move_to(&child, Status::Ready).unwrap_err();
        assert!(matches!(refused, Error::OpenParents { .. }), "{refused}");
        assert_eq!(status(&store, &child), Status::Triage);
        store.move_to(&child, Status::Todo).unwrap();
        assert_eq!(status(&store, &child), Status::Todo);
    }

    #[test]
    fn card_that_is_open_again_makes_others_wait_again() {
        let (_dir, mut store) = board();
        let parent = store.create(&NewTask::titled("first")).unwrap().task.id;
        let new = NewTask {
            parents: vec![parent.clone()],
            ..NewTask::titled("second")
        };
        let child = store.create(&new).unwrap().task.id;
        store.complete(&parent, &Completion::default()).unwrap();
        assert_eq!(status(&store, &child), Status::Ready);
        store.move_to(&parent, Status::Ready).unwrap();
        assert_eq!(status(&store, &parent), Status::Ready);
        assert_eq!(status(&store, &child), Status::Todo);
    }
}
