//! Who this machine is to the boards it shares with others: an id that the installation keeps, and the
//! facts by which a copy of the installation is told from the original.
//!
//! The name of a machine says little: two laptops may be called the same, and one is renamed. So workers
//! are judged by the host whose id their attempt carries.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::boards::BoardHome;
use crate::host_error::HostError;
use crate::model::{HostRef, parse_host_name};
use crate::{Error, Result};

/// Digits of an id.
const ID_DIGITS: usize = 16;
/// An id and a newline.
const FILE_LIMIT: u64 = 256;
/// Where systems keep an id of the machine, which survives restarts.
const MACHINE_ID_FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// What is configured about this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Its name, if not that of the machine.
    pub name: Option<String>,
    pub labels: Vec<String>,
}

impl HostSettings {
    /// The name: the configured one, else that of the machine.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(machine_name)
    }
}

/// Where an id is used: equal for one installation on one machine, different for copies of either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostOrigin {
    /// The machine.
    pub machine: String,
    /// Its current boot.
    pub boot: String,
    /// The directory of the installation, for people.
    pub home: String,
    /// The same, for comparing: moving it keeps this, copying does not.
    pub home_mark: String,
}

impl HostOrigin {
    /// That of this process.
    pub fn of(home: &BoardHome) -> Self {
        let root = home.root();
        let own = hermes_proc::identity_of(std::process::id());
        let boot = own.map(|own| own.boot_id).unwrap_or_default();
        let inode = hermes_fs::metadata(root).map(|meta| meta.ino());
        Self {
            machine: machine_id().unwrap_or_else(|| boot.clone()),
            boot,
            home: root.to_string_lossy().into_owned(),
            home_mark: inode.map_or_else(|_| "?".to_owned(), |inode| inode.to_string()),
        }
    }
}

/// The id that this installation has, if it has one yet.
pub fn host_id(home: &BoardHome) -> Result<Option<String>> {
    let path = id_file(home);
    match hermes_fs::read_text_capped(&path, FILE_LIMIT) {
        Ok(text) => parse_id(&text, &path).map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The id of this installation, made if need be.
pub fn ensure_host_id(home: &BoardHome) -> Result<String> {
    if let Some(id) = host_id(home)? {
        return Ok(id);
    }
    let path = id_file(home);
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    let id = new_id();
    // Complete before it has its name: whoever else looks finds all of it or nothing.
    let staged = path.with_file_name(format!(".host-id-{id}"));
    hermes_fs::write_atomic(&staged, format!("{id}\n").as_bytes(), 0o600)?;
    if let Err(error) = hermes_fs::rename_exclusive(&staged, &path) {
        hermes_fs::remove_file_if_present(&staged)?;
        // Another process was first.
        return host_id(home)?.ok_or_else(|| error.into());
    }
    Ok(id)
}

/// Gives this installation another id, and returns it.
pub fn renew_host_id(home: &BoardHome) -> Result<String> {
    let path = id_file(home);
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    let id = new_id();
    hermes_fs::write_atomic(&path, format!("{id}\n").as_bytes(), 0o600)?;
    Ok(id)
}

/// This host as attempts record it; `None` before it has an id.
pub fn own_host(home: &BoardHome, settings: &HostSettings) -> Option<HostRef> {
    let id = host_id(home)
        .inspect_err(|error| tracing::warn!(%error, "the id of this host cannot be read"));
    Some(HostRef {
        id: id.ok().flatten()?,
        name: settings.name(),
    })
}

fn id_file(home: &BoardHome) -> PathBuf {
    home.root().join("kanban").join("host-id")
}

fn new_id() -> String {
    hermes_fs::random_hex(ID_DIGITS)
}

fn parse_id(text: &str, path: &Path) -> Result<String> {
    let id = text.trim();
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        Ok(id.to_owned())
    } else {
        Err(Error::from(HostError::BadIdFile {
            path: path.display().to_string(),
        }))
    }
}

fn machine_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy().into_owned();
    parse_host_name(&name).unwrap_or_else(|_| "host".to_owned())
}

fn machine_id() -> Option<String> {
    let read = |path: &&str| hermes_fs::read_text_capped(Path::new(path), FILE_LIMIT).ok();
    let texts = MACHINE_ID_FILES.iter().filter_map(read);
    texts
        .map(|text| text.trim().to_owned())
        .find(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::Environment;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt;

    fn home_in(directory: &Path) -> BoardHome {
        let env = Environment::from_pairs([("HOME", directory), ("HERMES_HOME", directory)]);
        let facts = hermes_home::SystemFacts::of_process();
        let location = hermes_home::Location::resolve(&env, &facts).unwrap();
        BoardHome::resolve(&env, &location)
    }

    #[test]
    fn an_installation_keeps_its_id_for_itself_and_can_get_another() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_in(dir.path());
        assert_eq!(host_id(&home).unwrap(), None);
        let id = ensure_host_id(&home).unwrap();
        assert_eq!(ensure_host_id(&home).unwrap(), id);
        let mode = hermes_fs::metadata(&id_file(&home)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let other = renew_host_id(&home).unwrap();
        assert_ne!(other, id);
        assert_eq!(host_id(&home).unwrap(), Some(other));
        hermes_fs::write_atomic(&id_file(&home), b"nonsense\n", 0o600).unwrap();
        let refused = host_id(&home).unwrap_err();
        assert!(refused.hint().unwrap().contains("new-id"), "{refused}");
    }

    #[test]
    fn copies_of_an_installation_have_another_origin() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let origin = |dir: &tempfile::TempDir| HostOrigin::of(&home_in(dir.path()));
        assert_eq!(origin(&one), origin(&one));
        assert_ne!(origin(&one).home_mark, origin(&two).home_mark);
        assert_eq!(origin(&one).machine, origin(&two).machine);
    }
}
