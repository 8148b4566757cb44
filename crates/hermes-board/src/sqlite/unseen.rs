//! What the followers of cards have not been told yet.
//!
//! A follower's mark moves after it was told, so that whoever dies in between tells it twice rather
//! than never. It moves only from where it was read: of two that tell, one finds out.

use crate::Result;
use crate::model::{Event, Status, Subscription, Task, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::fragments::event_columns;
use crate::sqlite::rows;
use crate::sqlite::statements::{NONE, params};
use crate::sqlite::transaction::Transaction;
use crate::store::Applied;

/// Kinds of events that followers hear of, and two that only move their marks.
macro_rules! followed_kinds {
    () => {
        "('completed', 'blocked', 'block_loop_detected', 'gave_up', 'crashed', 'timed_out', \
          'status', 'archived', 'unblocked', 'changes_requested', 'approved')"
    };
}

/// A follower with what it has not been told.
#[derive(Debug, Clone, PartialEq)]
pub struct Unseen {
    pub subscription: Subscription,
    pub task: Task,
    /// In order; at least one.
    pub events: Vec<Event>,
}

impl StoredBoard {
    /// Followers that have something to be told, the oldest subscription first.
    pub fn unseen(&self) -> Result<Vec<Unseen>> {
        self.read(|tx| {
            let mut found = Vec::new();
            for subscription in tx.behind()? {
                // A card that was deleted takes its followers along.
                if let Some(task) = tx.task(&subscription.task_id)? {
                    let events = tx.unseen_by(&subscription)?;
                    found.push(Unseen {
                        subscription,
                        task,
                        events,
                    });
                }
            }
            Ok(found)
        })
    }

    /// Notes that a follower was told. The subscription to a finished card ends with that.
    pub fn mark_seen(&mut self, told: &Unseen) -> Result<Applied> {
        self.write(|tx| tx.mark_seen(told))
    }

    /// Tells a follower by a comment on a card of this board, and notes it, in one step.
    pub fn comment_seen(
        &mut self,
        told: &Unseen,
        card: &TaskId,
        author: &str,
        text: &str,
    ) -> Result<Applied> {
        self.write(|tx| {
            tx.must_exist(card)?;
            if tx.mark_seen(told)? == Applied::LostRace {
                return Ok(Applied::LostRace);
            }
            tx.comment(card, author, text)?;
            Ok(Applied::Yes)
        })
    }
}

impl Transaction<'_> {
    /// Subscriptions whose card has events that the follower has not been told of.
    fn behind(&self) -> Result<Vec<Subscription>> {
        self.all(
            concat!(
                "SELECT s.task_id, s.platform, s.chat_id, s.thread_id, s.user_id,
                     s.notifier_profile, s.created_at, s.last_event_id
                 FROM kanban_notify_subs s
                 WHERE EXISTS (SELECT 1 FROM task_events e
                     WHERE e.task_id = s.task_id AND e.id > s.last_event_id AND e.kind IN ",
                followed_kinds!(),
                ") ORDER BY s.created_at, s.task_id, s.platform, s.chat_id"
            ),
            NONE,
            rows::subscription,
        )
    }

    fn unseen_by(&self, subscription: &Subscription) -> Result<Vec<Event>> {
        self.all(
            concat!(
                "SELECT ",
                event_columns!(),
                " FROM task_events e WHERE e.task_id = ?1 AND e.id > ?2 AND e.kind IN ",
                followed_kinds!(),
                " ORDER BY +e.id"
            ),
            params![subscription.task_id.as_str(), subscription.last_event_id],
            rows::event,
        )
    }

    fn mark_seen(&self, told: &Unseen) -> Result<Applied> {
        let one = &told.subscription;
        let Some(newest) = told.events.last().map(|event| event.id) else {
            return Ok(Applied::Yes);
        };
        let moved = self.execute(
            "UPDATE kanban_notify_subs SET last_event_id = ?6
             WHERE task_id = ?1 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4
                 AND last_event_id = ?5",
            params![
                one.task_id.as_str(),
                one.platform,
                one.chat_id,
                one.thread_id,
                one.last_event_id,
                newest
            ],
        )?;
        if moved == 0 {
            return Ok(Applied::LostRace);
        }
        let task = self.task(&one.task_id)?;
        let is_over =
            task.is_none_or(|task| matches!(task.status(), Status::Done | Status::Archived));
        let current = Subscription {
            last_event_id: newest,
            ..one.clone()
        };
        if is_over && self.unseen_by(&current)?.is_empty() {
            self.execute(
                "DELETE FROM kanban_notify_subs
                 WHERE task_id = ?1 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4",
                params![
                    one.task_id.as_str(),
                    one.platform,
                    one.chat_id,
                    one.thread_id
                ],
            )?;
        }
        Ok(Applied::Yes)
    }
}
