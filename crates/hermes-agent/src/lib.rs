//! The turn of an agent: what the person says goes in, requests and tool calls happen, an answer
//! comes out, and every step of it is stored before the next one begins.
//!
//! Knows no terminal, no command line and no wire format; prints nothing. Who wants to show a turn
//! listens as an [`Observer`].

mod agent;
mod answer_text;
mod approval;
mod between_turns;
mod calibration;
mod children;
mod compaction;
mod error;
mod goal;
mod observer;
pub mod prompt;
mod repair;
mod settings;
mod side;
mod steering;
mod title;
mod tools;
pub mod triage;
mod turn;
mod wire;

pub use agent::{Agent, Parts, PromptSource};
pub use approval::ApprovalModel;
pub use between_turns::{Compressed, WindowUse};
pub use children::{ChildLimits, ChildPlaces, Children};
pub use error::{Error, Result};
pub use goal::SideJudge;
pub use observer::{Event, Observer, Silent};
pub use settings::{AgentSettings, CompactionSettings};
pub use side::{SideAnswer, ask_aside};
pub use steering::Steering;
pub use title::{PendingTitle, TitleJob};
pub use tools::LoopGuardSettings;
pub use turn::{ExitReason, Outcome, StopCheck, TurnFailure, TurnInput, TurnResult};
