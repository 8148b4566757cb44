//! Where a process keeps its state: the root of the installation, the home in use, and which
//! profile that is.
//!
//! Pure path arithmetic over the environment and symbolic links; creates nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use hermes_config::{Environment, vars};

use crate::{ProfileName, SystemFacts};

/// Directory of the named profiles below the root.
const PROFILES: &str = "profiles";

/// Which profile a home belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeKind {
    /// The root itself.
    Default,
    /// `<root>/profiles/<name>`.
    Named(ProfileName),
    /// A directory that is neither.
    Custom,
}

/// The resolved place of an installation and of the home in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Home of the default profile; named profiles live below it.
    pub root: PathBuf,
    /// Home in use, absolute. Children get it as `HERMES_HOME`.
    pub home: PathBuf,
    pub kind: HomeKind,
    /// The user's home directory, for `~/…` and `~/.local/bin`.
    pub user_home: PathBuf,
}

/// A home that cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    #[error(
        "could not find your home directory: HOME is not set and user {uid} has no entry in the password file"
    )]
    NoUserHome { uid: u32 },
    #[error("HERMES_HOME is the relative path '{}', but the current directory no longer exists", home.display())]
    NoStartDirectory { home: PathBuf },
}

impl LocationError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        let advice = match self {
            Self::NoUserHome { .. } => "set HOME, or set HERMES_HOME to an absolute path",
            Self::NoStartDirectory { .. } => {
                "set HERMES_HOME to an absolute path, or change to a directory that exists"
            }
        };
        Some(advice.to_owned())
    }
}

impl Location {
    /// Resolves `HERMES_HOME`, else `~/.hermes`.
    pub fn resolve(env: &Environment, system: &SystemFacts) -> Result<Self, LocationError> {
        let user_home = user_home(env, system);
        let Some(value) = env.os(&vars::HERMES_HOME).and_then(trimmed) else {
            let user_home = user_home.ok_or(LocationError::NoUserHome { uid: system.uid })?;
            let root = native_root(&user_home);
            return Ok(Self::new(root.clone(), root, user_home));
        };
        let home = absolute(PathBuf::from(value), system)?;
        // Without a home directory `~` means nothing, and the rest still works.
        let user_home = user_home.unwrap_or_else(|| PathBuf::from("/"));
        let native = native_root(&user_home);
        let root = if follow(&home).starts_with(follow(&native)) {
            native
        } else if is_below_profiles(&home) {
            home.ancestors().nth(2).unwrap_or(&home).to_owned()
        } else {
            home.clone()
        };
        Ok(Self::new(root, home, user_home))
    }

    pub(crate) fn new(root: PathBuf, home: PathBuf, user_home: PathBuf) -> Self {
        let kind = kind_of(&root, &home);
        Self {
            root,
            home,
            kind,
            user_home,
        }
    }

    /// The same installation with another profile in use. Says nothing about its existence.
    #[must_use]
    pub fn for_profile(&self, name: &ProfileName) -> Self {
        Self {
            root: self.root.clone(),
            home: self.profile_home(name),
            kind: if name.is_default() {
                HomeKind::Default
            } else {
                HomeKind::Named(name.clone())
            },
            user_home: self.user_home.clone(),
        }
    }

    /// The same installation with another home in use.
    #[must_use]
    pub fn in_home(&self, home: &Path) -> Self {
        Self::new(self.root.clone(), home.to_owned(), self.user_home.clone())
    }

    /// The same profile of another account. An installation that is not in the caller's home directory
    /// is nobody's, and stays.
    #[must_use]
    pub fn of_account(&self, user_home: &Path) -> Self {
        let inside = self.home.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let root = if self.root == native_root(&self.user_home) {
            native_root(user_home)
        } else {
            self.root.clone()
        };
        // An empty path would add a slash.
        let home = if inside.as_os_str().is_empty() {
            root.clone()
        } else {
            root.join(inside)
        };
        Self {
            root,
            home,
            kind: self.kind.clone(),
            user_home: user_home.to_owned(),
        }
    }

    /// Home of a profile of this installation.
    pub fn profile_home(&self, name: &ProfileName) -> PathBuf {
        if name.is_default() {
            self.root.clone()
        } else {
            self.profiles_dir().join(name.as_str())
        }
    }

    /// Directory of the named profiles.
    pub fn profiles_dir(&self) -> PathBuf {
        self.root.join(PROFILES)
    }

    /// `default`, the name, or `custom`.
    pub fn profile_label(&self) -> &str {
        match &self.kind {
            HomeKind::Default => "default",
            HomeKind::Named(name) => name.as_str(),
            HomeKind::Custom => "custom",
        }
    }

    /// The profile in use; `None` for a custom home.
    pub fn profile_name(&self) -> Option<ProfileName> {
        match &self.kind {
            HomeKind::Default => Some(ProfileName::default_profile()),
            HomeKind::Named(name) => Some(name.clone()),
            HomeKind::Custom => None,
        }
    }

    /// A path for people: `~/…` below the user's home, else as it is.
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            // A user without a home directory has `/` here, and everything is below that.
            _ if self.user_home == Path::new("/") => path.display().to_string(),
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Whether the directory above is literally named `profiles`.
pub(crate) fn is_below_profiles(home: &Path) -> bool {
    home.parent().and_then(Path::file_name) == Some(OsStr::new(PROFILES))
}

/// Resolves links as far as the path exists; the rest is appended as written, `..` taken literally.
pub(crate) fn follow(path: &Path) -> PathBuf {
    if let Ok(resolved) = hermes_fs::canonicalize(path) {
        return resolved;
    }
    let (Some(parent), Some(last)) = (path.parent(), path.components().next_back()) else {
        return path.to_owned();
    };
    let mut resolved = follow(parent);
    match last {
        Component::ParentDir => {
            resolved.pop();
        }
        Component::CurDir => {}
        other => resolved.push(other),
    }
    resolved
}

fn kind_of(root: &Path, home: &Path) -> HomeKind {
    let (real_root, real_home) = (follow(root), follow(home));
    if real_root == real_home {
        return HomeKind::Default;
    }
    // As written first: a profile directory that is a link to another disk is still that profile.
    for (root, home) in [(root, home), (&real_root, &real_home)] {
        if home.parent() == Some(&root.join(PROFILES))
            && let Some(name) = home.file_name().and_then(ProfileName::from_directory)
        {
            return HomeKind::Named(name);
        }
    }
    HomeKind::Custom
}

fn native_root(user_home: &Path) -> PathBuf {
    user_home.join(".hermes")
}

fn user_home(env: &Environment, system: &SystemFacts) -> Option<PathBuf> {
    env.os(&vars::HOME)
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .or_else(|| system.home_by_uid())
}

/// The value without blanks around it; `None` if nothing is left.
fn trimmed(value: &OsStr) -> Option<OsString> {
    let bytes = value.as_bytes().trim_ascii();
    (!bytes.is_empty()).then(|| OsString::from_vec(bytes.to_owned()))
}

fn absolute(home: PathBuf, system: &SystemFacts) -> Result<PathBuf, LocationError> {
    let joined = match &system.start_dir {
        _ if home.is_absolute() => home,
        Some(start) => start.join(&home),
        None => return Err(LocationError::NoStartDirectory { home }),
    };
    // Drops `.`, doubled and trailing slashes, so that parents are what they look like.
    Ok(joined.components().collect())
}
