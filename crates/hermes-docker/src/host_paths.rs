//! Where our files are for the engine.
//!
//! A Hermes that runs in a container and talks to the engine outside sees other paths than that
//! engine. Mounting a path the engine does not have would give an empty directory; so a path is
//! translated, or the mount is left out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::engine::{Engine, EngineKind};
use super::mounts::translated;
use super::queries::LOOK_LIMIT;
use super::socket::{EngineSocket, Sought};

/// Mount tables of busy hosts reach a megabyte.
const TABLE_LIMIT: u64 = 8 * 1024 * 1024;

/// The translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPaths {
    /// The user's own pairs; they beat what was found out.
    given: Vec<(PathBuf, PathBuf)>,
    /// The mounts of the container we are in, none for one that the engine does not know; `None` if
    /// the engine sees what we see.
    mounts: Option<Vec<(PathBuf, PathBuf)>>,
}

impl HostPaths {
    /// For an engine that sees what we see, apart from these pairs.
    pub fn same(given: &[(PathBuf, PathBuf)]) -> Self {
        Self {
            given: given.to_vec(),
            mounts: None,
        }
    }

    /// For a Hermes in a container that the engine does not know, apart from these pairs.
    #[cfg(test)]
    pub(crate) fn in_unknown_container(given: &[(PathBuf, PathBuf)]) -> Self {
        Self {
            given: given.to_vec(),
            mounts: Some(Vec::new()),
        }
    }

    /// For a Hermes in a container: asks the engine about that container.
    pub fn in_container(given: &[(PathBuf, PathBuf)], engine: &Engine, root: &Path) -> Self {
        let found = own_mounts(engine, root);
        let mounts = found.or_else(|| (!engine_is_beside_us(engine, root)).then(Vec::new));
        Self {
            given: given.to_vec(),
            mounts,
        }
    }

    /// Whether the engine sees the files that we see.
    pub fn is_same(&self) -> bool {
        self.mounts.is_none() && self.given.is_empty()
    }

    /// A path as the engine sees it, if it has it.
    pub fn translate(&self, path: &Path) -> Option<PathBuf> {
        translated(path, &self.given).or_else(|| match &self.mounts {
            None => Some(path.to_owned()),
            Some(mounts) => translated(path, mounts),
        })
    }
}

/// The mounts of our container as pairs of inside and outside.
fn own_mounts(engine: &Engine, root: &Path) -> Option<Vec<(PathBuf, PathBuf)>> {
    own_names(root).into_iter().find_map(|name| {
        let quick = engine.socket().and_then(|it| it.own_container(&name));
        match quick {
            Some(Sought::Found(container)) => return mounts_of(&container),
            Some(Sought::Missing) => return None,
            None => {}
        }
        let args = ["inspect", &name];
        read_mounts(
            &engine
                .demand("looking at our container", &args, LOOK_LIMIT)
                .ok()?,
        )
    })
}

fn read_mounts(printed: &str) -> Option<Vec<(PathBuf, PathBuf)>> {
    let value: Value = serde_json::from_str(printed).ok()?;
    mounts_of(value.get(0)?)
}

fn mounts_of(container: &Value) -> Option<Vec<(PathBuf, PathBuf)>> {
    let mounts = container.get("Mounts")?.as_array()?;
    let path = |mount: &Value, name: &str| {
        let text = mount
            .get(name)?
            .as_str()
            .filter(|text| text.starts_with('/'))?;
        Some(PathBuf::from(text))
    };
    let pairs = mounts
        .iter()
        .filter_map(|mount| Some((path(mount, "Destination")?, path(mount, "Source")?)));
    Some(pairs.collect())
}

/// What our container may be called: the id in the mount table, then the host name.
fn own_names(root: &Path) -> Vec<String> {
    let table = hermes_fs::read_capped(&root.join("proc/self/mountinfo"), TABLE_LIMIT);
    let table = table.unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let mut names: Vec<String> = id_in_mount_table(&table).into_iter().collect();
    names.extend(host_name(root));
    names
}

/// Docker and Podman mount files of the container's own directory, which is named after its id.
fn id_in_mount_table(table: &str) -> Option<String> {
    let of_container = |line: &&str| {
        let target = line.split(' ').nth(4).unwrap_or_default();
        matches!(
            target,
            "/etc/hostname" | "/etc/hosts" | "/etc/resolv.conf" | "/run/.containerenv"
        )
    };
    let is_id = |part: &&str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    table
        .lines()
        .filter(of_container)
        .find_map(|line| line.split(['/', ' ']).find(is_id).map(str::to_owned))
}

fn host_name(root: &Path) -> Option<String> {
    let text = hermes_fs::read_text_capped(&root.join("etc/hostname"), 1024).ok()?;
    let name = text.trim();
    (!name.is_empty() && !name.starts_with('-')).then(|| name.to_owned())
}

/// An engine that runs in our own container has our host name.
fn engine_is_beside_us(engine: &Engine, root: &Path) -> bool {
    let is_ours = |name: &str| host_name(root).as_deref() == Some(name.trim());
    if let Some(host) = engine.socket().and_then(EngineSocket::host) {
        return host
            .get("Name")
            .and_then(Value::as_str)
            .is_some_and(is_ours);
    }
    let format = match engine.info().map(|info| info.kind) {
        Ok(EngineKind::Podman) => "{{.Host.Hostname}}",
        Ok(EngineKind::Docker) => "{{.Name}}",
        Err(_) => return false,
    };
    let args = ["info", "--format", format];
    let name = engine.demand("asking for the name of the host", &args, LOOK_LIMIT);
    name.is_ok_and(|name| is_ours(&name))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_longest_mount_of_our_container_decides() {
        let printed = format!(
            r#"[{{"Id": "{ID}", "Mounts": [
                {{"Type": "bind", "Source": "/srv/hermes", "Destination": "/opt/data"}},
                {{"Type": "volume", "Source": "/var/lib/docker/volumes/s/_data", "Destination": "/opt/data/skills"}},
                {{"Type": "tmpfs", "Source": "", "Destination": "/tmp"}}]}}]"#
        );
        let mounts = HostPaths {
            given: Vec::new(),
            mounts: read_mounts(&printed),
        };
        let to = |path: &str| mounts.translate(Path::new(path));
        assert_eq!(
            to("/opt/data/sandboxes/x"),
            Some("/srv/hermes/sandboxes/x".into())
        );
        assert_eq!(
            to("/opt/data/skills/a"),
            Some("/var/lib/docker/volumes/s/_data/a".into())
        );
        assert_eq!(
            to("/home/u"),
            None,
            "not mounted: the engine does not have it"
        );
        assert_eq!(to("/tmp/x"), None);
    }

    #[test]
    fn given_pairs_come_first_and_an_unknown_container_maps_nothing() {
        let given = HostPaths::in_unknown_container(&[("/opt/data".into(), "/x".into())]);
        assert_eq!(
            given.translate(Path::new("/opt/data/a")),
            Some("/x/a".into())
        );
        assert_eq!(given.translate(Path::new("/etc")), None);
        let same = HostPaths::same(&[]);
        assert!(same.is_same());
        assert_eq!(same.translate(Path::new("/etc")), Some("/etc".into()));
    }

    #[test]
    fn our_container_is_found_in_the_mount_table() {
        let table = format!(
            "1 0 0:1 / / rw - overlay overlay lowerdir=/x\n\
             2 1 8:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
        );
        assert_eq!(id_in_mount_table(&table).as_deref(), Some(ID));
        assert_eq!(
            id_in_mount_table("1 0 0:1 / / rw - ext4 /dev/sda1 rw\n"),
            None
        );
        let other = format!("1 0 0:1 /{ID} /mnt rw - ext4 /dev/sda1 rw\n");
        assert_eq!(id_in_mount_table(&other), None);
    }
}
