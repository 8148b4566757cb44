//! Commands that run somewhere else: in a container or on another machine.
//!
//! One protocol for all such places. A [`Transport`] knows how to start a program there; everything
//! above it (sessions, output, kills, background processes) is the same code for each, and shares the
//! session state and the result pipeline with the local backend.

mod background;
mod channel;
mod client;
mod control;
mod error;
mod exchange;
mod foreground;
mod hello;
mod internal;
mod login;
mod marked_output;
mod pool;
mod program;
mod record;
mod request;
mod settings;
mod site;
mod terminal;
mod transport;

pub(crate) use background::{Answer, NewState, NotStarted, Question, RemoteKill, RemoteProcess};
pub use error::RemoteError;
pub use internal::{InternalOutput, InternalRun};
pub use settings::RemoteSettings;
pub use terminal::RemoteTerminal;
pub use transport::{Launch, SessionVariable, Transport, TransportError, Trouble};
