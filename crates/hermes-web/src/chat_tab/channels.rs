//! `/api/pub` and `/api/events`: what one program says on a channel goes to everybody who listens
//! there. Nothing is kept for later, and whoever does not keep up is let go.

use std::sync::Arc;

use tokio::sync::broadcast::{self, error::RecvError};

use super::admitted;
use crate::app::{App, stopped};
use crate::call::{Answered, Call};
use crate::http::{ApiError, Received, Socket};

const LONGEST_NAME: usize = 128;

/// The channel that a request names.
fn channel(call: &Call) -> Result<String, ApiError> {
    let name = call.query("channel").unwrap_or_default();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Ok(name);
    }
    let message = "`channel` must be 1 to 128 letters, digits, dots, underscores or hyphens";
    Err(ApiError::bad_request(message).field("code", 4400))
}

/// `GET /api/pub`, a WebSocket: every text goes to those who listen to the channel.
pub(crate) async fn publish(mut call: Call) -> Answered {
    let (handshake, place) = admitted(&mut call)?;
    let name = channel(&call)?;
    let (response, upgrade) = handshake.accept();
    let app = Arc::clone(&call.app);
    tokio::spawn(async move {
        if let Some(socket) = Socket::open(upgrade).await {
            take(&app, socket, &name).await;
        }
        drop(place);
    });
    Ok(response)
}

async fn take(app: &App, mut socket: Socket, name: &str) {
    let mut stopping = app.stopping();
    loop {
        tokio::select! {
            received = socket.receive() => match received {
                Received::Text(text) => {
                    let masked = app.redactor().redact(&text).into_owned();
                    app.channels.say(name, Arc::from(masked));
                }
                Received::Binary(_) | Received::Nothing => {}
                Received::Gone => return,
            },
            () = stopped(&mut stopping) => break,
        }
    }
    socket.close().await;
}

/// `GET /api/events`, a WebSocket: what is said on the channel.
pub(crate) async fn events(mut call: Call) -> Answered {
    let (handshake, place) = admitted(&mut call)?;
    let name = channel(&call)?;
    let app = Arc::clone(&call.app);
    // From here on nothing is missed.
    let said = app.channels.listen(&name);
    let (response, upgrade) = handshake.accept();
    tokio::spawn(async move {
        match Socket::open(upgrade).await {
            Some(socket) => tell(&app, socket, said).await,
            None => drop(said),
        }
        app.channels.tidy(&name);
        drop(place);
    });
    Ok(response)
}

async fn tell(app: &App, mut socket: Socket, mut said: broadcast::Receiver<Arc<str>>) {
    let mut stopping = app.stopping();
    loop {
        tokio::select! {
            text = said.recv() => match text {
                Ok(text) => {
                    if !socket.send_text(text.to_string()).await {
                        return;
                    }
                }
                Err(RecvError::Lagged(count)) => {
                    tracing::info!(count, "a listener did not keep up and was let go");
                    break;
                }
                Err(RecvError::Closed) => break,
            },
            received = socket.receive() => match received {
                // Whatever a listener says, there is nothing to answer.
                Received::Text(_) | Received::Binary(_) | Received::Nothing => {}
                Received::Gone => return,
            },
            () = stopped(&mut stopping) => break,
        }
    }
    socket.close().await;
}
