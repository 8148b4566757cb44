//! Commands that run somewhere else: in a container or on another machine.
//!
//! One protocol for all such places. A [`Transport`] knows how to start a program there; everything
//! above it (sessions, output, kills, background processes) is the same code for each, and shares the
//! session state and the result pipeline with the local backend.

mod transport;

pub use transport::{Launch, SessionVariable, Transport, TransportError, Trouble};
