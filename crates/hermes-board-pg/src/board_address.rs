//! What a connection is made for.

use crate::address::ServerAddress;
use crate::password::Passwords;

/// The schema of one board on a server, and how to get there.
#[derive(Debug, Clone)]
pub struct BoardAddress {
    pub address: ServerAddress,
    pub passwords: Passwords,
    /// Name of the schema: letters, digits, `_` and `-`, at most 63 bytes.
    pub schema: String,
}

/// What a change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power.
    Forced,
    /// The end of this process and of the connection.
    Logged,
}
