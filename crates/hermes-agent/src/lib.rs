//! The turn of an agent: what the person says goes in, requests and tool calls happen, an answer
//! comes out, and every step of it is stored before the next one begins.
//!
//! Knows no terminal, no command line and no wire format; prints nothing. Who wants to show a turn
//! listens as an [`Observer`].

mod agent;
mod answer_text;
mod calibration;
mod children;
mod compaction;
mod error;
mod observer;
pub mod prompt;
mod repair;
mod settings;
mod steering;
mod tools;
mod turn;
mod wire;

pub use agent::{Agent, Parts, PromptSource};
pub use children::{ChildLimits, ChildPlaces, Children};
pub use error::{Error, Result};
pub use observer::{Event, Observer, Silent};
pub use settings::{AgentSettings, CompactionSettings};
pub use steering::Steering;
pub use tools::LoopGuardSettings;
pub use turn::{ExitReason, Outcome, StopCheck, TurnFailure, TurnInput, TurnResult};
