//! What the system says about the user and the place a process runs in, gathered in one value so
//! that tests can say otherwise.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A password file of a large site.
const PASSWD_LIMIT: u64 = 16 * 1024 * 1024;

/// Facts about this process that are neither arguments nor variables.
#[derive(Debug, Clone)]
pub struct SystemFacts {
    /// Effective user.
    pub uid: u32,
    /// Directory the process was started in; `None` if it has been removed.
    pub start_dir: Option<PathBuf>,
    pub passwd: PathBuf,
    /// Where absolute system paths (`/.dockerenv`, `/proc/1/cgroup`) are looked up.
    pub file_system_root: PathBuf,
}

impl SystemFacts {
    /// The facts of this process.
    pub fn of_process() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
            // A start directory that is gone matters only to relative paths, which say so then.
            start_dir: std::env::current_dir().ok(),
            passwd: PathBuf::from("/etc/passwd"),
            file_system_root: PathBuf::from("/"),
        }
    }

    /// Home directory of the effective user according to the password file.
    pub fn home_by_uid(&self) -> Option<PathBuf> {
        self.passwd_home(|_, uid| uid == self.uid.to_string().as_bytes())
    }

    /// Name of the effective user according to the password file.
    pub fn user_name(&self) -> Option<String> {
        let own = self.uid.to_string();
        self.passwd_line(|fields| {
            let [name, _, uid, ..] = fields else {
                return None;
            };
            let name = String::from_utf8_lossy(name).into_owned();
            (*uid == own.as_bytes() && !name.is_empty()).then_some(name)
        })
    }

    /// Home directory of a named user according to the password file.
    pub(crate) fn home_by_name(&self, user: &str) -> Option<PathBuf> {
        self.passwd_home(|name, _| name == user.as_bytes())
    }

    fn passwd_home(&self, wanted: impl Fn(&[u8], &[u8]) -> bool) -> Option<PathBuf> {
        self.passwd_line(|fields| {
            let [name, _, uid, _, _, home, ..] = fields else {
                return None;
            };
            let home = Path::new(std::ffi::OsStr::from_bytes(home));
            (wanted(name, uid) && home.is_absolute()).then(|| home.to_owned())
        })
    }

    /// The first line of the password file of which `read` makes something.
    fn passwd_line<T>(&self, read: impl Fn(&[&[u8]]) -> Option<T>) -> Option<T> {
        let bytes = hermes_fs::read_capped(&self.passwd, PASSWD_LIMIT).ok()?;
        bytes.split(|byte| *byte == b'\n').find_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
            read(&fields)
        })
    }
}
