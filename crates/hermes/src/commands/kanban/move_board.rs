//! `hermes kanban move-board`: a board with all its history in another place.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hermes_board::files::MOVE_FILES;
use hermes_board::{MoveReport, MoveRequest, MoveStep, Progress};
use hermes_config::vars;

use super::session::Kanban;
use crate::context::Context;
use crate::error::Result;

/// How long `--wait` waits for workers.
const WAIT: Duration = Duration::from_hours(24);
/// Pause between two changes of the line that says how far we are.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to: postgres://USER@HOST/DATABASE, or sqlite for a file
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Check everything and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Wait until workers are done, instead of refusing
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    kanban.caller()?.must_be_person("move boards")?;
    let home = kanban.home();
    let request = MoveRequest {
        slug: home.select(kanban.board)?.slug,
        to: args.to.trim().to_owned(),
        is_dry_run: args.dry_run,
        worker_timeout: if args.wait { WAIT } else { Duration::ZERO },
    };
    let options = hermes_runtime::kanban_settings(kanban).board_options(&kanban.env);
    let mut line = MoveLine::new(kanban);
    let moved = home.move_board(
        &request,
        &options,
        &mut |progress| line.show(progress),
        &MOVE_FILES,
    );
    line.clear();
    let report = moved?;
    if args.json {
        return kanban.json(&report);
    }
    print(kanban, &report, args.dry_run)
}

fn print(kanban: &Kanban<'_>, report: &MoveReport, is_dry_run: bool) -> Result<()> {
    let (board, to) = (&report.board, &report.to);
    if report.from == report.to {
        return kanban.line(format!("Board '{board}' is already at {to}."));
    }
    let rows: u64 = report.tables.iter().map(|table| table.rows).sum();
    let of = |name: &str| {
        let found = report.tables.iter().find(|table| table.table == name);
        found.map_or(0, |table| table.rows)
    };
    let (cards, events) = (of("tasks"), of("task_events"));
    let what = format!("{cards} card(s), {events} event(s), {rows} row(s) in all");
    if is_dry_run {
        kanban.line(format!("Board '{board}' can be moved to {to}: {what}."))?;
    } else {
        kanban.line(format!("Board '{board}' moved to {to}: {what}."))?;
        kanban.line(format!(
            "The old one stays at {} and refuses changes.",
            report.from
        ))?;
    }
    for left in &report.left_out {
        kanban.note(format!("not copied: {left}"))?;
    }
    if let Some(kept) = &report.set_aside {
        kanban.note(format!("an earlier board there was kept as {kept}"))?;
    }
    let password = &vars::PGPASSWORD;
    let is_of_shell =
        kanban.env.is_set(password) && kanban.config().dotenv().get(password.name).is_none();
    if report.moved && to.starts_with("postgres") && is_of_shell {
        kanban
            .hint("gateways and other shells need the password, too: put PGPASSWORD into `.env`")?;
    }
    Ok(())
}

/// One line on a terminal that says how far we are.
struct MoveLine<'a> {
    context: &'a Context,
    is_visible: bool,
    shown: Option<Instant>,
}

impl<'a> MoveLine<'a> {
    fn new(context: &'a Context) -> Self {
        Self {
            context,
            is_visible: std::io::stderr().is_terminal(),
            shown: None,
        }
    }

    fn show(&mut self, progress: Progress<'_>) {
        let is_due = self.shown.is_none_or(|at| at.elapsed() >= PAUSE);
        if !self.is_visible || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let Progress { step, table, rows } = progress;
        let text = match step {
            MoveStep::Waiting => "waiting for workers".to_owned(),
            MoveStep::Checking => format!("checking {table}: {rows} rows"),
            MoveStep::Copying => format!("copying {table}: {rows} rows"),
            MoveStep::Verifying => format!("verifying {table}: {rows} rows"),
        };
        // A terminal that has gone is found out when the result is printed.
        drop(self.context.printer.replace_line(&text));
    }

    fn clear(&self) {
        if self.shown.is_some() {
            drop(self.context.printer.replace_line(""));
        }
    }
}
