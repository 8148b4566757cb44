//! What the interface is started with, and what it is told about the conversation.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_agent::{Steering, TurnOutcome};
use hermes_proc::Wake;

use crate::look::Look;

/// From how much on a paste is shown as a label; zero means never.
#[derive(Debug, Clone, Copy)]
pub struct PasteLimits {
    pub lines: usize,
    pub characters: usize,
}

/// A command that can be typed after a slash.
#[derive(Debug, Clone)]
pub struct CommandName {
    pub name: String,
    pub arguments: String,
    pub help: String,
}

/// A message that was typed before.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// Seconds since 1970.
    pub at: f64,
    pub text: String,
}

/// Finds messages of earlier sessions that contain all the words, newest first, at most so many.
pub type FindTyped = dyn Fn(&[String], usize) -> Vec<Typed> + Send + Sync;

/// What the interface is started with.
#[derive(Clone)]
pub struct Setup {
    pub look: Look,
    pub paste: PasteLimits,
    pub commands: Vec<CommandName>,
    /// File of what was typed before.
    pub history: PathBuf,
    /// What was typed in other sessions, also elsewhere than here.
    pub typed_before: Arc<FindTyped>,
    /// Ends the running turn when it is raised.
    pub interrupt: Arc<Wake>,
    /// Whether the program has been asked to end.
    pub is_ending: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// What the status line shows.
#[derive(Clone, Default)]
pub struct Facts {
    pub model: String,
    /// Name of the profile; empty for the default one.
    pub profile: String,
    /// Tokens of the context that are used, and how many there are.
    pub window: (u64, u64),
    pub cost: Option<f64>,
    pub cwd: PathBuf,
    /// The directory as people write it.
    pub shown_cwd: String,
    pub branch: Option<String>,
    pub is_yolo: bool,
    /// Sends messages to a running turn.
    pub steering: Option<Arc<Steering>>,
    /// Counts the background processes that run.
    pub processes: Option<Arc<dyn Fn() -> usize + Send + Sync>>,
    /// The last lines, at most so many, of the command that runs.
    pub live_output: Option<Arc<dyn Fn(usize) -> Vec<String> + Send + Sync>>,
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct TurnEnd {
    pub outcome: TurnOutcome,
    /// The answer, for those who did not see it arrive.
    pub text: Option<String>,
    /// What went wrong, and what to do about it.
    pub failure: Option<(String, Option<String>)>,
    /// Files whose last change failed.
    pub unwritten: Vec<String>,
    /// A message that came too late for the turn.
    pub pending: Option<String>,
    /// What became of the goal of the session.
    pub goal: Option<String>,
    /// The message of a turn that follows, unless the person has sent something.
    pub next: Option<String>,
    /// The message, if it could not be stored: it goes back into the text.
    pub returned: Option<String>,
}

impl TurnEnd {
    /// A turn of which there is nothing else to say.
    pub fn of(outcome: TurnOutcome) -> Self {
        Self {
            outcome,
            text: None,
            failure: None,
            unwritten: Vec::new(),
            pending: None,
            goal: None,
            next: None,
            returned: None,
        }
    }
}

/// A message of the conversation so far.
#[derive(Debug, Clone)]
pub enum PastMessage {
    Person(String),
    Model(String),
    /// A call: the tool and its arguments.
    Call(String, serde_json::Value),
    /// The result of the call before.
    Result(String),
}

/// What the person wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// A turn with this message.
    Turn { text: String, images: Vec<PathBuf> },
    /// A command with a slash. The terminal is its own until it is done.
    Command(String),
    /// A command of the shell. The terminal is its own until it is done.
    Shell(String),
    /// The text in an editor. The terminal is its own until it is done.
    Edit(String),
    /// The list of the person's messages, to edit one: [`crate::Chat::offer_messages`].
    ListMessages,
    /// Goes on in a copy of the session that ends before this message of that list.
    Fork(usize),
    /// Goes on with the goal of the session, if it is still pursued.
    FollowGoal,
    /// Pauses the goal of the session: the person interrupted when the next turn was already decided.
    PauseGoal,
    /// The end of the conversation.
    Quit,
}
