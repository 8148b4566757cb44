//! What a gateway is told at its start, and what it says at its end.

/// How a gateway is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct GatewayOptions {
    /// Take the place of a gateway that runs.
    pub replace: bool,
    /// Take the place of one that no supervisor looks after: it would keep this one, which is
    /// supervised, from starting for ever. Two supervised ones never end each other.
    pub takes_over: bool,
    /// Start although the gateway of the default profile serves this one.
    pub force: bool,
    /// Whether somebody starts it again when it asks for that.
    pub is_supervised: bool,
    /// Number of the descriptor on which a newline says that the gateway is ready.
    pub ready_descriptor: Option<u32>,
}

/// How a gateway ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit_code: u8,
    pub reason: String,
}
