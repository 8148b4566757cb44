//! Subscriptions: chats that follow a card.

use crate::model::{Subscription, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::rows;
use crate::sqlite::statements::{NONE, params};
use crate::{Error, Result};

/// A chat, as far as subscriptions are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAddress {
    pub platform: String,
    pub chat_id: String,
    /// Thread in the chat; empty for none.
    pub thread_id: String,
}

/// A subscription to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSubscription {
    pub chat: ChatAddress,
    pub user_id: Option<String>,
    /// Profile whose gateway delivers; replaces an earlier one.
    pub notifier_profile: Option<String>,
}

impl StoredBoard {
    /// Lets a chat follow a card, from now on: what happened before is not sent.
    pub fn subscribe(&mut self, task: &TaskId, new: &NewSubscription) -> Result<()> {
        let chat = &new.chat;
        for (what, text) in [
            ("the platform", &chat.platform),
            ("the chat", &chat.chat_id),
        ] {
            if text.trim().is_empty() {
                return Err(Error::Blank { what });
            }
        }
        self.write(|tx| {
            tx.must_exist(task)?;
            let owner = new
                .notifier_profile
                .as_deref()
                .filter(|owner| !owner.is_empty());
            tx.execute(
                "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, user_id,
                     notifier_profile, created_at, last_event_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                     (SELECT COALESCE(max(id), 0) FROM task_events WHERE task_id = ?1))
                 ON CONFLICT (task_id, platform, chat_id, thread_id) DO UPDATE SET
                     user_id = COALESCE(excluded.user_id, kanban_notify_subs.user_id),
                     notifier_profile = COALESCE(excluded.notifier_profile,
                         kanban_notify_subs.notifier_profile)",
                params![
                    task.as_str(),
                    chat.platform.trim(),
                    chat.chat_id.trim(),
                    chat.thread_id,
                    new.user_id,
                    owner,
                    tx.now
                ],
            )?;
            Ok(())
        })
    }

    /// Who follows a card, or any card.
    pub fn subscriptions(&self, task: Option<&TaskId>) -> Result<Vec<Subscription>> {
        self.read(|tx| match task {
            Some(task) => tx.all(
                "SELECT task_id, platform, chat_id, thread_id, user_id, notifier_profile,
                     created_at, last_event_id
                 FROM kanban_notify_subs WHERE task_id = ?1 ORDER BY created_at, platform, chat_id",
                [task.as_str()],
                rows::subscription,
            ),
            None => tx.all(
                "SELECT task_id, platform, chat_id, thread_id, user_id, notifier_profile,
                     created_at, last_event_id
                 FROM kanban_notify_subs ORDER BY created_at, task_id, platform, chat_id",
                NONE,
                rows::subscription,
            ),
        })
    }

    /// Ends a subscription.
    pub fn unsubscribe(&mut self, task: &TaskId, chat: &ChatAddress) -> Result<()> {
        self.write(|tx| {
            let gone = tx.execute(
                "DELETE FROM kanban_notify_subs
                 WHERE task_id = ?1 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4",
                params![task.as_str(), chat.platform, chat.chat_id, chat.thread_id],
            )?;
            if gone == 0 {
                return Err(Error::UnknownSubscription { id: task.clone() });
            }
            Ok(())
        })
    }
}
