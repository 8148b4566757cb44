//! Where the socket of a shared connection lies.
//!
//! Whoever can open the socket can run commands as the user there, so its directory is the user's
//! alone.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::diagnosis::down;
use hermes_terminal::remote::TransportError;

/// Longest path a socket can have everywhere.
const SOCKET_PATH_MAX: usize = 103;
/// What `ssh` puts behind the name while it makes the socket.
const SUFFIX: usize = ".0123456789abcdef".len();

/// The files of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlPaths {
    pub(crate) directory: PathBuf,
    pub(crate) socket: PathBuf,
    /// Held by everyone who uses the connection.
    pub(crate) lock: PathBuf,
}

impl ControlPaths {
    /// `id` is that of user, host and port. Where the directory for temporary files is too deep for
    /// a
    /// socket, or its name means something to `ssh`, `/tmp` is taken.
    pub(crate) fn plan(temp_directory: &Path, uid: u32, id: &str) -> Self {
        let below = |parent: &Path| {
            let directory = parent.join(format!("hermes-ssh-{uid}"));
            Self {
                socket: directory.join(format!("{id}.sock")),
                lock: directory.join(format!("{id}.lock")),
                directory,
            }
        };
        let wanted = below(temp_directory);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@".contains(byte);
        let bytes = wanted.socket.as_os_str().as_encoded_bytes();
        let fits = bytes.len() + SUFFIX <= SOCKET_PATH_MAX;
        if wanted.socket.is_absolute() && fits && bytes.iter().all(plain) {
            wanted
        } else {
            below(Path::new("/tmp"))
        }
    }

    /// Makes the directory, or makes sure that the one that is there is ours alone.
    pub(crate) fn prepare(&self) -> Result<(), TransportError> {
        let failed = |error: hermes_fs::Error| {
            let message =
                format!("the ssh backend could not create a directory for its sockets: {error}");
            down(message, error.hint())
        };
        match hermes_fs::create_dir(&self.directory, 0o700) {
            Ok(()) => return Ok(()),
            Err(hermes_fs::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        let meta = hermes_fs::symlink_metadata(&self.directory).map_err(failed)?;
        if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(TransportError {
                message: format!(
                    "{} belongs to another user; connections are not kept there",
                    self.directory.display()
                ),
                hint: Some("remove it, or set TMPDIR to a directory of your own".to_owned()),
                is_missing_part: false,
            });
        }
        if meta.mode() & 0o077 != 0 {
            hermes_fs::set_mode(&self.directory, 0o700).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef";

    #[test]
    fn a_directory_per_user_and_a_short_name() {
        let paths = ControlPaths::plan(Path::new("/var/tmp"), 1000, ID);
        assert_eq!(
            paths.socket,
            Path::new("/var/tmp/hermes-ssh-1000/0123456789abcdef.sock")
        );
        assert_eq!(
            paths.lock,
            Path::new("/var/tmp/hermes-ssh-1000/0123456789abcdef.lock")
        );
    }

    #[test]
    fn deep_and_odd_places_give_way_to_tmp() {
        let deep = format!("/var/{}", "d".repeat(60));
        for odd in [
            deep.as_str(),
            "/a b",
            "/a%h",
            "/a\"b",
            "relative",
            "/\u{e4}",
        ] {
            let paths = ControlPaths::plan(Path::new(odd), 0, ID);
            assert_eq!(paths.directory, Path::new("/tmp/hermes-ssh-0"), "{odd}");
        }
        // As on macOS.
        let mac = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/";
        let paths = ControlPaths::plan(Path::new(mac), 501, ID);
        assert!(paths.socket.starts_with(mac), "{paths:?}");
    }

    #[test]
    fn the_directory_is_made_private_or_refused() {
        let place = tempfile::tempdir().unwrap();
        let paths = ControlPaths::plan(place.path(), 7, ID);
        let mode = || {
            let meta = hermes_fs::symlink_metadata(&paths.directory).unwrap();
            meta.mode() & 0o777
        };
        paths.prepare().unwrap();
        assert_eq!(mode(), 0o700);
        hermes_fs::set_mode(&paths.directory, 0o755).unwrap();
        paths.prepare().unwrap();
        assert_eq!(mode(), 0o700);

        hermes_fs::remove_tree(&paths.directory).unwrap();
        hermes_fs::symlink(place.path(), &paths.directory).unwrap();
        assert!(paths.prepare().is_err());
    }
}
