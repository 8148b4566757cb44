//! Configuration: environment variables, `config.yaml`, `.env`, and which of them wins.
//!
//! Order of precedence, everywhere the same: command-line flag, process environment, `config.yaml`,
//! `.env`, default; an administrator's file beats all but flags. Nothing here writes to the process
//! environment, and nothing rewrites a file it could not parse.

pub mod dotenv;
mod environment;
mod literal_secrets;
pub mod python_runtime;
pub mod schema;
pub mod settings;
pub mod vars;
pub mod yaml;

pub use environment::{Environment, is_truthy};
pub use literal_secrets::{blank_secrets, literal_secrets};
pub use settings::{Config, Sources};
