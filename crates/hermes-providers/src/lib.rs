//! Model providers: one vocabulary for conversations, one blocking door ([`Provider`]) to whatever
//! answers them, and the replay provider, which needs neither key nor network.
//!
//! The crate knows wire formats, keys, retries and error classes. It never runs a tool, never stores
//! a conversation, and never prints.

mod adaptations;
mod chain;
mod classify;
mod context;
mod endpoint;
mod error;
mod http;
mod message;
mod pool;
mod provider;
pub mod replay;
mod request;
mod response;
mod route;
mod wire;

pub use error::{ErrorClass, Failure, ProviderError};
pub use message::{Content, Image, Message, Part, Reasoning, Role, ToolCall};
pub use pool::{AuthError, AuthFile, Entry, EntryStatus, Forgotten, is_usable_secret};
pub use provider::{Provider, RouteInfo};
pub use replay::Replay;
pub use request::{Effort, Request, SideTask, ToolSchema};
pub use response::{Cost, Finish, Response, StreamEvent, Usage};
pub use route::{
    BUILTINS, Builtin, FallbackEntry, OpenError, PoolName, SideModels, Wanted, builtin,
    fallback_entries, fallback_problem, keys_in_variables, open,
};
pub use wire::canonical_arguments;
