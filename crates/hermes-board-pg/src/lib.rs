//! Connections to boards on a PostgreSQL server: addresses, passwords, certificates, the schema of a
//! board, its transactions, and the signal that it has changed.
//!
//! What the statements mean is known in `hermes-board`, which runs the same ones on SQLite.

mod address;
mod bell;
mod board;
mod board_address;
mod connection;
mod dialect;
mod driver;
mod error;
mod move_note;
mod password;
mod pool;
mod raw;
mod retrying;
mod schema;
mod tls;
mod values;

pub use address::{AddressError, ServerAddress};
pub use bell::listen;
pub use board::ServerBoard;
pub use board_address::{BoardAddress, Durability};
pub use connection::Connection;
pub use error::{Error, Result};
pub use move_note::{SchemaState, look_at, set_aside, take_back};
pub use password::Passwords;
pub use retrying::Retrying;
pub use values::{Cell, Param, Row};
