//! `hermes sessions delete`.

use super::{SHOWN_TITLE, named, to_change};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{counted, must_confirm, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: its id, an id prefix, or its title
    #[arg(value_name = "ID")]
    id: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("deleting conversations")?;
    let (mut store, id) = named(to_change(context)?, &args.id)?;
    let title = store.session(&id)?.and_then(|session| session.title);
    let shown = match title {
        Some(title) => format!("{id} ({})", one_line(&title, SHOWN_TITLE)),
        None => id.to_string(),
    };
    let question = format!("Permanently delete session {shown} and all its messages?");
    must_confirm(context.printer, args.yes, &question)?;
    let removed = store.delete_session(&id)?;
    context.line(format!("Deleted session {shown}"))?;
    if removed.len() > 1 {
        let runs = counted(removed.len() - 1, "run");
        context.line(format!("  and {runs} of its sub-agents"))?;
    }
    Ok(())
}
