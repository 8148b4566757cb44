//! The bell of a board on a server: a file beside where its database would be, written to whenever the
//! server says that the board has changed. Whoever watches the files of boards needs to know no more.

use std::io::Write;
use std::path::Path;

use crate::boards::Board;
use crate::boards::server::BoardServer;

/// Bytes after which the file is begun anew.
const MOST: u64 = 4096;

/// Lets the bell ring as long as this process lives.
pub(super) fn hang(server: &BoardServer, board: &Board) {
    // An address that is invalid is reported by whoever opens the board.
    let Ok(place) = server.place() else {
        return;
    };
    let bell = board.bell();
    if !bell.exists() {
        ring(&bell);
    }
    let name = bell.display().to_string();
    let listening = hermes_board_pg::listen(place, &name, move || ring(&bell));
    if let Err(error) = listening {
        tracing::warn!(%error, "changes of a board are noticed late");
    }
}

fn ring(bell: &Path) {
    let rung = hermes_fs::open_append(bell, 0o600).and_then(|mut file| {
        let is_long = file.metadata().is_ok_and(|meta| meta.len() >= MOST);
        let emptied = if is_long { file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| file.write_all(b"."));
        written.map_err(hermes_fs::Error::io("write", bell))
    });
    if let Err(error) = rung {
        tracing::debug!(%error, "a change of a board is noticed late");
    }
}
