//! Accounts of this machine, as the password and group files have them.

use std::path::Path;

/// Files of a large site.
const LIMIT: u64 = 16 << 20;

/// An account that a service runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    /// Its first group, by name where it has one.
    pub group: String,
    pub home: String,
}

impl Account {
    /// The account of this name; `None` if there is none.
    pub fn named(name: &str, file_system_root: &Path) -> Option<Self> {
        let accounts = lines(&file_system_root.join("etc/passwd"));
        let line = accounts.iter().find(|fields| fields[0] == name)?;
        let [name, _, uid, gid, _, home, ..] = line.as_slice() else {
            return None;
        };
        let groups = lines(&file_system_root.join("etc/group"));
        let group = groups.iter().find(|fields| fields.get(2) == Some(gid));
        Some(Self {
            name: name.clone(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            group: group.map_or(gid, |fields| &fields[0]).clone(),
            home: home.clone(),
        })
    }
}

fn lines(path: &Path) -> Vec<Vec<String>> {
    // Without the file there is no account of any name.
    let bytes = hermes_fs::read_capped(path, LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .map(|line| line.split(':').map(str::to_owned).collect())
        .collect()
}
