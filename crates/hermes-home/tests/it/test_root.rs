//! A hermetic user with a home of their own, and what tests do with it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_config::Environment;
use hermes_home::profiles::{self, CreateRequest, ProfileContent, ProfileList};
use hermes_home::{HomePolicy, Location, ProfileName, Result, SystemFacts};

/// A user whose home is a temporary directory.
pub(crate) struct TestRoot {
    dir: tempfile::TempDir,
}

impl TestRoot {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn user_home(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path(".hermes")
    }

    pub(crate) fn profile(&self, name: &str) -> PathBuf {
        self.root().join("profiles").join(name)
    }

    pub(crate) fn env(&self) -> Environment {
        Environment::from_pairs([("HOME", self.dir.path())])
    }

    pub(crate) fn location(&self) -> Location {
        location_of(self.dir.path())
    }

    pub(crate) fn policy(&self) -> HomePolicy {
        HomePolicy::resolve(&self.env(), &system(), &self.root())
    }

    pub(crate) fn create(&self, name: &str) -> Result<Location> {
        self.create_with(name, fresh())
    }

    pub(crate) fn create_with(&self, raw: &str, content: ProfileContent) -> Result<Location> {
        create_in(&self.location(), &ProfileName::parse_new(raw)?, content)
    }

    pub(crate) fn list(&self) -> ProfileList {
        profiles::list(&self.location(), None).unwrap()
    }

    /// Names below `profiles/`, hidden ones included.
    pub(crate) fn on_disk(&self) -> Vec<String> {
        names_in(&self.root().join("profiles"))
    }
}

pub(crate) fn fresh() -> ProfileContent {
    ProfileContent::Fresh {
        bundled_skills: true,
    }
}

pub(crate) fn location_of(user_home: &Path) -> Location {
    let env = Environment::from_pairs([("HOME", user_home)]);
    Location::resolve(&env, &system()).unwrap()
}

/// Facts of a host that is no container.
pub(crate) fn system() -> SystemFacts {
    SystemFacts {
        file_system_root: PathBuf::from("/nonexistent"),
        ..SystemFacts::of_process()
    }
}

pub(crate) fn create_in(
    location: &Location,
    name: &ProfileName,
    content: ProfileContent,
) -> Result<Location> {
    let request = CreateRequest {
        name: name.clone(),
        content,
        description: Some("writes \"code\": well".to_owned()),
    };
    let env = Environment::from_pairs([("HOME", &location.user_home)]);
    let policy = HomePolicy::resolve(&env, &system(), &location.root);
    let prepare = |staged: &Path| {
        assert!(staged.join("SOUL.md").exists());
        Ok(())
    };
    profiles::create(location, &request, &policy, &prepare)
}

pub(crate) fn name(raw: &str) -> ProfileName {
    ProfileName::parse(raw).unwrap()
}

pub(crate) fn args(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path)
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

/// Whether group and others have no access.
pub(crate) fn is_private(mode: u32) -> bool {
    mode & 0o700 == mode
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Names in a directory, in order; empty if it is not there.
pub(crate) fn names_in(path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// All paths below a directory with their modes, for comparing before and after.
pub(crate) fn tree(path: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(next) = waiting.pop() {
        found.push((next.clone(), mode(&next)));
        if next.symlink_metadata().unwrap().is_dir() {
            waiting.extend(std::fs::read_dir(&next).unwrap().map(|e| e.unwrap().path()));
        }
    }
    found.sort();
    found
}
