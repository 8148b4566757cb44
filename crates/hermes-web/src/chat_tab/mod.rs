//! The WebSockets of a chat tab that shows a terminal: the terminal itself, requests beside it, and
//! what programs tell each other on a channel.

mod channels;
mod conversations;
mod pty;
mod requests;

use tokio::sync::OwnedSemaphorePermit;

use crate::call::Call;
use crate::gate::Mode;
use crate::http::{ApiError, Handshake};

pub(crate) use channels::{events, publish};
pub(crate) use pty::pty;
pub(crate) use requests::requests;

/// What opens a WebSocket of the tab, with its place among all WebSockets; a refusal where the tab is
/// off, or is not for everybody who can ask.
fn admitted(call: &mut Call) -> Result<(Handshake, OwnedSemaphorePermit), ApiError> {
    let refused = |message: &str| ApiError::forbidden(message).field("code", 4403);
    if !call.app.has_chat {
        let message = "the chat in a terminal is off; `hermes dashboard --tui` offers it";
        return Err(refused(message));
    }
    if call.app.gate.mode() == (Mode::Open { full: false }) {
        let message = "a dashboard without logins offers no terminal; \
                       HERMES_DASHBOARD_INSECURE_FULL=1 allows it";
        return Err(refused(message));
    }
    let upgrade = call.take_upgrade();
    let handshake = Handshake::of(call.headers(), upgrade)?;
    let place = call.app.sockets.clone().try_acquire_owned();
    let place = place.map_err(|_| ApiError::unavailable("too many clients are connected"))?;
    Ok((handshake, place))
}
