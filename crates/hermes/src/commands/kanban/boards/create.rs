//! `hermes kanban boards create`.

use std::path::Path;

use hermes_board::CheckDepth;
use hermes_board::boards::{BoardHome, BoardSlug, MetadataChange};
use hermes_runtime::workspace_rules;

use super::super::cards::NAME;
use super::super::session::Kanban;
use super::now;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Slug: lowercase letters, digits, - and _
    slug: String,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Icon: a character or two
    #[arg(long, value_name = "TEXT")]
    icon: Option<String>,
    /// Colour for the dashboard, such as #8b5cf6
    #[arg(long, value_name = "COLOUR")]
    color: Option<String>,
    /// Working directory for cards that do not specify one
    #[arg(long, value_name = "PATH")]
    default_workdir: Option<String>,
    /// Switch to the board
    #[arg(long)]
    switch: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(&args.slug)?;
    let caller = kanban.caller()?;
    caller.may_manage("create boards")?;
    if args.default_workdir.is_some() {
        caller.must_be_person(WORKDIR)?;
    }
    let home = kanban.home();
    let workdir = args.default_workdir.as_deref();
    let workdir = workdir.map(|path| workdir_in(kanban, &home, path));
    let workdir = workdir.transpose()?;
    let change = MetadataChange {
        name: args.name.clone(),
        description: args.description.clone(),
        icon: args.icon.clone(),
        color: args.color.clone(),
        default_workdir: workdir.map(Some),
        archived: None,
        on_approve: None,
        ..MetadataChange::default()
    };
    let created = home.create(&slug, &change, now())?;
    // A board is one that can be opened.
    kanban.open_board(&home.board(&slug), CheckDepth::WhenDue)?;
    let verb = if created.existed {
        "already exists"
    } else {
        "created"
    };
    kanban.line(format!("Board '{slug}' {verb}."))?;
    kanban.line(format!(
        "  Display name: {}",
        one_line(&created.info.name, NAME)
    ))?;
    kanban.line(format!(
        "  DB path:      {}",
        created.info.db_path.display()
    ))?;
    if args.switch {
        home.switch(&slug)?;
        kanban.line(format!("  Switched to '{slug}'."))?;
    } else {
        kanban.line(format!(
            "  `hermes kanban boards switch {slug}` switches to it."
        ))?;
    }
    Ok(())
}

/// What agents cannot do: cards are worked on there.
pub(super) const WORKDIR: &str = "choose the working directory of a board";

/// A directory with `~` resolved, in which cards may be worked on.
pub(super) fn workdir_in(kanban: &Kanban<'_>, home: &BoardHome, path: &str) -> Result<String> {
    let path = home.expand(Path::new(path.trim()));
    if path.is_absolute() {
        let rules = workspace_rules(kanban);
        rules.check(&path).map_err(hermes_board::Error::from)?;
    }
    Ok(path.to_string_lossy().into_owned())
}
