//! Choosing the session to go on with from a list.

use hermes_chat::{Choice, choose};
use hermes_session::{ListRequest, ListedConversation, SessionId, SessionStore};

use super::look::theme;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::tool_access;
use crate::ui::{guard_terminal, is_full_terminal, one_line};

/// Sessions of other programs, which nobody wants to see unless they ask.
const HIDDEN: &str = "tool";
/// Columns of a title.
const TITLE: usize = 60;

/// Which sessions are offered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    pub(crate) source: Option<String>,
    pub(crate) limit: Option<usize>,
}

/// Lets the person choose a session; `None` if they did not.
pub(crate) fn pick_session(offer: Offer, context: &Context) -> Result<Option<SessionId>> {
    if !is_full_terminal(&context.env) {
        let error = CommandError::user("choosing a session needs a terminal");
        return Err(error.hint("list the sessions with `hermes sessions list`, and name one"));
    }
    let request = ListRequest {
        excluded_sources: match offer.source {
            Some(_) => Vec::new(),
            None => vec![HIDDEN.to_owned()],
        },
        source: offer.source,
        limit: offer.limit,
        ..ListRequest::default()
    };
    let store = SessionStore::open_read_only(&context.location.home)?;
    let listed = match &store {
        Some(store) => store.list(&request)?,
        None => Vec::new(),
    };
    if listed.is_empty() {
        let error = CommandError::user("there are no sessions yet");
        return Err(error.hint("start one with `hermes chat`"));
    }
    let interrupt = tool_access::interrupt()?;
    let choice = Choice {
        title: "Sessions",
        entries: listed.iter().map(|entry| row(entry, context)).collect(),
        theme: theme(context).0,
    };
    let chosen = guard_terminal()
        .and_then(|()| choose(choice, &interrupt))
        .map_err(|error| {
            CommandError::environment(format!("the terminal cannot be used: {error}"))
                .hint("list the sessions with `hermes sessions list`")
        })?;
    let entry = chosen.and_then(|index| listed.into_iter().nth(index));
    Ok(entry.map(|entry| entry.session.id))
}

fn row(entry: &ListedConversation, context: &Context) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
    let when = context.minute(entry.last_active as i64);
    let title = entry.session.title.as_deref().unwrap_or(&entry.preview);
    let title = one_line(title, TITLE);
    let title = if title.is_empty() {
        "(no messages)".to_owned()
    } else {
        title
    };
    let place = entry.workspace().unwrap_or_default();
    let place = context.display(std::path::Path::new(place));
    format!("{when}  {title}  {}", one_line(&place, TITLE))
}
