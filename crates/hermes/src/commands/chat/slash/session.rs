//! Commands about the session: a new one, its title, what it is.

use hermes_session::{ListRequest, SessionStore};

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{Choice, Picked, can_ask, one_line, pick};

/// Characters of a value that are shown.
const SHOWN: usize = 80;
/// Sessions that are offered.
const LISTED: usize = 30;

pub(super) fn new(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let (count, _) = state.conversation.agent().message_counts();
    if count > 0 && !state.may_discard("End this session and start an empty one?")? {
        state.note("The session continues.")?;
        return Ok(After::Prompt);
    }
    let id = state.conversation.start_over()?;
    state.note(format!("New session: {id}"))?;
    if arguments.is_empty() {
        return Ok(After::Prompt);
    }
    title(state, arguments)
}

pub(super) fn branch(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let (count, _) = state.conversation.agent().message_counts();
    if count == 0 {
        return Err(CommandError::user("there is nothing to copy yet"));
    }
    let before = state.conversation.agent().session_id().clone();
    let title = match arguments {
        "" => None,
        title => Some(title),
    };
    let id = state.conversation.branch(title)?;
    state.note(format!("Now in {id}, a copy of {before}."))?;
    Ok(After::Prompt)
}

pub(super) fn resume(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let store = SessionStore::open(&state.context.location.home)?;
    if !arguments.is_empty() {
        // Refused here, before this conversation is left.
        let id = store.resolve(arguments)?;
        return Ok(After::Resume(id.to_string()));
    }
    let request = ListRequest {
        excluded_sources: vec!["tool".to_owned()],
        limit: Some(LISTED),
        ..ListRequest::default()
    };
    let listed = store.list(&request)?;
    if listed.is_empty() {
        state.note("There are no sessions yet.")?;
        return Ok(After::Prompt);
    }
    if !can_ask() {
        return super::program::sessions(state, "");
    }
    let rows: Vec<Choice> = listed
        .iter()
        .map(|one| {
            let name = one
                .session
                .title
                .as_deref()
                .unwrap_or(one.session.id.as_str());
            Choice::new(one_line(name, SHOWN), one_line(&one.preview, SHOWN))
        })
        .collect();
    let picked = pick(
        state.context.printer,
        &state.context.env,
        "Session",
        &rows,
        0,
    )?;
    Ok(match picked {
        Picked::Chosen(at) => match listed.get(at) {
            Some(one) => After::Resume(one.session.id.to_string()),
            None => After::Prompt,
        },
        Picked::Back | Picked::Leave => After::Prompt,
    })
}

pub(super) fn save(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let agent = state.conversation.agent();
    if !agent.is_stored() {
        return Err(CommandError::user("there is nothing to save yet"));
    }
    let id = agent.session_id().clone();
    let cwd = agent.context().session.cwd();
    let path = match arguments {
        "" => cwd.join(format!("hermes_conversation_{id}.json")),
        written => match written.strip_prefix("~/") {
            Some(below) => state.context.location.user_home.join(below),
            None => cwd.join(written),
        },
    };
    if path.exists() {
        return Err(
            CommandError::user(format!("{} exists already", state.context.display(&path)))
                .hint("name another file: /save FILE"),
        );
    }
    let export = SessionStore::open(&state.context.location.home)?.export(&id)?;
    let text = format!("{export:#}\n");
    hermes_fs::write_atomic(&path, text.as_bytes(), 0o600)?;
    state.note(format!("Saved in {}", state.context.display(&path)))?;
    Ok(After::Prompt)
}

pub(super) fn title(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let agent = state.conversation.agent();
    let title = if arguments.is_empty() {
        agent.title()?
    } else {
        Some(agent.set_title(arguments)?)
    };
    match title {
        Some(title) => state.note(format!("Title: {}", one_line(&title, SHOWN)))?,
        None => state.note("The session has no title.")?,
    }
    Ok(After::Prompt)
}

pub(super) fn status(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let is_yolo = state.conversation.tools().is_yolo();
    let agent = state.conversation.agent();
    let route = agent.provider().route();
    let (count, person) = agent.message_counts();
    let cwd = agent.context().session.cwd();
    let lines = [
        ("Session", agent.session_id().to_string()),
        ("Title", agent.title()?.unwrap_or_else(|| "-".to_owned())),
        ("Model", route.model),
        ("Provider", route.provider),
        ("Directory", cwd.display().to_string()),
        ("Messages", format!("{count} ({person} from the user)")),
        ("Tools", agent.tool_names().len().to_string()),
        ("Approvals", if is_yolo { "off" } else { "on" }.to_owned()),
    ];
    for (name, value) in lines {
        state.note(format!("  {name:<10} {}", one_line(&value, SHOWN)))?;
    }
    Ok(After::Prompt)
}
