//! `hermes kanban review`: looking at the work on a card, comments on its lines, and the verdict.

mod comments;
mod render;
mod verdict;
mod walk;

use std::io::IsTerminal;
use std::process::ExitCode;

use hermes_board::model::{Review, Task, TaskId};
use hermes_board::review::{ReviewedWork, chosen_action, locate};
use hermes_runtime::worker_setup;
use serde_json::json;

use super::session::{BoardSession, Kanban, usage};
use crate::commands::exit;
use crate::error::Result;
use crate::ui::{can_ask, counted, one_line};

pub(super) use render::{
    action_text, base_text, comment_text, file_text, name_omitted, review_line, stat_text,
};
pub(super) use verdict::parse_action;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// The card; at a terminal, walks through the files
    id: Option<TaskId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Kanban<'_>;
    /// Comment on lines of a changed file
    Comment(comments::CommentArgs) => comments::comment,
    /// List the comments of a review
    [visible_alias("ls")]
    List(comments::ListArgs) => comments::list,
    /// Answer a comment
    Reply(comments::ReplyArgs) => comments::reply,
    /// Resolve comments
    Resolve(comments::ResolveArgs) => comments::resolve,
    /// Send the card back to its worker, with the open comments
    RequestChanges(verdict::RequestChangesArgs) => verdict::request_changes,
    /// Approve the work: merge or push it as the card says, and complete the card
    Approve(verdict::ApproveArgs) => verdict::approve,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    match (&args.verb, &args.id) {
        (Some(verb), _) => verb.run(kanban),
        (None, Some(id)) => exit(look(id, args.json, kanban)),
        (None, None) => Err(usage("review: no card was given")
            .hint("`hermes kanban review ID`, or `hermes kanban review --help`")),
    }
}

/// The work of a card and what was said about it.
pub(super) struct Reviewed {
    pub(super) task: Task,
    /// With the lines of comments where they are now.
    pub(super) review: Review,
    pub(super) work: ReviewedWork,
}

impl Reviewed {
    pub(super) fn open(session: &BoardSession<'_>, id: &TaskId) -> Result<Self> {
        let task = session.task(id)?;
        let mut review = session.store.review(id)?;
        let setup = worker_setup(session, &session.home, &session.settings);
        let work = ReviewedWork::open(session.store.board(), &task, &review, &setup)?;
        locate(&mut review, &work)?;
        Ok(Self { task, review, work })
    }
}

/// The review of a card, with the lines of comments where they are now if the work can be looked at.
pub(super) fn located(session: &BoardSession<'_>, id: &TaskId) -> Result<Review> {
    let review = session.store.review(id)?;
    if review.open().next().is_none() {
        return Ok(review);
    }
    Ok(Reviewed::open(session, id).map_or(review, |reviewed| reviewed.review))
}

fn look(id: &TaskId, is_json: bool, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    let reviewed = Reviewed::open(&session, id)?;
    let action = chosen_action(&session.store, &reviewed.review);
    let diff = reviewed.work.diff(&[])?;
    if is_json {
        return kanban.json(&json!({
            "task_id": id,
            "status": reviewed.task.status_word(),
            "on_approve": action,
            "review": reviewed.review,
            "diff": diff,
        }));
    }
    if can_ask() && std::io::stdout().is_terminal() {
        return walk::walk(&mut session, kanban, reviewed, diff, &action);
    }
    kanban.line(format!(
        "{}  {}  {}",
        reviewed.task.id,
        one_line(reviewed.task.status_word(), 64),
        one_line(&reviewed.task.title, 200)
    ))?;
    kanban.line(format!("  {}", base_text(&diff.base)))?;
    kanban.line(format!("  {}", action_text(&action)))?;
    kanban.out(&stat_text(kanban, &diff))?;
    let open = reviewed.review.open().count();
    if open > 0 {
        kanban.line(format!("\n{}:", counted(open, "open comment")))?;
    }
    for comment in reviewed.review.open() {
        kanban.out(&comment_text(kanban, comment))?;
    }
    name_omitted(kanban, &diff.omitted)
}
