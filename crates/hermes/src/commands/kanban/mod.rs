//! `hermes kanban`: the task board, a file per verb.
//!
//! Commands turn arguments into requests and outcomes into text; `hermes-board` decides what happens to
//! a card. Refusals begin with `kanban:`, exit codes are 0, 1 and 2.

mod archive;
mod assign;
mod assignees;
mod attachments;
mod block;
mod boards;
mod cards;
mod checks;
mod claim;
mod comment;
mod complete;
mod context;
mod create;
mod daemon;
mod diagnostics;
mod diff;
mod dispatch;
mod dispatcher;
mod edit;
mod event_facts;
mod follow;
mod gc;
mod heartbeat;
mod hosts;
mod init;
mod links;
mod list;
mod live;
mod log;
mod move_board;
mod notify;
mod placement;
mod promote;
mod reclaim;
mod review;
mod runs;
mod schedule;
mod session;
mod show;
mod stats;
mod swarm;
mod times;
mod triage;
mod unblock;
mod why;

use std::process::ExitCode;

pub(in crate::commands) use boards::board_counts;
pub(in crate::commands) use cards::counts_text;
pub(in crate::commands) use live::{Looking, accompany};
pub(in crate::commands) use session::{BoardSession, Kanban};

use super::{NoArgs, exit, help};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Board to use instead of the current one
    #[arg(long, global = true, value_name = "SLUG")]
    board: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Kanban<'_>;
    /// Create the database of the board, or check the existing one
    Init(NoArgs) => init::run,
    /// Manage boards: list, create, switch, archive
    Boards(boards::Args) => boards::run,
    /// Move a board to a database server, or back into a file
    MoveBoard(move_board::Args) => move_board::run,
    /// Create a card
    Create(Box<create::Args>) => create::run,
    /// Create cards for parallel workers, a verifier and a synthesizer
    Swarm(swarm::Args) => swarm::run,
    /// List cards
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Show the whole board, updated live
    Board(live::Args) => live::run,
    /// Show one card with all its details
    Show(show::Args) => show::run,
    /// Assign a card to a profile, or to nobody
    Assign(assign::Args) => assign::run,
    /// Reclaim a running card; its worker is terminated
    Reclaim(reclaim::Args) => reclaim::run,
    /// Assign a card to another profile, even while it is running
    Reassign(reclaim::ReassignArgs) => reclaim::reassign,
    /// Make a card wait for another
    Link(links::Args) => links::link,
    /// Remove a link between two cards
    Unlink(links::Args) => links::unlink,
    /// Claim a ready card to work on it yourself
    Claim(claim::Args) => claim::run,
    /// Comment on a card
    Comment(comment::Args) => comment::run,
    /// Attach a file to a card
    Attach(attachments::AttachArgs) => attachments::attach,
    /// List the files attached to a card
    Attachments(attachments::ListArgs) => attachments::list,
    /// Remove an attached file
    AttachRm(attachments::RemoveArgs) => attachments::remove,
    /// Complete cards
    Complete(complete::Args) => complete::run,
    /// Change the result of a finished card, or the checks of one that nobody is working on
    Edit(edit::Args) => edit::run,
    /// Show what the work on a card changed
    Diff(diff::Args) => diff::run,
    /// Review the work on a card: files, comments on lines, approve or send back
    Review(review::Args) => review::run,
    /// Block cards until somebody unblocks them
    Block(block::Args) => block::run,
    /// Schedule cards for later, or until somebody unblocks them
    Schedule(schedule::Args) => schedule::run,
    /// Unblock blocked or scheduled cards
    Unblock(unblock::Args) => unblock::run,
    /// Promote waiting or blocked cards by hand
    Promote(promote::Args) => promote::run,
    /// Archive cards, or delete archived ones
    Archive(archive::Args) => archive::run,
    /// Follow the events of one card
    Tail(follow::TailArgs) => follow::tail,
    /// Follow the events of the board
    Watch(follow::WatchArgs) => follow::watch,
    /// Run one tick: reclaim stuck cards, start workers for ready ones
    Dispatch(dispatch::Args) => dispatch::run,
    /// Explain what a dispatcher would do with a card
    Why(why::Args) => why::run,
    /// Dispatch continuously on all boards, when no gateway does
    Daemon(daemon::Args) => daemon::run,
    /// List the machines that share the board
    Hosts(hosts::Args) => hosts::run,
    /// Count cards
    Stats(stats::Args) => stats::run,
    /// Subscribe a chat to a card
    NotifySubscribe(notify::SubscribeArgs) => notify::subscribe,
    /// List chat subscriptions
    NotifyList(notify::ListArgs) => notify::list,
    /// Unsubscribe a chat from a card
    NotifyUnsubscribe(notify::UnsubscribeArgs) => notify::unsubscribe,
    /// Print the output of a card's worker
    Log(log::Args) => log::run,
    /// List the attempts at a card
    Runs(runs::Args) => runs::run,
    /// Record a heartbeat for a running card
    Heartbeat(heartbeat::Args) => heartbeat::run,
    /// List assignees and their cards
    Assignees(assignees::Args) => assignees::run,
    /// Print the text that a card's worker reads
    Context(context::Args) => context::run,
    /// Let a model specify cards in triage
    Specify(triage::Args) => triage::specify,
    /// Let a model split cards in triage among the profiles
    Decompose(triage::Args) => triage::decompose,
    /// List problems with cards
    [visible_alias("diag")]
    Diagnostics(diagnostics::Args) => diagnostics::run,
    /// Collect garbage: old events, logs, workspaces
    Gc(gc::Args) => gc::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let Some(verb) = &args.verb else {
        return exit(help(context, &["kanban"]));
    };
    context.start_logging();
    let board = args.board.as_deref();
    verb.run(&Kanban { context, board })
}
