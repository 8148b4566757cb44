//! Which directory is snapshotted for a change, under which name, and which never are.

use std::path::{Path, PathBuf};

use hermes_fs::{exists_no_follow, hex, resolved};
use sha2::{Digest as _, Sha256};

use crate::{Error, Result};

/// What marks the top directory of a project.
const MARKERS: [&str; 9] = [
    ".git",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    ".hg",
    "Gemfile",
];
/// Directories of the system, which belong to no project.
const SYSTEM: [&str; 18] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc",
    "/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var",
];
/// Characters of the name of a project.
const ID_LENGTH: usize = 16;

/// A directory with snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Project {
    directory: PathBuf,
    id: String,
}

impl Project {
    /// The directory itself, links in its path followed.
    pub fn of(directory: &Path) -> Self {
        let directory = resolved(directory);
        let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
        let mut id = hex(&digest);
        id.truncate(ID_LENGTH);
        Self { directory, id }
    }

    /// The directory, absolute and without links.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The name in the store: the beginning of the hash of the path.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/hermes/{}", self.id)
    }
}

/// The directories that are too broad, or too private, to be a project.
#[derive(Debug, Clone, Default)]
pub struct Boundaries {
    /// Home directories of the user.
    pub homes: Vec<PathBuf>,
    /// The Hermes homes: that of the profile and the root.
    pub hermes: Vec<PathBuf>,
}

impl Boundaries {
    /// The project that a file belongs to: the nearest directory above it with a mark of one, or else
    /// the directory it is in.
    pub fn project_around(&self, path: &Path) -> Result<Project> {
        let path = resolved(path);
        let start = match path.parent() {
            Some(parent) if !path.is_dir() => parent,
            _ => &path,
        };
        let mut above = start.ancestors();
        let found = above.find(|directory| {
            let is_marked = MARKERS
                .iter()
                .any(|marker| exists_no_follow(&directory.join(marker)));
            is_marked && self.refusal(directory).is_none()
        });
        self.project(found.unwrap_or(start))
    }

    /// This directory as a project.
    pub fn project(&self, directory: &Path) -> Result<Project> {
        let project = Project::of(directory);
        match self.refusal(project.directory()) {
            None => Ok(project),
            Some(why) => Err(Error::Refused {
                directory: project.directory,
                why: why.to_owned(),
            }),
        }
    }

    fn refusal(&self, directory: &Path) -> Option<&'static str> {
        if SYSTEM.iter().any(|path| directory == Path::new(path)) {
            return Some("it is a directory of the system");
        }
        let mut homes = self.homes.iter().map(|home| resolved(home));
        if homes.any(|home| home.starts_with(directory)) {
            return Some("it holds a whole home directory");
        }
        for hermes in self.hermes.iter().map(|home| resolved(home)) {
            if hermes.starts_with(directory) || directory.starts_with(hermes.join("checkpoints")) {
                return Some("it holds the snapshots themselves");
            }
            // Databases that are open, and secrets.
            if directory.parent() == Some(&hermes.join("profiles")) {
                return Some("it is the home of another profile");
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn project_is_named_by_the_hash_of_its_path() {
        // What the reference computes for this path.
        assert_eq!(
            Project::of(Path::new("/nonexistent/project")).id(),
            "d4cff9156b2481dc"
        );
    }

    #[test]
    fn nearest_marked_directory_is_the_project_and_homes_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let home = root.join("home");
        let project = home.join("p");
        std::fs::create_dir_all(project.join("src/deep")).unwrap();
        std::fs::create_dir_all(home.join("loose")).unwrap();
        std::fs::write(project.join("Cargo.toml"), "").unwrap();
        // A marked home is no project all the same.
        std::fs::write(home.join("Makefile"), "").unwrap();
        // A home may be reached by a link.
        let linked = root.join("linked");
        std::os::unix::fs::symlink(&home, &linked).unwrap();
        let boundaries = Boundaries {
            homes: vec![linked],
            hermes: vec![home.join(".hermes")],
        };
        let around = |path: &Path| {
            let project = boundaries.project_around(path).unwrap();
            project.directory().to_owned()
        };
        assert_eq!(around(&project.join("src/deep/new.rs")), project);
        assert_eq!(around(&project.join("src")), project);
        assert_eq!(around(&home.join("loose/x")), home.join("loose"));
        for refused in [home.join("x"), root, "/etc/passwd".into(), "/".into()] {
            let error = boundaries.project_around(&refused).unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{error}");
        }
        let store = home.join(".hermes/checkpoints/store");
        assert!(boundaries.project(&store).is_err());
        let profile = home.join(".hermes/profiles/other");
        std::fs::create_dir_all(profile.join("cron")).unwrap();
        assert!(
            boundaries
                .project_around(&profile.join("config.yaml"))
                .is_err()
        );
        let work = home.join(".hermes/kanban/workspaces/t_1");
        assert!(boundaries.project(&work).is_ok());
    }
}
