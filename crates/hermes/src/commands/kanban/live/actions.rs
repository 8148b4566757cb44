//! What keys do to a card: the same as the commands of these names.

use hermes_board::files::log_tail;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;
use hermes_home::ProfileName;

use super::super::session::{BoardSession, author, refusal};
use super::super::{assign, reclaim, show};
use super::reading::Subject;
use super::view::Action;
use crate::commands::sessions::transcript;
use crate::error::Result;
use crate::ui::visible;

/// Bytes of a log that are shown, its end.
const LOG_TAIL: u64 = 256 * 1024;

const HELP: &str = "\
Moving
  ← ↓ ↑ → or h j k, Tab   to another card or column
  PgUp PgDn or b f        a page
  Home End or g G         the first, the last card
  /                       search titles, ids and @assignees; Esc ends it
  r                       look again
  q, Esc, Ctrl-C          leave
  Ctrl-Z                  suspend

The chosen card
  Enter                   open it
  l                       what its worker prints
  s                       the conversation of its worker
  a                       assign it
  c                       comment on it
  u                       unblock it
  + -                     raise or lower its priority
  x                       end its worker and make it ready again

Colours
  cyan ready   yellow running   magenta in review   red blocked   green done
";

/// Does something to a card; a sentence about it.
pub(super) fn act(session: &mut BoardSession<'_>, id: &TaskId, action: &Action) -> Result<String> {
    session.caller()?.must_be_person("use the live board")?;
    match action {
        Action::Unblock => {
            let status = session.store.unblock(id)?;
            Ok(format!("{id} is unblocked: {}", status.as_str()))
        }
        Action::Assign(name) => {
            let assignee = assign::parse(name)?;
            session.store.assign(id, assignee.as_ref())?;
            let who = assign::shown(assignee.as_ref());
            Ok(format!("{id} is assigned to {who}"))
        }
        Action::Comment(text) => {
            let author = author(session);
            session.store.add_comment(id, &author, text)?;
            Ok(format!("comment added to {id}"))
        }
        Action::Reclaim => {
            reclaim::reclaim_card(session, id, Some("reclaimed on the live board"))?;
            Ok(format!("{id} is ready again"))
        }
        Action::Prioritize(by) => {
            let priority = session.store.prioritize(id, *by)?;
            Ok(format!("priority of {id}: {priority}"))
        }
    }
}

/// The text of a subject. A card that was deleted a moment ago leaves a sentence about that.
pub(super) fn text_of(session: &BoardSession<'_>, subject: &Subject) -> String {
    let text = match subject {
        Subject::Card(id) => show::text(session, id, None),
        Subject::Log(id) => log(session, id),
        Subject::Session(id) => conversation(session, id),
        Subject::Help => Ok(HELP.to_owned()),
    };
    text.unwrap_or_else(|error| error.message)
}

fn log(session: &BoardSession<'_>, id: &TaskId) -> Result<String> {
    let Some((end, _)) = log_tail(&session.store, id, LOG_TAIL)? else {
        return Ok(format!("{id} has no log yet: no worker was started for it"));
    };
    let redactor = session.redactor();
    let text = String::from_utf8_lossy(&end);
    Ok(visible(&redactor.redact(&text)))
}

/// The conversation of the card's latest worker that has told which one it is.
fn conversation(session: &BoardSession<'_>, id: &TaskId) -> Result<String> {
    let runs = session.store.runs(id, None)?;
    let known = runs.iter().rev().find_map(|run| {
        let name = run
            .metadata
            .as_ref()?
            .get("worker_session_id")?
            .as_str()?
            .to_owned();
        Some((run.profile.clone()?, name))
    });
    let Some((profile, name)) = known else {
        return Ok(format!(
            "No worker of {id} has reported its conversation yet; it does when it completes the \
             card. l shows what it prints."
        ));
    };
    let profile = ProfileName::parse(&profile).map_err(|error| refusal(error.to_string()))?;
    let place = hermes_home::profiles::existing(&session.location, &profile)?;
    transcript(session, &place.home, &name)
}
