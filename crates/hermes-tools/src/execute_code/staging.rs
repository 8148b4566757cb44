//! The private directory of one script: the script, the module next to it, the socket.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hermes_fs::{Staging, set_mode};
use rustix::rand::{GetRandomFlags, getrandom};

use super::settings::RpcEnv;

/// Room in a socket address on the strictest system, the final NUL not counted.
const MAX_SOCKET_PATH: usize = 103;
/// Name of staging directories, by which left-overs are found.
const NAME: &str = "hermes-script";
const TOKEN_BYTES: usize = 32;

/// A directory with mode 0700 that goes when the value is dropped.
pub(super) struct ScriptStage {
    directory: Staging,
    pub(super) script: PathBuf,
    pub(super) listener: UnixListener,
    pub(super) rpc: RpcEnv,
}

impl ScriptStage {
    /// Prepares everything a script needs; the error is a sentence.
    pub(super) fn prepare(
        temp_dir: &Path,
        code: &str,
        module: &str,
        token: &str,
    ) -> Result<Self, String> {
        let directory = begin(temp_dir).map_err(|error| error.to_string())?;
        let script = directory.path().join("script.py");
        // Not synced: after a crash it is not used again.
        for (path, text) in [
            (&script, code),
            (&directory.path().join("hermes_tools.py"), module),
        ] {
            let mut file: File =
                hermes_fs::create_new(path, 0o600).map_err(|error| error.to_string())?;
            file.write_all(text.as_bytes())
                .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        let socket = directory
            .path()
            .join(format!("{}.sock", hermes_fs::random_hex(8)));
        let listener = UnixListener::bind(&socket)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| format!("could not open a socket for the script: {error}"))?;
        // The directory already keeps others out; the mode holds if someone opens it up.
        set_mode(&socket, 0o600).map_err(|error| error.to_string())?;
        Ok(Self {
            script,
            listener,
            rpc: RpcEnv {
                socket,
                token: token.to_owned(),
                mark: hermes_fs::random_hex(16),
            },
            directory,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// A secret that proves that a request comes from the script.
pub(super) fn new_token() -> Result<String, String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match getrandom(rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(format!("could not get random bytes: {errno}")),
        }
    }
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn begin(temp_dir: &Path) -> hermes_fs::Result<Staging> {
    let directory = Staging::begin(temp_dir, NAME)?;
    let longest = directory.path().as_os_str().len() + "/12345678.sock".len();
    if longest > MAX_SOCKET_PATH {
        return Staging::begin(Path::new("/tmp"), NAME);
    }
    Ok(directory)
}

/// Removes what crashed runs left in a directory.
pub(super) fn sweep(temp_dir: &Path) {
    hermes_telemetry::best_effort("remove left-over script directories", || {
        Staging::sweep(temp_dir, NAME)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_hold_32_bytes() {
        let token = || new_token().unwrap();
        assert_ne!(token(), token());
        assert_eq!(token().len(), 43);
    }
}
