//! Sessions: the conversations of a home, in `state.db`.
//!
//! The file is shared with the reference program: names, columns and the search index are its own,
//! and each of the two opens what the other wrote. Every step of a conversation is one transaction,
//! so that a process may die at any moment and the stored history is still one that a provider
//! accepts. Nothing is deleted by taking it back or by summarising it.
//!
//! Knows no model, no tool and no terminal: records are plain data, and calls stay the JSON they
//! came as.

mod clock;
mod error;
mod id;
mod message;
mod repair;
mod salvage;
mod schema;
mod search;
mod session;
mod shown;
mod store;
mod title;

pub use clock::{Clock, SystemClock};
pub use error::{Error, Result};
pub use id::{MessageId, SessionId};
pub use message::{Content, Message, Role, SUMMARY_MARK, StoredMessage};
pub use repair::{Health, Mended, Repaired, check, repair};
pub use salvage::Salvaged;
pub use session::{Counters, EndReason, NewSession, Session, Usage};
pub use store::{
    AutoPrune, AutoPruned, Browsed, Compaction, CompactionLock, CompactionPause, Discover,
    Discovery, History, Hit, ListRequest, Listed, LockAttempt, Neighbour, Optimized, Recalled,
    Resumed, Scroll, SearchOrder, SearchRequest, SessionFilter, SessionStore, Stats, Step,
    StoreOptions, TakenBack, Window,
};
pub use title::{MAX_TITLE, clean_title};

pub(crate) use shown::shown;
