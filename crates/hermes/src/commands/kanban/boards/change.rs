//! `hermes kanban boards switch`, `rename` and `set-default-workdir`.

use std::process::ExitCode;

use hermes_board::boards::{BoardHome, BoardSlug, MetadataChange};

use super::create::expanded;
use super::now;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(super) struct SwitchArgs {
    /// The board
    slug: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct RenameArgs {
    /// The board
    slug: String,
    /// The new display name; the slug stays
    name: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct WorkdirArgs {
    /// The board
    slug: String,
    /// An absolute path; cleared if not given
    path: Option<String>,
}

pub(super) fn switch(args: &SwitchArgs, context: &Context, home: &BoardHome) -> Result<ExitCode> {
    let slug = BoardSlug::parse(&args.slug)?;
    home.switch(&slug)?;
    context
        .printer
        .line(format!("Active board is now '{slug}'."))?;
    let active = home.active();
    if active != slug {
        context.printer.note(format!(
            "hint: HERMES_KANBAN_BOARD is set, so commands in this shell still use '{active}'"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rename(args: &RenameArgs, context: &Context, home: &BoardHome) -> Result<ExitCode> {
    let slug = BoardSlug::parse(&args.slug)?;
    let change = MetadataChange {
        name: Some(args.name.clone()),
        ..MetadataChange::default()
    };
    let info = home.change(&slug, &change, now())?;
    let name = one_line(&info.name, 200);
    context
        .printer
        .line(format!("Board '{slug}' renamed to '{name}'."))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn set_workdir(
    args: &WorkdirArgs,
    context: &Context,
    home: &BoardHome,
) -> Result<ExitCode> {
    let slug = BoardSlug::parse(&args.slug)?;
    let path = args.path.as_deref().map(str::trim);
    let path = path.filter(|path| !path.is_empty());
    let change = MetadataChange {
        default_workdir: Some(path.map(|path| expanded(home, path))),
        ..MetadataChange::default()
    };
    let info = home.change(&slug, &change, now())?;
    context.printer.line(match &info.default_workdir {
        Some(path) => format!(
            "Board '{slug}' default workdir set to '{}'.",
            one_line(path, 500)
        ),
        None => format!("Board '{slug}' default workdir cleared."),
    })?;
    Ok(ExitCode::SUCCESS)
}
