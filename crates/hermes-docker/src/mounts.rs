//! What is mounted into a container, and where the same file is on both sides.

use std::path::{Component, Path, PathBuf};

/// Why something is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountOrigin {
    /// Home or workspace of the sandbox.
    Writable,
    /// The current directory, at `/workspace`.
    CurrentDirectory,
    Configured,
    Credential,
    Skills,
    /// Media and other files that Hermes keeps; these directories come and go.
    Cache,
}

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// A path, or the name of a volume.
    pub source: String,
    /// Where the engine is told to find it, if that is another path: on the host of a Hermes that
    /// is itself in a container, or a copy.
    pub engine_source: Option<String>,
    /// In the container.
    pub target: String,
    /// Behind the second colon.
    pub options: Option<String>,
    pub origin: MountOrigin,
}

impl Mount {
    /// A mount of a path that we made up.
    pub(crate) fn generated(source: &Path, target: &str, origin: MountOrigin) -> Self {
        let read_only = !matches!(
            origin,
            MountOrigin::Writable | MountOrigin::CurrentDirectory | MountOrigin::Configured
        );
        Self {
            source: source.display().to_string(),
            engine_source: None,
            target: target.to_owned(),
            options: read_only.then(|| "ro".to_owned()),
            origin,
        }
    }

    /// What the engine is told to mount.
    pub fn engine_source(&self) -> &str {
        self.engine_source.as_deref().unwrap_or(&self.source)
    }

    /// As an argument of `-v`.
    pub fn argument(&self) -> String {
        let source = self.engine_source();
        match &self.options {
            Some(options) => format!("{source}:{}:{options}", self.target),
            None => format!("{source}:{}", self.target),
        }
    }

    /// Whether it can only be read.
    pub fn is_read_only(&self) -> bool {
        self.options
            .as_deref()
            .is_some_and(super::extra_args::is_read_only)
    }
}

/// The paths of files on both sides of a container's wall.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathMap {
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl PathMap {
    /// The map of these mounts; named volumes have no path on the host.
    pub fn of(mounts: &[Mount]) -> Self {
        let paths = mounts.iter().filter(|mount| mount.source.starts_with('/'));
        Self {
            pairs: paths
                .map(|mount| (PathBuf::from(&mount.source), PathBuf::from(&mount.target)))
                .collect(),
        }
    }

    /// Where a path of the host is in the container.
    pub fn to_container(&self, path: &Path) -> Option<PathBuf> {
        translated(path, &self.pairs)
    }
}

/// The longest matching beginning replaced; nothing for a path that climbs.
pub(crate) fn translated(path: &Path, pairs: &[(PathBuf, PathBuf)]) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let matching = pairs.iter().filter_map(|(from, to)| {
        let below = path.strip_prefix(from).ok()?;
        Some((from.components().count(), to, below))
    });
    let (_, to, below) = matching.max_by_key(|(length, _, _)| *length)?;
    Some(if below.as_os_str().is_empty() {
        to.clone()
    } else {
        to.join(below)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_longest_mount_decides() {
        let mounts = [
            Mount::generated(Path::new("/h/box/home"), "/root", MountOrigin::Writable),
            Mount::generated(
                Path::new("/h/skills"),
                "/root/.hermes/skills",
                MountOrigin::Skills,
            ),
            Mount {
                source: "data".to_owned(),
                ..Mount::generated(Path::new("/x"), "/data", MountOrigin::Configured)
            },
        ];
        let map = PathMap::of(&mounts);
        let inside = |path: &str| map.to_container(Path::new(path));
        assert_eq!(inside("/h/skills/a"), Some("/root/.hermes/skills/a".into()));
        assert_eq!(inside("/h/box/home"), Some("/root".into()));
        assert_eq!(inside("/h/box/homes"), None);
        assert_eq!(inside("/h/skills/../x"), None);
        assert_eq!(inside("data/x"), None);
        assert_eq!(mounts[1].argument(), "/h/skills:/root/.hermes/skills:ro");
    }
}
