//! Configuration: environment variables, `config.yaml`, `.env`, and which of them wins.

pub mod dotenv;
mod environment;
mod literal_secrets;
pub mod schema;
pub mod vars;
pub mod yaml;

pub use environment::{Environment, is_truthy};
pub use literal_secrets::{blank_secrets, literal_secrets};
