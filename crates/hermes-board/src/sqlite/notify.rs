//! Chats that follow cards: who they are and how far they have heard.
//!
//! Taking events and moving the cursor is one step, so that two gateways never send the same event.
//! Sending is the gateway's business; what could not be sent is given back.

use hermes_store::rusqlite::params;

use crate::model::{Event, Subscription, TaskId};
use crate::sqlite::SqliteBoard;
use crate::sqlite::cells::Cells;
use crate::sqlite::fragments::event_columns;
use crate::sqlite::rows;
use crate::sqlite::session::Session;
use crate::store::Applied;
use crate::{Error, Result};

/// A chat, as far as subscriptions are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAddress {
    /// Platform.
    pub platform: String,
    /// Chat on it.
    pub chat_id: String,
    /// Thread in the chat; empty for none.
    pub thread_id: String,
}

/// A wish to hear of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSubscription {
    /// The chat.
    pub chat: ChatAddress,
    /// Who asks.
    pub user_id: Option<String>,
    /// Profile whose gateway delivers; replaces an earlier one.
    pub notifier_profile: Option<String>,
}

/// Events that were taken for a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TakenEvents {
    /// Where the cursor was.
    pub before: i64,
    /// Where it is now.
    pub now: i64,
    /// The events, in order.
    pub events: Vec<Event>,
}

impl SqliteBoard {
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
        self.write(|session| {
            session.must_exist(task)?;
            let owner = new
                .notifier_profile
                .as_deref()
                .filter(|owner| !owner.is_empty());
            session.execute(
                "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, user_id,
                     notifier_profile, created_at, last_event_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                     (SELECT COALESCE(max(id), 0) FROM task_events WHERE task_id = ?1))
                 ON CONFLICT (task_id, platform, chat_id, thread_id) DO UPDATE SET
                     user_id = COALESCE(excluded.user_id, user_id),
                     notifier_profile = COALESCE(excluded.notifier_profile, notifier_profile)",
                params![
                    task.as_str(),
                    chat.platform.trim(),
                    chat.chat_id.trim(),
                    chat.thread_id,
                    new.user_id,
                    owner,
                    session.now
                ],
            )?;
            Ok(())
        })
    }

    /// Who follows a card, or any card.
    pub fn subscriptions(&self, task: Option<&TaskId>) -> Result<Vec<Subscription>> {
        self.read(|session| match task {
            Some(task) => session.all(
                "SELECT task_id, platform, chat_id, thread_id, user_id, notifier_profile,
                     created_at, last_event_id
                 FROM kanban_notify_subs WHERE task_id = ?1 ORDER BY created_at, platform, chat_id",
                [task.as_str()],
                rows::subscription,
            ),
            None => session.all(
                "SELECT task_id, platform, chat_id, thread_id, user_id, notifier_profile,
                     created_at, last_event_id
                 FROM kanban_notify_subs ORDER BY created_at, task_id, platform, chat_id",
                [],
                rows::subscription,
            ),
        })
    }

    /// Ends a subscription.
    pub fn unsubscribe(&mut self, task: &TaskId, chat: &ChatAddress) -> Result<()> {
        self.write(|session| {
            let gone = session.execute(
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

    /// Takes the events a chat has not heard of, of these kinds, and moves its cursor behind them.
    pub fn take_events(
        &mut self,
        task: &TaskId,
        chat: &ChatAddress,
        kinds: &[&str],
    ) -> Result<TakenEvents> {
        let waiting = self.read(|session| session.unheard(task, chat, kinds))?;
        if waiting.events.is_empty() {
            return Ok(waiting);
        }
        self.write(|session| {
            let taken = session.unheard(task, chat, kinds)?;
            match session.move_cursor(task, chat, taken.before, taken.now)? {
                Applied::Yes => Ok(taken),
                // The subscription ended meanwhile.
                Applied::LostRace => Ok(TakenEvents::default()),
            }
        })
    }

    /// Gives back events that could not be sent, unless somebody has gone on meanwhile.
    pub fn give_back_events(
        &mut self,
        task: &TaskId,
        chat: &ChatAddress,
        taken: &TakenEvents,
    ) -> Result<Applied> {
        self.write(|session| session.move_cursor(task, chat, taken.now, taken.before))
    }
}

impl Session<'_> {
    fn unheard(&self, task: &TaskId, chat: &ChatAddress, kinds: &[&str]) -> Result<TakenEvents> {
        let cursor = self.one(
            "SELECT last_event_id FROM kanban_notify_subs
             WHERE task_id = ?1 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4",
            params![task.as_str(), chat.platform, chat.chat_id, chat.thread_id],
            |row| Cells::new(row).int(),
        )?;
        let Some(before) = cursor else {
            return Ok(TakenEvents::default());
        };
        let events = self.all(
            concat!(
                "SELECT ",
                event_columns!(),
                " FROM task_events e WHERE e.task_id = ?1 AND e.id > ?2 \
                 AND e.kind IN (SELECT value FROM json_each(?3)) ORDER BY +e.id"
            ),
            params![
                task.as_str(),
                before,
                serde_json::Value::from(kinds.to_vec()).to_string()
            ],
            rows::event,
        )?;
        let now = events.last().map_or(before, |event| event.id);
        Ok(TakenEvents {
            before,
            now,
            events,
        })
    }

    fn move_cursor(
        &self,
        task: &TaskId,
        chat: &ChatAddress,
        from: i64,
        to: i64,
    ) -> Result<Applied> {
        let moved = self.execute(
            "UPDATE kanban_notify_subs SET last_event_id = ?6
             WHERE task_id = ?1 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4
               AND last_event_id = ?5",
            params![
                task.as_str(),
                chat.platform,
                chat.chat_id,
                chat.thread_id,
                from,
                to
            ],
        )?;
        Ok(super::claim::applied(moved))
    }
}
