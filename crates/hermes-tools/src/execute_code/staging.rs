//! The private directory of one script: the script, the module next to it, the socket.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use hermes_fs::{Staging, set_mode};

use super::settings::RpcEnv;
use crate::random::random;

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
        // Not synced: after a crash nobody looks at it again.
        for (path, text) in [
            (&script, code),
            (&directory.path().join("hermes_tools.py"), module),
        ] {
            let mut file: File =
                hermes_fs::create_new(path, 0o600).map_err(|error| error.to_string())?;
            file.write_all(text.as_bytes())
                .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        let number = random(8)?
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let socket = directory
            .path()
            .join(format!("{}.sock", base64url(&random(6)?)));
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
                mark: format!("{number:016x}"),
            },
            directory,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// What proves that a request comes from the script.
pub(super) fn new_token() -> Result<String, String> {
    Ok(base64url(&random(TOKEN_BYTES)?))
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

/// Base64 with the alphabet of URLs, without padding (RFC 4648 §5).
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .chain([0, 0].iter())
            .take(3)
            .fold(0_usize, |group, byte| group << 8 | usize::from(*byte));
        for place in 0..=chunk.len() {
            let index = group >> (18 - 6 * place) & 63;
            out.push(ALPHABET.get(index).map_or('A', |byte| char::from(*byte)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_of_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("\u{3fb}\u{fff}", "z7vgv78"),
        ] {
            assert_eq!(base64url(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn tokens_differ_and_hold_32_bytes() {
        let token = || new_token().unwrap();
        assert_ne!(token(), token());
        assert_eq!(token().len(), 43);
    }
}
