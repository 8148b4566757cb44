//! `hermes kanban`: the task board, a file per verb.
//!
//! Verbs turn arguments into requests and outcomes into words; what may happen to a card is decided
//! in `hermes-board`. Refusals begin with `kanban:`, exit codes are 0, 1 and 2.

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
    /// Make the database of the board, or check the one that is there
    Init,
    /// Manage boards: list them, make them, switch between them
    Boards(boards::Args),
    /// File a card
    Create(Box<create::Args>),
    /// File cards for several workers, one who verifies and one who puts it together
    Swarm(swarm::Args),
    /// List cards
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show the whole board, kept up to date
    Board(live::Args),
    /// Show one card with everything that hangs on it
    Show(show::Args),
    /// Give a card to a profile, or to nobody
    Assign(assign::Args),
    /// Take a card out of the hands it is in; its worker is ended
    Reclaim(reclaim::Args),
    /// Give a card to another profile, also one that is being worked on
    Reassign(reclaim::ReassignArgs),
    /// Make a card wait for another
    Link(links::Args),
    /// Let a card wait no longer for another
    Unlink(links::Args),
    /// Take a ready card to work on it yourself
    Claim(claim::Args),
    /// Say something on a card
    Comment(comment::Args),
    /// Attach a file to a card
    Attach(attachments::AttachArgs),
    /// List the files attached to a card
    Attachments(attachments::ListArgs),
    /// Remove an attached file
    AttachRm(attachments::RemoveArgs),
    /// Finish cards
    Complete(complete::Args),
    /// Change the result of a finished card, or the checks of one that nobody works on
    Edit(edit::Args),
    /// Block cards until somebody answers
    Block(block::Args),
    /// Park cards until a moment, or until somebody unblocks them
    Schedule(schedule::Args),
    /// Free blocked or parked cards
    Unblock(unblock::Args),
    /// Make waiting or blocked cards ready by hand
    Promote(promote::Args),
    /// Put cards away, or delete those that were
    Archive(archive::Args),
    /// Print what happens to one card
    Tail(follow::TailArgs),
    /// Print what happens on the board
    Watch(follow::WatchArgs),
    /// Look at the board once: take back what is stuck, start workers for what is ready
    Dispatch(dispatch::Args),
    /// Say what a dispatcher would do with a card, and why
    Why(why::Args),
    /// Look at all boards again and again, where no gateway does
    Daemon(daemon::Args),
    /// Count cards
    Stats(stats::Args),
    /// Let a chat hear of a card
    NotifySubscribe(notify::SubscribeArgs),
    /// List the chats that hear of cards
    NotifyList(notify::ListArgs),
    /// Let a chat hear of a card no longer
    NotifyUnsubscribe(notify::UnsubscribeArgs),
    /// Print the output of a card's worker
    Log(log::Args),
    /// List the attempts at a card
    Runs(runs::Args),
    /// Give a sign of life for a card that is being worked on
    Heartbeat(heartbeat::Args),
    /// List who can be given cards, and what they have
    Assignees(assignees::Args),
    /// Print what a worker is told about its card
    Context(context::Args),
    /// Let a model make cards in triage clear
    Specify(triage::Args),
    /// Let a model split cards in triage among the profiles
    Decompose(triage::Args),
    /// List cards in distress
    #[command(visible_alias = "diag")]
    Diagnostics(diagnostics::Args),
    /// Remove what nobody needs any more
    Gc(gc::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let board = args.board.as_deref();
    let Some(verb) = &args.verb else {
        return help(context);
    };
    let _logging = context.start_logging();
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

/// Without a verb there is nothing to do but to say which there are.
fn help(context: &Context) -> Result<ExitCode> {
    let mut tree = crate::cli::command();
    tree.build();
    if let Some(kanban) = tree.find_subcommand_mut("kanban") {
        context.printer.out(&kanban.render_help().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
