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
mod dispatch;
mod dispatcher;
mod edit;
mod follow;
mod gc;
mod heartbeat;
mod init;
mod links;
mod list;
mod live;
mod log;
mod notify;
mod promote;
mod reclaim;
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
mod workers;

use std::process::ExitCode;

pub(in crate::commands) use live::{Looking, accompany};
pub(in crate::commands) use session::BoardSession;
pub(in crate::commands) use workers::plain_dispatcher as dispatcher;

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

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Create the database of the board, or check the existing one
    Init,
    /// Manage boards: list, create, switch, archive
    Boards(boards::Args),
    /// Create a card
    Create(Box<create::Args>),
    /// Create cards for parallel workers, a verifier and a synthesizer
    Swarm(swarm::Args),
    /// List cards
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show the whole board, updated live
    Board(live::Args),
    /// Show one card with everything that belongs to it
    Show(show::Args),
    /// Assign a card to a profile, or to nobody
    Assign(assign::Args),
    /// Reclaim a running card; its worker is terminated
    Reclaim(reclaim::Args),
    /// Assign a card to another profile, even while it is running
    Reassign(reclaim::ReassignArgs),
    /// Make a card wait for another
    Link(links::Args),
    /// Remove a link between two cards
    Unlink(links::Args),
    /// Claim a ready card to work on it yourself
    Claim(claim::Args),
    /// Comment on a card
    Comment(comment::Args),
    /// Attach a file to a card
    Attach(attachments::AttachArgs),
    /// List the files attached to a card
    Attachments(attachments::ListArgs),
    /// Remove an attached file
    AttachRm(attachments::RemoveArgs),
    /// Complete cards
    Complete(complete::Args),
    /// Change the result of a finished card, or the checks of one that nobody works on
    Edit(edit::Args),
    /// Block cards until somebody unblocks them
    Block(block::Args),
    /// Schedule cards for later, or until somebody unblocks them
    Schedule(schedule::Args),
    /// Unblock blocked or scheduled cards
    Unblock(unblock::Args),
    /// Promote waiting or blocked cards by hand
    Promote(promote::Args),
    /// Archive cards, or delete archived ones
    Archive(archive::Args),
    /// Print what happens to one card
    Tail(follow::TailArgs),
    /// Print what happens on the board
    Watch(follow::WatchArgs),
    /// Run one tick: reclaim stuck cards, start workers for ready ones
    Dispatch(dispatch::Args),
    /// Explain what a dispatcher would do with a card
    Why(why::Args),
    /// Dispatch on all boards continuously, where no gateway does
    Daemon(daemon::Args),
    /// Count cards
    Stats(stats::Args),
    /// Subscribe a chat to a card
    NotifySubscribe(notify::SubscribeArgs),
    /// List the subscriptions of chats
    NotifyList(notify::ListArgs),
    /// Unsubscribe a chat from a card
    NotifyUnsubscribe(notify::UnsubscribeArgs),
    /// Print the output of a card's worker
    Log(log::Args),
    /// List the attempts at a card
    Runs(runs::Args),
    /// Record a heartbeat for a running card
    Heartbeat(heartbeat::Args),
    /// List assignees and their cards
    Assignees(assignees::Args),
    /// Print the text that the worker of a card reads
    Context(context::Args),
    /// Let a model specify cards in triage
    Specify(triage::Args),
    /// Let a model split cards in triage among the profiles
    Decompose(triage::Args),
    /// List problems of cards
    #[command(visible_alias = "diag")]
    Diagnostics(diagnostics::Args),
    /// Collect garbage: old events, logs, workspaces
    Gc(gc::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let board = args.board.as_deref();
    let Some(verb) = &args.verb else {
        return help(context);
    };
    context.start_logging();
    match verb {
        Verb::Init => init::run(context, board),
        Verb::Boards(args) => boards::run(args, context),
        Verb::Create(args) => create::run(args, context, board),
        Verb::Swarm(args) => swarm::run(args, context, board),
        Verb::List(args) => list::run(args, context, board),
        Verb::Board(args) => live::run(args, context, board),
        Verb::Show(args) => show::run(args, context, board),
        Verb::Assign(args) => assign::run(args, context, board),
        Verb::Reclaim(args) => reclaim::run(args, context, board),
        Verb::Reassign(args) => reclaim::reassign(args, context, board),
        Verb::Link(args) => links::link(args, context, board),
        Verb::Unlink(args) => links::unlink(args, context, board),
        Verb::Claim(args) => claim::run(args, context, board),
        Verb::Comment(args) => comment::run(args, context, board),
        Verb::Attach(args) => attachments::attach(args, context, board),
        Verb::Attachments(args) => attachments::list(args, context, board),
        Verb::AttachRm(args) => attachments::remove(args, context, board),
        Verb::Complete(args) => complete::run(args, context, board),
        Verb::Edit(args) => edit::run(args, context, board),
        Verb::Block(args) => block::run(args, context, board),
        Verb::Schedule(args) => schedule::run(args, context, board),
        Verb::Unblock(args) => unblock::run(args, context, board),
        Verb::Promote(args) => promote::run(args, context, board),
        Verb::Archive(args) => archive::run(args, context, board),
        Verb::Tail(args) => follow::tail(args, context, board),
        Verb::Watch(args) => follow::watch(args, context, board),
        Verb::Dispatch(args) => dispatch::run(args, context, board),
        Verb::Why(args) => why::run(args, context, board),
        Verb::Daemon(args) => daemon::run(args, context, board),
        Verb::Stats(args) => stats::run(args, context, board),
        Verb::NotifySubscribe(args) => notify::subscribe(args, context, board),
        Verb::NotifyList(args) => notify::list(args, context, board),
        Verb::NotifyUnsubscribe(args) => notify::unsubscribe(args, context, board),
        Verb::Log(args) => log::run(args, context, board),
        Verb::Runs(args) => runs::run(args, context, board),
        Verb::Heartbeat(args) => heartbeat::run(args, context, board),
        Verb::Assignees(args) => assignees::run(args, context, board),
        Verb::Context(args) => context::run(args, context, board),
        Verb::Specify(args) => triage::specify(args, context, board),
        Verb::Decompose(args) => triage::decompose(args, context, board),
        Verb::Diagnostics(args) => diagnostics::run(args, context, board),
        Verb::Gc(args) => gc::run(args, context, board),
    }
}

/// Without a subcommand, print which there are.
fn help(context: &Context) -> Result<ExitCode> {
    let mut tree = crate::cli::command();
    tree.build();
    if let Some(kanban) = tree.find_subcommand_mut("kanban") {
        context.printer.out(&kanban.render_help().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
