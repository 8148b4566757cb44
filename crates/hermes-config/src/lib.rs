//! Configuration: environment variables, `config.yaml`, `.env`, and which of them wins.

mod environment;
pub mod vars;

pub use environment::{Environment, is_truthy};
