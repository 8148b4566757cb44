//! The turn loop of an agent: from the user's message over requests and tool calls to the answer.
//! Every step is stored before the next one begins.
//!
//! The crate knows no terminal, no command line and no wire format, and prints nothing: a
//! [`TurnObserver`] can show a turn.

mod agent;
mod answer_text;
mod approval;
mod auxiliary;
mod between_turns;
mod calibration;
mod children;
mod compaction;
mod goal;
mod history_repair;
mod hook_events;
mod image_mode;
mod memory_events;
mod message_conversion;
mod observer;
mod profile_description;
pub mod prompt;
mod review;
mod sampling;
mod settings;
pub mod standing_goal;
mod steering;
mod title;
mod tools;
pub mod triage;
mod turn;
mod vision;

pub use agent::{Agent, Parts, PromptSource};
pub use approval::ApprovalModel;
pub use between_turns::WindowUse;
pub use children::{ChildContextFactory, ChildLimits, SubAgentRunner, tool_schemas};
pub use compaction::{Compacted, raised_threshold};
pub use goal::AuxiliaryGoalJudge;
pub use hermes_session::{Error, Result};
pub use image_mode::ImageMode;
pub use observer::{StopCheck, TurnEvent, TurnObserver};
pub use profile_description::{ProfileFacts, describe_profile};
pub use review::{PendingReview, ReviewJob, ReviewScope};
pub use sampling::answer_server;
pub use settings::{AgentSettings, CompactionSettings, IntentContinuation};
pub use steering::Steering;
pub use title::{PendingTitle, TitleJob};
pub use tools::{LoopGuardSettings, RepeatLimits};
pub use turn::{Acknowledged, ExitReason, TurnFailure, TurnInput, TurnOutcome, TurnResult};
pub use vision::describe_image;
