//! `hermes kanban notify-subscribe`, `notify-list` and `notify-unsubscribe`: chats that follow cards.

use hermes_board::model::{Follower, TaskId};
use hermes_board::{ChatAddress, NewSubscription};
use hermes_home::ProfileName;

use super::cards::{NAME, padded};
use super::session::{Kanban, usage};
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
struct ChatArgs {
    /// `local` for a file of notices, `board` for comments on a card, or the platform of a chat
    #[arg(long, value_name = "NAME")]
    platform: String,
    /// Name of the file, the card to comment on, or the chat
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    chat_id: String,
    /// Thread in the chat
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    thread_id: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SubscribeArgs {
    /// The card
    id: TaskId,
    #[command(flatten)]
    chat: ChatArgs,
    /// User who subscribes
    #[arg(long, value_name = "ID")]
    user_id: Option<String>,
    /// Profile whose gateway notifies the chat (default: the current one)
    #[arg(long, value_name = "NAME")]
    notifier_profile: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only subscriptions to this card
    id: Option<TaskId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnsubscribeArgs {
    /// The card
    id: TaskId,
    #[command(flatten)]
    chat: ChatArgs,
}

impl ChatArgs {
    fn address(&self) -> Result<ChatAddress> {
        for (flag, text) in [("--platform", &self.platform), ("--chat-id", &self.chat_id)] {
            if text.trim().is_empty() {
                return Err(usage(format!("{flag} must not be empty")));
            }
        }
        Ok(ChatAddress {
            platform: self.platform.trim().to_owned(),
            chat_id: self.chat_id.trim().to_owned(),
            thread_id: self.thread_id.clone().unwrap_or_default(),
        })
    }
}

pub(super) fn subscribe(args: &SubscribeArgs, kanban: &Kanban<'_>) -> Result<()> {
    let chat = args.chat.address()?;
    let current = || kanban.current.as_ref().map(ProfileName::to_string);
    let mut session = kanban.open()?;
    let caller = session.caller()?;
    caller.may_change(&args.id, "subscribe a chat to")?;
    let new = NewSubscription {
        chat,
        user_id: args.user_id.clone(),
        notifier_profile: args.notifier_profile.clone().or_else(current),
    };
    let follower = Follower::of(&new.chat.platform, &new.chat.chat_id)?;
    if let Follower::Card(card) = &follower {
        if *card == args.id {
            return Err(usage("a card cannot follow itself"));
        }
        session.task(card)?;
    }
    session.store.subscribe(&args.id, &new)?;
    kanban.line(format!("Subscribed {} to {}", shown(&new.chat), args.id))?;
    if follower == Follower::Chat {
        kanban.note(format!(
            "No gateway is connected to {} yet; notices wait until one is.",
            one_line(&new.chat.platform, NAME)
        ))?;
    }
    Ok(())
}

pub(super) fn list(args: &ListArgs, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let subscriptions = session.store.subscriptions(args.id.as_ref())?;
    if args.json {
        return kanban.json(&subscriptions);
    }
    if subscriptions.is_empty() {
        kanban.line("(no subscriptions)")?;
    }
    for one in &subscriptions {
        let chat = ChatAddress {
            platform: one.platform.clone(),
            chat_id: one.chat_id.clone(),
            thread_id: one.thread_id.clone(),
        };
        let owner = one.notifier_profile.as_deref();
        let owner = owner.map(|owner| format!("  owner={}", one_line(owner, NAME)));
        kanban.line(format!(
            "  {}  {}  (since event {}){}",
            padded(&one_line(one.task_id.as_str(), NAME), 10),
            shown(&chat),
            one.last_event_id,
            owner.unwrap_or_default()
        ))?;
    }
    Ok(())
}

pub(super) fn unsubscribe(args: &UnsubscribeArgs, kanban: &Kanban<'_>) -> Result<()> {
    let chat = args.chat.address()?;
    let mut session = kanban.open()?;
    let caller = session.caller()?;
    caller.may_change(&args.id, "unsubscribe a chat from")?;
    session.store.unsubscribe(&args.id, &chat)?;
    kanban.line(format!("Unsubscribed {} from {}", shown(&chat), args.id))
}

/// `platform:chat`, or `platform:chat:thread`.
fn shown(chat: &ChatAddress) -> String {
    let parts = [&chat.platform, &chat.chat_id, &chat.thread_id];
    let filled = parts.into_iter().filter(|part| !part.is_empty());
    let shown: Vec<String> = filled.map(|part| one_line(part, NAME)).collect();
    shown.join(":")
}
