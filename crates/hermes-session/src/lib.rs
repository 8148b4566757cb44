//! Sessions: the conversations of a home, in `state.db`, and what the agent remembers between them.
//!
//! The reference program uses the same file: table names, columns and the search index are its own,
//! and each program opens what the other wrote. Every step of a conversation is one transaction, so
//! that a process may die at any moment and providers still accept the stored history. Undoing or
//! summarising messages deletes nothing.
//!
//! This crate knows no model, no tool and no terminal: records are plain data, and tool calls stay
//! the JSON they came as.

mod error;
mod id;
pub mod memory;
mod message;
mod repair;
mod salvage;
mod schema;
mod search;
mod session;
mod store;
mod title;

pub use error::{Error, Result, database_path};
pub use id::{MessageId, SessionId};
pub use message::{MessageContent, MessageRole, SUMMARY_MARK, SessionMessage, StoredMessage};
pub use repair::{Health, RepairMethod, RepairReport, check, repair};
pub use salvage::Salvaged;
pub use session::{Counters, NewSession, Session, SessionEndReason, UsageRecord};
pub use store::{
    AutoPrune, Compaction, CompactionLock, ConversationHistory, ConversationStep, DiscoverRequest,
    DiscoveredConversation, Insights, InsightsRequest, ListRequest, ListedConversation,
    LockAttempt, MessageWindow, Neighbour, Optimized, RecalledMessage, Resumed, ScrollRequest,
    SearchHit, SearchOrder, SearchRequest, SessionFilter, SessionStore, Stats, TypedMessage,
    UndoneTurns, UsageOf, UsageReport, UsageSum, now,
};
pub use title::{MAX_TITLE, clean_title};
