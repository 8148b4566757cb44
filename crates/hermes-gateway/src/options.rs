//! What a gateway is told at its start, and what it says at its end.

/// How a gateway is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct GatewayOptions {
    /// Whose place it takes.
    pub replaces: Replaced,
    /// Start although the gateway of the default profile serves this one.
    pub force: bool,
    /// Whether somebody starts it again when it asks for that.
    pub is_supervised: bool,
    /// Number of the descriptor on which a newline says that the gateway is ready.
    pub ready_descriptor: Option<u32>,
}

/// Whose place a gateway takes that runs already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Replaced {
    /// Nobody's: it does not start.
    #[default]
    Nobody,
    /// That of one that no supervisor looks after: it would keep this one, which is supervised, from
    /// starting for ever. Two supervised ones never end each other.
    Unsupervised,
    /// Anybody's.
    Anybody,
}

/// How a gateway ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit_code: u8,
    pub reason: String,
}
