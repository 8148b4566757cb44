//! Locks of bot tokens: one file for each token that a gateway of this machine uses, so that no other
//! gateway uses it as well. Names and records are the reference's. What is here removes those of a
//! gateway that was replaced and could not do so itself.

use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};
use hermes_proc::ProcessIdentity;
use serde_json::Value;

/// A record is a few hundred bytes.
const MOST_BYTES: u64 = 64 * 1024;

/// The token locks of the gateways of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLocks {
    directory: PathBuf,
}

impl TokenLocks {
    /// Those that the gateways of this user take.
    pub fn of_user(env: &Environment, user_home: &Path) -> Self {
        let named = env.os(&vars::HERMES_GATEWAY_LOCK_DIR).map(PathBuf::from);
        let directory = named.unwrap_or_else(|| {
            let state = env.os(&vars::XDG_STATE_HOME).map(PathBuf::from);
            let state = state.unwrap_or_else(|| user_home.join(".local/state"));
            state.join("hermes/gateway-locks")
        });
        Self { directory }
    }

    /// Removes those of a process that has ended, and gives their number.
    pub fn release_of(&self, owner: &ProcessIdentity) -> hermes_fs::Result<usize> {
        let is_lock = |name: &std::ffi::OsStr| name.as_encoded_bytes().ends_with(b".lock");
        let locks = match hermes_fs::read_dir_named(&self.directory, is_lock) {
            Ok(locks) => locks,
            Err(error) if error.is_not_found() => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut released = 0;
        for lock in locks {
            let path = &lock.path;
            if is_of(path, owner) && hermes_fs::remove_file_if_present(path)? {
                released += 1;
            }
        }
        Ok(released)
    }
}

/// Whether the record names this process. One that cannot be read is whoever's takes the token next.
fn is_of(path: &Path, owner: &ProcessIdentity) -> bool {
    let text = hermes_fs::read_text_capped(path, MOST_BYTES).unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    let number = |name: &str| record.get(name).and_then(Value::as_u64);
    number("pid") == Some(u64::from(owner.pid)) && number("start_time") == Some(owner.start_time)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use pretty_assertions::assert_eq;

    use super::*;

    fn locks(pairs: &[(&str, &str)]) -> PathBuf {
        let env = Environment::from_pairs(pairs.iter().copied());
        TokenLocks::of_user(&env, Path::new("/home/u")).directory
    }

    #[test]
    fn the_directory_is_the_one_of_the_reference() {
        let usual = Path::new("/home/u/.local/state/hermes/gateway-locks");
        assert_eq!(locks(&[]), usual);
        let state = ("XDG_STATE_HOME", "/s");
        assert_eq!(locks(&[state]), Path::new("/s/hermes/gateway-locks"));
        let named = ("HERMES_GATEWAY_LOCK_DIR", "/l");
        assert_eq!(locks(&[state, named]), Path::new("/l"));
    }

    #[test]
    fn only_the_locks_of_that_process_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        put("own-0.lock", r#"{"pid": 7, "start_time": 70}"#);
        put("reused-0.lock", r#"{"pid": 7, "start_time": 71}"#);
        put("other-0.lock", r#"{"pid": 8, "start_time": 70}"#);
        put("torn-0.lock", r#"{"pid": 7, "star"#);
        put("own-0.json", r#"{"pid": 7, "start_time": 70}"#);
        let owner = ProcessIdentity {
            pid: 7,
            start_time: 70,
            boot_id: "b".to_owned(),
        };
        let locks = TokenLocks {
            directory: directory.path().to_owned(),
        };
        assert_eq!(locks.release_of(&owner).unwrap(), 1);
        assert_eq!(locks.release_of(&owner).unwrap(), 0);
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 4);
        assert!(!directory.path().join("own-0.lock").exists());
    }
}
