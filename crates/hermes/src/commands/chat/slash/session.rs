//! Commands about the session: a new one, its title, what it is.

use super::{After, ChatState};
use crate::error::Result;
use crate::ui::one_line;

/// Characters of a value that are shown.
const SHOWN: usize = 80;

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
