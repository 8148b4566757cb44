//! `hermes update`: how this installation is brought up to date, which depends on who made it.
//!
//! There is no place yet that releases are fetched from, so the program is not replaced here: the command
//! says what to do, and refuses where the answer is somebody else's. Add-ons that are in use do come to the
//! versions that this program pins, whoever updates it.

use super::addons::refresh_addons;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::facts::{VERSION, install_method};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; say which version this is, and how it would be updated
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let method = install_method(context);
    if !args.check {
        refresh_addons(context)?;
    }
    if method == "docker" {
        return Err(CommandError::user(
            "this installation is part of a container image and is not updated in place",
        )
        .hint("on the host: docker pull the new image, remove this container, and run the same command again; everything in the volume stays")
        .hint("with compose: docker compose pull && docker compose up -d"));
    }
    if let Some(managed) = context.home_policy().managed {
        return Err(CommandError::user(format!(
            "this installation belongs to {}, which updates it",
            managed.name()
        )));
    }
    let program = std::env::current_exe()
        .map_or_else(|_| "the program".to_owned(), |path| context.display(&path));
    let way = match method.as_str() {
        "git" => "git pull in its checkout, then build and install again".to_owned(),
        _ => format!(
            "put a newer program in the place of {program}, then run: hermes gateway restart --all"
        ),
    };
    if args.check {
        context.line(format!("hermes {VERSION}, installed as {method}"))?;
        return context.note(format!("To update: {way}"));
    }
    Err(CommandError::user("no source of releases is known to this version").hint(way))
}
