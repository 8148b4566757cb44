//! The remote backend: commands in a container or on another machine.
//!
//! One protocol for all such hosts. A [`Transport`] knows how to start a program there; everything
//! above it (sessions, output, kills, background processes) is the same code for each.

mod backend;
mod channel;
mod client;
mod command;
mod control;
mod error;
mod exchange;
mod hello;
mod host;
mod hunt;
mod login;
mod marked_output;
mod pool;
mod process;
mod program;
mod record;
mod request;
mod script_run;
mod settings;
mod stream;
mod transport;

pub use backend::RemoteBackend;
pub use error::RemoteError;
pub use script_run::{ScriptOutcome, ScriptRequest, ScriptRunner};
pub use settings::RemoteSettings;
pub use stream::RemoteStream;
pub use transport::{Connection, Launch, SessionVariable, Transport, TransportError, Trouble};
