//! Commands about what was said: take it back, say it again, shorten it, show it.

use hermes_agent::Compressed;

use super::{After, Desk};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Characters of a message that was taken back.
const SHORT: usize = 60;
/// Characters of a message in the history.
const LINE: usize = 100;

pub(super) fn undo(desk: &mut Desk<'_>, arguments: &str) -> Result<After> {
    let count = match arguments {
        "" => 1,
        text => text
            .parse::<usize>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| CommandError::user(format!("/undo: '{text}' is no number")))?,
    };
    let (_, person) = desk.conversation.agent().message_counts();
    let noun = if count == 1 { "message" } else { "messages" };
    let question = format!("Take back the last {count} {noun} and what followed?");
    if person > 0 && !desk.may_discard(&question)? {
        desk.say("Nothing was taken back.")?;
        return Ok(After::Prompt);
    }
    take_back(desk, count)?;
    Ok(After::Prompt)
}

pub(super) fn retry(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    Ok(match take_back(desk, 1)? {
        Some(text) => After::Turn(text),
        None => After::Prompt,
    })
}

fn take_back(desk: &mut Desk<'_>, count: usize) -> Result<Option<String>> {
    let taken = desk.conversation.agent().undo(count)?;
    match &taken {
        Some(text) => desk.say(format!("Taken back: {}", one_line(text, SHORT)))?,
        None => desk.say("There is nothing to take back.")?,
    }
    Ok(taken)
}

pub(super) fn compress(desk: &mut Desk<'_>, arguments: &str) -> Result<After> {
    let focus = (!arguments.is_empty()).then_some(arguments);
    let agent = desk.conversation.agent();
    match agent.compress(focus, desk.display)? {
        Compressed::TooShort => desk.say("There are too few messages to summarise.")?,
        Compressed::Unchanged => desk.say("Nothing could be shortened.")?,
        // How much became of what has been told already.
        Compressed::Done => {}
    }
    Ok(After::Prompt)
}

pub(super) fn show(desk: &mut Desk<'_>, _: &str) -> Result<After> {
    let messages = desk.conversation.agent().messages();
    let lines: Vec<String> = messages
        .map(|message| {
            let text = one_line(&message.text(), LINE);
            let calls = match message.call_count() {
                0 => String::new(),
                1 => " [1 call]".to_owned(),
                count => format!(" [{count} calls]"),
            };
            format!("  {:<10}{text}{calls}", message.role.as_str())
        })
        .collect();
    if lines.is_empty() {
        desk.say("Nothing was said yet.")?;
    }
    for line in lines {
        desk.say(line)?;
    }
    Ok(After::Prompt)
}
