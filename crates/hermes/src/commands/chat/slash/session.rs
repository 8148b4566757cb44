//! Commands about the session: a new one, its title, what it is.

use super::{After, Desk};
use crate::error::Result;
use crate::ui::one_line;

/// Characters of a value that are shown.
const SHOWN: usize = 80;

pub(super) fn new(desk: &mut Desk<'_>, arguments: &str) -> Result<After> {
    let (count, _) = desk.conversation.agent().message_counts();
    if count > 0 && !desk.may_discard("End this session and begin an empty one?")? {
        desk.say("The session goes on.")?;
        return Ok(After::Prompt);
    }
    let id = desk.conversation.start_over()?;
    desk.say(format!("New session: {id}"))?;
    if arguments.is_empty() {
        return Ok(After::Prompt);
    }
    title(desk, arguments)
}

pub(super) fn title(desk: &mut Desk<'_>, arguments: &str) -> Result<After> {
    let agent = desk.conversation.agent();
    let title = if arguments.is_empty() {
        agent.title()?
    } else {
        Some(agent.set_title(arguments)?)
    };
    match title {
        Some(title) => desk.say(format!("Title: {}", one_line(&title, SHOWN)))?,
        None => desk.say("The session has no title.")?,
    }
    Ok(After::Prompt)
}

pub(super) fn status(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    let is_yolo = desk.conversation.toolbox().is_yolo();
    let agent = desk.conversation.agent();
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
        desk.say(format!("  {name:<10} {}", one_line(&value, SHOWN)))?;
    }
    Ok(After::Prompt)
}
