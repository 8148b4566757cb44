//! `hermes kanban hosts`: the machines that share the board.

use std::process::ExitCode;

use hermes_board::store::BoardStore;
use hermes_board::{HostUse, host_id, renew_host_id};
use hermes_fs::FileLock;
use serde::Serialize;

use super::cards::{NAME, joined, padded};
use super::session::{BoardSession, Kanban};
use super::times::elapsed;
use crate::commands::{NoArgs, exit};
use crate::error::Result;
use crate::ui::one_line;

/// Characters of labels in a row.
const LABELS: usize = 200;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

verbs! { Kanban<'_>;
    /// Forget a host that is away and works on nothing
    Forget(ForgetArgs) => forget,
    /// Give this installation a new host id: for a copy of another installation
    NewId(NoArgs) => new_id,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ForgetArgs {
    /// Name or id of the host
    name: String,
}

/// A host in JSON.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    host: &'a HostUse,
    /// Cards in progress.
    used: usize,
    /// Whether it is this machine.
    here: bool,
    /// `up` or `away`.
    state: &'static str,
    away_since: Option<i64>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(kanban),
        None => exit(list(args, kanban)),
    }
}

fn list(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let own = host_id(&session.home)?;
    let hosts = session.store.hosts()?;
    let rows: Vec<Row<'_>> = hosts
        .iter()
        .map(|host| row(&session, host, own.as_deref()))
        .collect();
    if args.json {
        return kanban.json(&rows);
    }
    if rows.is_empty() {
        return kanban.line(
            "No dispatcher has used this board yet; `hermes gateway start` or `hermes kanban daemon` \
             starts one.",
        );
    }
    kanban.out(&table(&rows, session.store.now()))
}

fn row<'a>(session: &BoardSession<'_>, used: &'a HostUse, own: Option<&str>) -> Row<'a> {
    let host = &used.host;
    let here = own == Some(host.id.as_str());
    let away_since = host.away_since(session.store.now());
    let (is_up, away_since) = if session.store.is_on_server() {
        (away_since.is_none(), away_since)
    } else {
        // A file gets no heartbeats; whoever dispatches holds a lock.
        let lock = session.home.dispatcher_lock();
        (here && FileLock::is_held(&lock).unwrap_or(false), None)
    };
    Row {
        host: used,
        used: used.running.len(),
        here,
        state: if is_up { "up" } else { "away" },
        away_since,
    }
}

fn table(rows: &[Row<'_>], now: i64) -> String {
    let cells: Vec<[String; 6]> = rows.iter().map(|row| cells(row, now)).collect();
    let heads = ["NAME", "LABELS", "SLOTS", "VERSION", "STATE", "RUNNING"].map(str::to_owned);
    let mut widths = heads.each_ref().map(|head| head.chars().count());
    for line in &cells {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for line in std::iter::once(&heads).chain(&cells) {
        let padded: Vec<String> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| padded(cell, width))
            .collect();
        out.push_str(padded.join("  ").trim_end());
        out.push('\n');
    }
    out
}

fn cells(row: &Row<'_>, now: i64) -> [String; 6] {
    let host = &row.host.host;
    let filled = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    let slots = host
        .slots
        .map_or_else(|| "-".to_owned(), |slots| slots.to_string());
    let away = row
        .away_since
        .map(|since| elapsed(now.saturating_sub(since)));
    let state = match (row.here, row.state) {
        (true, "up") => "here, up",
        (true, _) => "here, no dispatcher",
        (false, state) => state,
    };
    let since = away.map(|ago| format!(" since {ago}")).unwrap_or_default();
    [
        one_line(&host.name, NAME),
        filled(one_line(&host.labels.join(", "), LABELS)),
        format!("{}/{slots}", row.used),
        one_line(&host.version, NAME),
        format!("{state}{since}"),
        filled(joined(&row.host.running)),
    ]
}

fn forget(args: &ForgetArgs, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.must_be_person("forget a host")?;
    let host = session.store.forget_host(&args.name)?;
    kanban.line(format!("Forgot host {}", one_line(&host.name, NAME)))
}

fn new_id(_: &NoArgs, kanban: &Kanban<'_>) -> Result<()> {
    kanban.caller()?.must_be_person("change the host id")?;
    let id = renew_host_id(&kanban.home())?;
    kanban.line(format!("This installation has the host id {id} now"))?;
    kanban.hint(
        "workers that it had started under the old one are no longer watched; their claims expire",
    )
}
