//! Model providers: common types for conversations, one blocking trait ([`Provider`]) for every
//! provider, and the replay provider, which needs neither key nor network.
//!
//! The crate knows wire formats, keys, retries and error classes. It never runs a tool, never stores
//! a conversation, and never prints.

mod byte_budget;
mod catalog;
mod chain;
mod classify;
mod context;
mod endpoint;
mod error;
mod http;
mod lenient_json;
mod login;
mod message;
mod pool;
mod provider;
pub mod replay;
mod request;
mod response;
mod route;
mod server_limits;
mod setup;
mod small_image;
mod stored_login;
mod token_claims;
mod wire;

pub use catalog::{
    LocalServer, LocalServerKind, ModelListCache, ModelQuery, QueryError, find_local_servers,
    provider_of_key,
};
pub use context::{ListedModel, ServerRefusal, TokenPrice};
pub use error::{ErrorClass, ProviderError, ProviderFailure};
pub use login::{
    AuthorizationServer, BrowserLogin, ClientRequest, CopilotHost, DeviceLogin, DevicePrompt,
    LOGIN_SERVERS, LoginConnection, LoginError, LoginServer, LoginStep, QwenLogin, RedirectAddress,
    ResourceGrant, ResourceLogin, login_server, renewed_tokens,
};
pub use message::{Content, ContentPart, Image, Message, Reasoning, Role, ToolCall};
pub use pool::{
    AuthError, AuthFile, CredentialEntry, CredentialStatus, LoginPortal, LoginTokens, RefreshError,
    RemovedLogin, is_usable_secret, key_refusal,
};
pub use provider::{Provider, RouteInfo};
pub use replay::Replay;
pub use request::{AuxiliaryTask, Effort, ModelRequest, ToolSchema};
pub use response::{Cost, FinishReason, ModelResponse, StreamEvent, TokenUsage};
pub use setup::{
    AuxiliaryModels, BUILTINS, Builtin, FallbackEntry, ModelOverrides, OpenError, PoolName,
    RouteCheck, builtin, fallback_entries, fallback_problem, keys_in_variables, open,
    usable_fallbacks,
};
pub use stored_login::LoginKeeping;
