//! What a demo came to, and what a newcomer does next.

use std::path::Path;

use hermes_board::model::Status;
use hermes_board::store::BoardStore;

use super::run::DemoRun;
use crate::error::Result;
use crate::ui::{Printer, Table, one_line};

const TITLE: usize = 40;
const RESULT: usize = 60;

/// From nothing to a worker with a real model, once a key has taken the place of the stand-in.
const RECIPE: &str = "  \
    hermes config set model.provider openrouter
  hermes config set model.default anthropic/claude-sonnet-4.5
  hermes config set OPENROUTER_API_KEY YOUR-KEY
  hermes profile create builder --inherit-keys
  hermes kanban create 'Write a word counter' --assignee builder --check 'sh test.sh'
  hermes kanban daemon    # starts a worker for every ready card";

/// Prints the table; says whether every card is done.
pub(super) fn print(run: &DemoRun<'_>, printer: Printer) -> Result<bool> {
    let ids: Vec<_> = run.cards.iter().map(|card| card.id.clone()).collect();
    let summaries = run.session.store.latest_summaries(&ids)?;
    let mut table = Table::new(&["CARD", "AGENT", "ATTEMPTS", "CHECKS", "AT", "RESULT"]);
    let (mut done, mut workers) = (0, 0);
    for card in &run.cards {
        let task = run.session.store.task(&card.id)?;
        let status = task.as_ref().map(hermes_board::model::Task::status);
        let is_done = status == Some(Status::Done);
        done += usize::from(is_done);
        let tries = run.session.store.runs(&card.id, None)?.len();
        workers += tries;
        let result = match summaries.get(&card.id) {
            Some(summary) if is_done => summary.clone(),
            _ => status.map_or("gone", Status::as_str).to_owned(),
        };
        let passed = if is_done { card.checks } else { 0 };
        table.row(vec![
            one_line(&card.title, TITLE),
            card.assignee.clone(),
            tries.to_string(),
            format!("{passed}/{}", card.checks),
            card.finished
                .map_or_else(|| "-".to_owned(), |at| format!("{:.1} s", at.as_secs_f64())),
            one_line(&result, RESULT),
        ]);
    }
    printer.line("")?;
    printer.out(&table.render())?;
    printer.line(format!(
        "\n{done} of {} cards done by {workers} worker processes in {:.1} s.",
        run.cards.len(),
        run.elapsed().as_secs_f64()
    ))?;
    Ok(done == run.cards.len())
}

/// What to do now.
pub(super) fn next_steps(kept: Option<&Path>, printer: Printer) -> Result<()> {
    match kept {
        Some(directory) => printer.line(format!(
            "Kept in {0}. Look around: HERMES_HOME={0}/home hermes kanban board",
            directory.display()
        ))?,
        None => {
            printer.line("Everything the demo created has been removed; use --keep to keep it.")?;
        }
    }
    printer.line(format!(
        "\nThe model was a script. To use a real one:\n{RECIPE}"
    ))
}
