//! `/api/pty`: `hermes chat` on a terminal of its own, for front-ends that show a terminal. Bytes go
//! both ways as binary messages; one that is exactly `ESC[RESIZE:<columns>;<rows>]` changes the size.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hermes_config::vars;
use hermes_proc::{Child, Group, KillTiming, Pty, Streams, resize_terminal};
use hermes_session::SessionStore;
use tokio::sync::mpsc;

use super::admitted;
use crate::api::program;
use crate::app::{App, off_loop, stopped};
use crate::call::{Answered, Call};
use crate::http::{ApiError, Received, Socket};

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;
/// Largest piece of output in one message.
const CHUNK: usize = 16 << 10;
/// Pieces that wait for a slow client; then the program waits.
const MOST_WAITING: usize = 32;
/// Between SIGHUP, SIGTERM and SIGKILL at the end.
const GRACE: Duration = Duration::from_millis(500);

/// A conversation on a terminal.
struct Terminal {
    child: Child,
    controller: Arc<std::fs::File>,
    output: mpsc::Receiver<Bytes>,
    input: std::sync::mpsc::SyncSender<Vec<u8>>,
}

/// `GET /api/pty`, a WebSocket; `resume` names a session.
pub(crate) async fn pty(mut call: Call) -> Answered {
    let (handshake, place) = admitted(&mut call)?;
    let (app, resumed) = (Arc::clone(&call.app), call.query("resume"));
    let terminal = off_loop(move || start(&app, resumed.as_deref())).await?;
    let (response, upgrade) = handshake.accept();
    let app = Arc::clone(&call.app);
    tokio::spawn(async move {
        match Socket::open(upgrade).await {
            Some(socket) => serve(&app, socket, terminal).await,
            None => end(terminal).await,
        }
        drop(place);
    });
    Ok(response)
}

/// Starts the conversation.
fn start(app: &App, resumed: Option<&str>) -> Result<Terminal, ApiError> {
    let failed = |error: std::io::Error| ApiError::unavailable(format!("no terminal: {error}"));
    let context = app.context();
    let mut words = vec!["chat".to_owned()];
    if let Some(text) = resumed {
        let store = SessionStore::open_read_only(&context.location.home)?;
        let unknown = || {
            let shown = hermes_text::shown(text, 80);
            ApiError::not_found(format!("there is no session {shown}"))
        };
        let id = store.ok_or_else(unknown)?.resolve(text)?;
        words.push(format!("--resume={id}"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let pty = Pty::open(ROWS, COLUMNS).map_err(failed)?;
    let in_terminal = context.with_env(context.env.with(&vars::TERM, "xterm-256color"));
    let mut spec = program::command(&in_terminal, &words);
    spec.streams = Streams::Terminal(pty.terminal);
    spec.group = Group::Session;
    let child = spec
        .spawn()
        .map_err(|error| ApiError::unavailable(error.to_string()))?;
    let controller = Arc::new(pty.controller);
    let (sender, output) = mpsc::channel(MOST_WAITING);
    let (input, typed) = std::sync::mpsc::sync_channel::<Vec<u8>>(MOST_WAITING);
    let reader = Arc::clone(&controller);
    let writer = Arc::clone(&controller);
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    thread("pty-output")
        .spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = (&*reader).read(&mut chunk) {
                let read = Bytes::copy_from_slice(chunk.get(..count).unwrap_or_default());
                if sender.blocking_send(read).is_err() {
                    return;
                }
            }
        })
        .map_err(failed)?;
    thread("pty-input")
        .spawn(move || {
            while let Ok(bytes) = typed.recv() {
                if (&*writer).write_all(&bytes).is_err() {
                    return;
                }
            }
        })
        .map_err(failed)?;
    Ok(Terminal {
        child,
        controller,
        output,
        input,
    })
}

async fn serve(app: &App, mut socket: Socket, mut terminal: Terminal) {
    let mut stopping = app.stopping();
    loop {
        tokio::select! {
            output = terminal.output.recv() => match output {
                Some(bytes) => {
                    if !socket.send_binary(bytes).await {
                        break;
                    }
                }
                // The conversation is over.
                None => break,
            },
            received = socket.receive() => {
                let typed = match received {
                    Received::Text(text) => text.into_bytes(),
                    Received::Binary(bytes) => bytes.to_vec(),
                    Received::Nothing => continue,
                    Received::Gone => break,
                };
                match size_of(&typed) {
                    Some((columns, rows)) => {
                        if let Err(error) = resize_terminal(&*terminal.controller, rows, columns) {
                            tracing::debug!(%error, "a terminal keeps its size");
                        }
                    }
                    // A program that reads nothing loses what is typed beyond this.
                    None => drop(terminal.input.try_send(typed)),
                }
            }
            () = stopped(&mut stopping) => break,
        }
    }
    socket.close().await;
    end(terminal).await;
}

/// Ends the conversation with everything that it started.
async fn end(terminal: Terminal) {
    let ended = off_loop(move || {
        let Terminal { mut child, .. } = terminal;
        let timing = KillTiming {
            grace: GRACE,
            ..KillTiming::default()
        };
        let killed = child.kill_tree(timing);
        killed.map_err(|error| ApiError::internal(error.to_string()))
    });
    if let Err(error) = ended.await {
        tracing::warn!(
            "a conversation in a terminal did not end: {}",
            error.message()
        );
    }
}

/// Columns and rows, if this is the message that changes them.
fn size_of(bytes: &[u8]) -> Option<(u16, u16)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let size = text.strip_prefix("\u{1b}[RESIZE:")?.strip_suffix(']')?;
    let (columns, rows) = size.split_once(';')?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|number| *number > 0);
    Some((number(columns)?, number(rows)?))
}

#[cfg(test)]
mod tests {
    use super::size_of;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_whole_message_changes_the_size() {
        assert_eq!(size_of(b"\x1b[RESIZE:120;40]"), Some((120, 40)));
        for other in [
            &b"\x1b[RESIZE:120;40] "[..],
            b"\x1b[RESIZE:0;40]",
            b"\x1b[RESIZE:120]",
            b"RESIZE:120;40]",
            b"\x1b[RESIZE:99999;40]",
            b"ls\n",
        ] {
            assert_eq!(size_of(other), None, "{other:?}");
        }
    }
}
