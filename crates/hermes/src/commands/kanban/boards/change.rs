//! `hermes kanban boards switch`, `rename`, `set-default-workdir` and `set-on-approve`.

use hermes_board::boards::{BoardSlug, MetadataChange};

use super::super::create::ON_APPROVE;
use super::super::review::parse_action;
use super::super::session::Kanban;
use super::create::{WORKDIR, workdir_in};
use super::now;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct SlugArgs {
    /// The board
    pub(super) slug: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RenameArgs {
    /// The board
    slug: String,
    /// The new display name; the slug does not change
    name: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WorkdirArgs {
    /// The board
    slug: String,
    /// An absolute path; cleared if not given
    path: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OnApproveArgs {
    /// The board
    slug: String,
    /// none, merge, push or push:REMOTE; cleared if not given
    action: Option<String>,
}

pub(super) fn switch(args: &SlugArgs, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(&args.slug)?;
    kanban.caller()?.may_manage("switch boards")?;
    let home = kanban.home();
    home.switch(&slug)?;
    kanban.line(format!("Active board is now '{slug}'."))?;
    let active = home.active();
    if active != slug {
        kanban.hint(format!(
            "HERMES_KANBAN_BOARD is set, so commands in this shell still use '{active}'"
        ))?;
    }
    Ok(())
}

pub(super) fn rename(args: &RenameArgs, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(&args.slug)?;
    kanban.caller()?.may_manage("rename boards")?;
    let home = kanban.home();
    let change = MetadataChange {
        name: Some(args.name.clone()),
        ..MetadataChange::default()
    };
    let info = home.change(&slug, &change, now())?;
    let name = one_line(&info.name, 200);
    kanban.line(format!("Board '{slug}' renamed to '{name}'."))
}

pub(super) fn set_workdir(args: &WorkdirArgs, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(&args.slug)?;
    kanban.caller()?.must_be_person(WORKDIR)?;
    let home = kanban.home();
    let path = args.path.as_deref().map(str::trim);
    let path = path.filter(|path| !path.is_empty());
    let change = MetadataChange {
        default_workdir: Some(
            path.map(|path| workdir_in(kanban, &home, path))
                .transpose()?,
        ),
        ..MetadataChange::default()
    };
    let info = home.change(&slug, &change, now())?;
    kanban.line(match &info.default_workdir {
        Some(path) => format!(
            "Board '{slug}' default workdir set to '{}'.",
            one_line(path, 500)
        ),
        None => format!("Board '{slug}' default workdir cleared."),
    })
}

pub(super) fn set_on_approve(args: &OnApproveArgs, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(&args.slug)?;
    let action = args.action.as_deref().map(parse_action).transpose()?;
    kanban.caller()?.must_be_person(ON_APPROVE)?;
    let change = MetadataChange {
        on_approve: Some(action),
        ..MetadataChange::default()
    };
    let info = kanban.home().change(&slug, &change, now())?;
    kanban.line(match &info.on_approve {
        Some(action) => format!(
            "Board '{slug}' on approve set to '{}'.",
            one_line(action, 100)
        ),
        None => format!("Board '{slug}' on approve cleared."),
    })
}
