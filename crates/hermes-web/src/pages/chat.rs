//! A conversation with the agent of this profile.

use askama::Template;
use serde::Deserialize;

use super::frame::{self, html, now};
use super::sessions::{SessionRow, latest};
use super::shell::{Shell, Trouble};
use super::source::Source;
use super::transcript::{Message, messages};
use crate::call::{Answered, Call};

/// Conversations to go back to.
const MOST_RECENT: usize = 30;

#[derive(Template)]
#[template(path = "chat.html")]
struct ChatPage {
    shell: Shell,
    trouble: Option<Trouble>,
    recent: Vec<SessionRow>,
    session: String,
    messages: Vec<Message>,
    model: String,
    now: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelInfo {
    model: Option<String>,
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let session = call.query("session").unwrap_or_default();
    let is_running = call.query("run").is_some();
    let (mut shown, mut trouble) = (Vec::new(), None);
    if !session.is_empty() {
        match messages(&source, &session).await {
            Ok((told, _)) => shown = told,
            // The session of a turn that has just begun may not be there yet.
            Err(_) if is_running => {}
            Err(reason) => trouble = Some(reason),
        }
    }
    if is_running {
        // The script tells the turn that is on its way, from its beginning.
        let last = shown.iter().rposition(Message::is_of_user);
        shown.truncate(last.map_or(0, |last| last + 1));
    }
    let info: ModelInfo = source.get("/api/model/info").await.unwrap_or_default();
    let model = info.model.filter(|model| !model.is_empty());
    let mut shell = frame::shell(&call, "Chat", "chat");
    shell.module = Some("chat");
    shell.body = "chat";
    let page = ChatPage {
        shell,
        trouble,
        recent: latest(&source, MOST_RECENT).await,
        session,
        messages: shown,
        model: model.unwrap_or_else(|| "the configured model".to_owned()),
        now: now(),
    };
    html(&page)
}
