//! What can happen, one thing at a time.

use std::fmt;

use hermes_board::model::BlockKind;

/// One thing that happens. Applied to any world it does something or, where it makes no sense,
/// nothing: so a trace stays a trace when parts of it are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A dispatcher takes its next step; an idle one begins to look at the board.
    Step(u8),
    /// A dispatcher is killed and started anew.
    Kill(u8),
    /// A dispatcher is asked what it would do.
    Preview(u8),
    /// A dispatcher looks at the board from beginning to end while nothing else happens.
    WholeTick(u8),
    /// A machine restarts.
    Restart(u8),
    /// A machine gets another name.
    Rename(u8),
    /// Nobody can start workers on a machine, or again everybody.
    Refuse(u8),
    /// Time passes.
    Wait(u32),
    /// The clock of one machine is set.
    SetClock(u8, i32),
    /// A worker of a card does something.
    Work(u8, Which, Act),
    /// Somebody files a card.
    Create(Form),
    /// Somebody makes a card wait for an older one.
    Link(u8, u8),
    /// Somebody takes a card back on a machine.
    Reclaim(u8, u8),
    /// Somebody claims a card on a machine, and works on it without a worker.
    Claim(u8, u8),
    /// Somebody completes a card.
    Complete(u8),
    /// Somebody blocks a card.
    Block(u8, Option<BlockKind>),
    /// Somebody unblocks a card.
    Unblock(u8),
    /// Somebody parks a card for so many seconds.
    Park(u8, Option<u16>),
    /// Somebody makes a card ready by hand.
    Promote(u8),
    /// Somebody puts a card away.
    Archive(u8),
    /// Somebody gives a card to somebody.
    Assign(u8, u8),
    /// The directory of a card can no longer be made, or again it can.
    Spoil(u8),
    /// The next write to the board does not happen.
    FailWrite,
    /// The link between a machine and the server is cut, or mended.
    Cut(u8),
    /// The next write of a machine is done, and the answer lost.
    LoseAnswer(u8),
    /// The next write of a machine is done later.
    Delay(u8),
    /// The oldest write that is on its way arrives.
    Deliver,
    /// The server restarts: turns and what was on its way are gone.
    RestartServer,
    /// The server fails, and what was not forced to the disk is gone as well.
    FailOver,
}

/// Which of the workers of a card, should there be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one that was started last.
    Newest,
    /// The one that was started first.
    Oldest,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Gives a sign of life.
    Beat,
    /// Says that its card is done.
    Complete,
    /// Takes the next step of the checks of its card; the check passes, or not.
    Check(bool),
    /// Blocks its card.
    Block(Option<BlockKind>),
    /// Uses up its turns.
    UseUpTurns,
    /// Ends with a code, with a note about it or without.
    Exit(u8, bool),
    /// Dies by a signal.
    Die,
    /// Starts a process that may outlive it.
    Fork,
    /// The processes it started end.
    ChildrenEnd,
    /// Can no longer be ended, or again it can.
    Stick,
}

/// A card to be filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// An older card it waits for.
    pub parent: Option<u8>,
    /// Whom it is given to.
    pub assignee: u8,
    /// Failures after which it is blocked.
    pub retries: Option<u8>,
    /// Longest time of an attempt, in minutes.
    pub minutes: Option<u8>,
    /// How many checks it has.
    pub checks: u8,
    /// Higher goes first.
    pub priority: u8,
    /// Where it starts.
    pub held: Hold,
}

/// Whether a new card is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It is not.
    No,
    /// Until somebody unblocks it.
    Blocked,
    /// For so many seconds.
    Parked(u16),
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(who) => write!(f, "dispatcher {who}: next step"),
            Self::Kill(who) => write!(f, "dispatcher {who}: killed"),
            Self::Preview(who) => write!(f, "dispatcher {who}: dry run"),
            Self::WholeTick(who) => write!(f, "dispatcher {who}: whole tick"),
            Self::Restart(host) => write!(f, "machine {host}: restarts"),
            Self::Rename(host) => write!(f, "machine {host}: gets another name"),
            Self::Refuse(host) => write!(f, "machine {host}: toggles refusing workers"),
            Self::Wait(seconds) => write!(f, "{seconds} s pass"),
            Self::SetClock(host, by) => write!(f, "machine {host}: clock set by {by} s"),
            Self::Work(card, which, act) => write!(f, "card {card}, {which:?} worker: {act:?}"),
            Self::Create(form) => write!(f, "files {form:?}"),
            Self::Link(parent, child) => write!(f, "card {child} waits for card {parent}"),
            Self::Reclaim(host, card) => write!(f, "card {card}: taken back on machine {host}"),
            Self::Claim(host, card) => write!(f, "card {card}: claimed by hand on machine {host}"),
            Self::Complete(card) => write!(f, "card {card}: completed by hand"),
            Self::Block(card, kind) => write!(f, "card {card}: blocked by hand ({kind:?})"),
            Self::Unblock(card) => write!(f, "card {card}: unblocked"),
            Self::Park(card, seconds) => write!(f, "card {card}: parked ({seconds:?} s)"),
            Self::Promote(card) => write!(f, "card {card}: made ready by hand"),
            Self::Archive(card) => write!(f, "card {card}: put away"),
            Self::Assign(card, to) => write!(f, "card {card}: given to {to}"),
            Self::Spoil(card) => write!(f, "card {card}: toggles an impossible directory"),
            Self::FailWrite => f.write_str("the next write fails"),
            Self::Cut(host) => write!(f, "machine {host}: link cut or mended"),
            Self::LoseAnswer(host) => write!(f, "machine {host}: the next answer is lost"),
            Self::Delay(host) => write!(f, "machine {host}: the next write is delayed"),
            Self::Deliver => f.write_str("a delayed write arrives"),
            Self::RestartServer => f.write_str("the server restarts"),
            Self::FailOver => f.write_str("the server fails over"),
        }
    }
}
