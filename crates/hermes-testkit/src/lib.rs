//! Temporary homes and whole-output comparisons for tests that run the real `hermes` binary.
//!
//! Knows how to start the program and how to look at files; never what a command prints.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test kit fails by panicking, and looks at files and processes from outside"
)]

mod at_terminal;
mod engine_image;
mod eventually;
mod fake_engine;
mod git;
mod helper_program;
mod home;
mod json_server;
mod kill;
mod model_server;
mod on_screen;
mod packages;
mod picture;
mod postgres;
mod program_call;
mod program_output;
mod real_engine;
mod running;
mod ssh_server;
mod tree;
mod unprivileged;

pub use at_terminal::AtTerminal;
pub use engine_image::EngineImage;
pub use eventually::eventually;
pub use fake_engine::{EngineCall, FakeEngine};
pub use git::git;
pub use helper_program::{helper_program, own_program};
pub use home::TestHome;
pub use json_server::{Asked, JsonServer};
pub use kill::{KillPoints, kill_at_every_write};
pub use model_server::{ModelServer, ReceivedRequest, ScriptedAnswer, ScriptedCall, Wire};
pub use on_screen::OnScreen;
pub use packages::{NodePackage, PythonPackages};
pub use picture::picture;
pub use postgres::{PgDatabase, Postgres};
pub use program_call::ProgramCall;
pub use program_output::ProgramOutput;
pub use real_engine::{RealEngine, RemoveContainers};
pub use running::Running;
pub use ssh_server::SshServer;
pub use tree::{Tree, TreeContent, TreeEntry};
pub use unprivileged::ran_as_nobody;
