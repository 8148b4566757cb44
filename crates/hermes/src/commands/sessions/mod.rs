//! `hermes sessions`: stored conversations, a file per verb.
//!
//! Looking never makes or changes the database; what may happen to a session is decided in
//! `hermes-session`.

mod archive;
mod browse;
mod delete;
mod export;
mod export_formats;
mod filters;
mod list;
mod optimize;
mod prune;
mod rename;
mod repair;
mod search;
mod stats;
mod times;

use std::path::Path;
use std::process::ExitCode;

use hermes_session::{SessionId, SessionStore};

pub(in crate::commands) use self::times::ago;
use super::{exit, help};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{one_line, visible};

/// Titles that a message shows.
const SHOWN_TITLE: usize = 60;

verbs! { Context;
    /// List conversations, most recently active first
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Choose a conversation from a list and go on with it
    Browse(browse::Args) => browse::run,
    /// Search the stored messages
    Search(search::Args) => search::run,
    /// Export sessions with all their messages
    Export(Box<export::Args>) => export::run,
    /// Delete a session
    Delete(delete::Args) => delete::run,
    /// Delete sessions that ended a long time ago
    Prune(Box<prune::Args>) => prune::run,
    /// Set the title of a session
    Rename(rename::Args) => rename::run,
    /// Count sessions and messages
    Stats(stats::Args) => stats::run,
    /// Archive conversations, so that lists leave them out
    Archive(Box<archive::Args>) => archive::run,
    /// Merge the search index and reclaim unused space
    Optimize(optimize::Args) => optimize::run,
    /// Check the database and repair it
    Repair(repair::Args) => repair::run,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let Some(verb) = &args.verb else {
        return exit(help(context, &["sessions"]));
    };
    context.start_logging();
    verb.run(context)
}

/// The sessions of the profile, to look at; `None` if there are none yet.
fn to_read(context: &Context) -> Result<Option<SessionStore>> {
    Ok(SessionStore::open_read_only(&context.location.home)?)
}

/// The sessions of the profile, to change; `None` if there are none yet.
fn to_change(context: &Context) -> Result<Option<SessionStore>> {
    let home = &context.location.home;
    if !hermes_fs::exists_no_follow(&home.join("state.db")) {
        return Ok(None);
    }
    Ok(Some(SessionStore::open(home)?))
}

/// A session that somebody named, in a home that may have none.
fn named(store: Option<SessionStore>, name: &str) -> Result<(SessionStore, SessionId)> {
    let Some(store) = store else {
        let shown = one_line(name, SHOWN_TITLE);
        return Err(hermes_session::Error::Unknown { shown }.into());
    };
    let id = store.find(name)?;
    Ok((store, id))
}

/// A session of a home as text for people, secrets masked.
pub(in crate::commands) fn transcript(
    context: &Context,
    home: &Path,
    name: &str,
) -> Result<String> {
    let (store, id) = named(SessionStore::open_read_only(home)?, name)?;
    let session = export::redacted(store.export(&id)?, &context.redactor());
    let text = export_formats::Format::Markdown.session(&session, None);
    Ok(visible(&text))
}
