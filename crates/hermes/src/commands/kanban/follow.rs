//! `hermes kanban tail` and `watch`: what happens, as it happens.
//!
//! A board is queried for events only after somebody has written to it; an idle one costs reading one
//! number. Ctrl-C ends either verb, and that is a success.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use hermes_board::model::TaskId;
use hermes_board::{BoardEvent, EventQuery};
use hermes_proc::{EndSignal, EndSignals, first_readable};

use super::cards::{NAME, padded, particulars};
use super::session::{BoardSession, Kanban, usage};
use crate::context::Context;
use crate::error::Result;
use crate::signal_watch::listen_for_signals;
use crate::ui::one_line;

/// Shortest pause between two queries.
const LEAST_PAUSE: f64 = 0.1;
/// Longest pause between two queries.
const MOST_PAUSE: f64 = 3600.0;
/// Events taken at a time.
const BATCH: u32 = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// The card
    id: TaskId,
    /// Seconds between queries
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Only cards assigned to this profile or lane
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Only cards in this namespace
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only events of these kinds, separated by commas
    #[arg(long, value_name = "KINDS")]
    kinds: Option<String>,
    /// Seconds between queries
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    interval: f64,
}

pub(super) fn tail(args: &TailArgs, kanban: &Kanban<'_>) -> Result<ExitCode> {
    let pause = pause(args.interval)?;
    let session = kanban.open()?;
    session.task(&args.id)?;
    let query = EventQuery {
        task: Some(args.id.clone()),
        ..EventQuery::default()
    };
    let listening = listen_for_signals()?;
    kanban.line(format!("Events of {}. Ctrl-C to stop.", args.id))?;
    follow(&session, query, pause, &listening, |event| {
        kanban.line(format!(
            "[{}] {}{}",
            kanban.minute(event.created_at),
            one_line(&event.kind, NAME),
            particulars(event.payload.as_ref())
        ))
    })
}

pub(super) fn watch(args: &WatchArgs, kanban: &Kanban<'_>) -> Result<ExitCode> {
    let pause = pause(args.interval)?;
    let session = kanban.open()?;
    let kinds = args.kinds.as_deref().unwrap_or_default().split(',');
    let query = EventQuery {
        after: session.store.latest_event_id()?,
        kinds: kinds
            .map(str::trim)
            .filter(|kind| !kind.is_empty())
            .map(str::to_owned)
            .collect(),
        assignee: args
            .assignee
            .as_deref()
            .map(|name| name.trim().to_lowercase()),
        tenant: args.tenant.clone(),
        ..EventQuery::default()
    };
    let listening = listen_for_signals()?;
    kanban.line("Watching the board. Ctrl-C to stop.")?;
    follow(&session, query, pause, &listening, |event| {
        let facts = particulars(event.payload.as_ref());
        kanban.line(board_event_line(kanban, event, &facts))
    })
}

/// An event of a board, with facts behind it.
pub(super) fn board_event_line(context: &Context, event: &BoardEvent, facts: &str) -> String {
    format!(
        "[{}] {} {} (@{}){facts}",
        context.minute(event.created_at),
        padded(&one_line(event.task_id.as_str(), NAME), 10),
        padded(&one_line(&event.kind, NAME), 18),
        one_line(event.assignee.as_deref().unwrap_or("-"), NAME),
    )
}

/// Passes on events from `query.after` on until a signal ends it.
fn follow(
    session: &BoardSession<'_>,
    mut query: EventQuery,
    pause: Duration,
    listening: &EndSignals,
    mut print: impl FnMut(&BoardEvent) -> Result<()>,
) -> Result<ExitCode> {
    query.limit = Some(BATCH);
    let mut version = None;
    loop {
        // In this order: what is written after the look at the number is found next time.
        let now = session.store.data_version()?;
        if version != Some(now) {
            version = Some(now);
            query.after = drain(session, &query, &mut print)?;
        }
        first_readable(&[listening.as_fd()], Some(pause))?;
        match listening.take() {
            None => {}
            Some(EndSignal::Interrupt) => {
                session.line("\n(stopped)")?;
                return Ok(ExitCode::SUCCESS);
            }
            Some(signal) => return Ok(ExitCode::from(signal.exit_code())),
        }
    }
}

/// Passes on all events there are; returns where to go on.
fn drain(
    session: &BoardSession<'_>,
    query: &EventQuery,
    print: &mut impl FnMut(&BoardEvent) -> Result<()>,
) -> Result<i64> {
    let mut query = query.clone();
    // Events that do not match need not be looked at again.
    let newest = session.store.latest_event_id()?;
    loop {
        let events = session.store.events(&query)?;
        for event in &events {
            print(event)?;
        }
        match events.last() {
            Some(last) => query.after = last.id,
            None => return Ok(query.after.max(newest)),
        }
    }
}

fn pause(seconds: f64) -> Result<Duration> {
    if !seconds.is_finite() {
        return Err(usage("--interval must be a number of seconds"));
    }
    Ok(Duration::from_secs_f64(
        seconds.clamp(LEAST_PAUSE, MOST_PAUSE),
    ))
}
