//! Shell hooks: commands of the user's that are run at events of a conversation, told of the event as
//! JSON, and able to refuse a call, to add to a message or to replace a text.
//!
//! Plugins hear of the same events ([`HookListener`]): those that decide are asked and waited for a
//! moment, all others are told through a queue that never delays anybody.
//!
//! Settings, the file of accepted hooks and what goes over the pipes are the reference's. A hook can
//! fail, hang or print without end; the conversation goes on unless the hook was set to block then.

mod accepted;
mod background;
mod command;
mod directory;
mod event;
mod hooks;
mod host;
mod listener;
mod observer_queue;
mod reply;
mod run;
mod spec;
mod spill;

pub use accepted::{Acceptance, AcceptedHooks};
pub use command::{script_of, script_time};
pub use directory::hooks_of_directories;
pub use event::HookEvent;
pub use hooks::{Hooks, Occasion, gateway_payload};
pub use host::HookHost;
pub use listener::{ExecListener, HookListener, ListenerCommand, ListenerProfile};
pub use reply::HookReply;
pub use run::{HookEnd, HookRun, run_hook};
pub use spec::{Configured, HookSpec, OnError, configured};
pub use spill::OutputSpill;
