//! Which HOME children see, and the links that keep a profile's home usable.
//!
//! A home of the profile's own hides what the user keeps in the real one: the login keychain first
//! of all, so that tools the user is logged in to say otherwise (hermes-agent#29015). Nothing here
//! replaces what somebody else put there.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{Access, access};

/// The keychain, relative to a home.
pub const KEYCHAIN: &str = "Library/Keychains";

/// `terminal.home_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HomeMode {
    /// The profile's in containers, the account's on hosts.
    #[default]
    Auto,
    Real,
    /// The profile's, which is made where it is missing.
    Profile,
}

/// A word that is no home mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown home mode '{0}'; use auto, real or profile")]
pub struct UnknownHomeMode(String);

impl HomeMode {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Real => "real",
            Self::Profile => "profile",
        }
    }
}

impl FromStr for HomeMode {
    type Err = UnknownHomeMode;

    fn from_str(text: &str) -> Result<Self, UnknownHomeMode> {
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "real" | "host" | "user" | "real_home" | "real-home" => Ok(Self::Real),
            "profile" | "isolated" | "profile_home" | "profile-home" => Ok(Self::Profile),
            _ => Err(UnknownHomeMode(text.to_owned())),
        }
    }
}

/// What the decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct HomeFacts<'a> {
    pub mode: HomeMode,
    pub is_container: bool,
    pub hermes_home: &'a Path,
    /// The inherited `HERMES_REAL_HOME`.
    pub inherited_real_home: Option<&'a OsStr>,
    /// The inherited `HOME`.
    pub inherited_home: Option<&'a OsStr>,
    pub account_home: Option<&'a Path>,
}

/// The HOME of children, decided. By default they keep the one they inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildHome {
    pub mode: HomeMode,
    /// Whether the decision was made inside a container.
    pub is_container: bool,
    /// Where the profile's home is, or would be.
    pub profile_home: PathBuf,
    real_home: PathBuf,
    /// Whether a home of the account was found; without one `/tmp` stands in.
    pub real_home_is_known: bool,
    inherited: Option<PathBuf>,
    choice: Choice,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Choice {
    #[default]
    Unchanged,
    Real,
    Profile,
}

impl ChildHome {
    /// Decides. Looks at the disk, changes nothing.
    pub fn resolve(facts: &HomeFacts<'_>) -> Self {
        let profile_home = facts.hermes_home.join("home");
        let same = |path: &Path| {
            path == profile_home
                || hermes_fs::canonicalize(path)
                    .is_ok_and(|path| Some(path) == hermes_fs::canonicalize(&profile_home).ok())
        };
        let inherited = facts.inherited_home.map(PathBuf::from);
        let candidates = [
            facts.inherited_real_home.map(PathBuf::from),
            inherited.clone(),
            facts.account_home.map(Path::to_owned),
        ];
        // Skipping the profile's: a child started with HOME rewritten finds its way back.
        let real_home = candidates
            .into_iter()
            .flatten()
            .find(|path| path.is_absolute() && !same(path));
        let exists = profile_home.is_dir();
        let choice = match facts.mode {
            HomeMode::Profile => Choice::Profile,
            HomeMode::Auto if facts.is_container && exists => Choice::Profile,
            HomeMode::Auto | HomeMode::Real => Choice::Real,
        };
        Self {
            mode: facts.mode,
            is_container: facts.is_container,
            profile_home,
            real_home_is_known: real_home.is_some(),
            real_home: real_home.unwrap_or_else(|| PathBuf::from("/tmp")),
            inherited: inherited.filter(|path| !path.as_os_str().is_empty()),
            choice,
        }
    }

    /// The value children get instead of the inherited one.
    pub fn replacement(&self) -> Option<&Path> {
        match self.choice {
            Choice::Unchanged => None,
            Choice::Real => Some(&self.real_home),
            Choice::Profile => Some(&self.profile_home),
        }
    }

    /// What `~` means for children; `None` if they inherit no HOME.
    pub fn effective(&self) -> Option<&Path> {
        self.replacement().or(self.inherited.as_deref())
    }

    /// Home of the account.
    pub fn real_home(&self) -> &Path {
        &self.real_home
    }

    /// Whether children live in the profile's home.
    pub fn is_profile_home(&self) -> bool {
        self.choice == Choice::Profile
    }

    /// Makes the profile's home if children live in it and it is missing. A failure names the
    /// directory.
    pub fn ensure(&self) -> hermes_fs::Result<()> {
        if self.is_profile_home() && !self.profile_home.is_dir() {
            hermes_fs::create_dir_all(&self.profile_home, 0o700)?;
        }
        Ok(())
    }

    /// Whether the effective home can be written.
    pub fn is_writable(&self) -> bool {
        self.effective()
            .is_some_and(|home| access(home, Access::WRITE_OK | Access::EXEC_OK).is_ok())
    }
}

/// What stands where a link into the real home belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    NoSource,
    Linked,
    Missing,
    /// A link that leads nowhere, or to a home the account had before.
    Stale,
    /// Something else, which stays.
    Occupied,
}

/// What came of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// It was right already, or somebody else was faster.
    Present,
    Made,
    Replaced,
    /// Something else has its name and was left alone.
    Occupied,
    NoSource,
    BadEntry,
    Failed(String),
}

/// Looks at one entry; changes nothing. `entry` is relative to a home.
pub fn home_link_state(home: &ChildHome, entry: &Path) -> LinkState {
    let source = home.real_home.join(entry);
    let link = home.profile_home.join(entry);
    if hermes_fs::metadata(&source).is_err() {
        return LinkState::NoSource;
    }
    loop {
        match hermes_fs::read_link(&link) {
            Ok(target) if target == source => return LinkState::Linked,
            Ok(target) if is_stale(&target, &link, entry, &home.real_home) => {
                return LinkState::Stale;
            }
            Ok(_) => return LinkState::Occupied,
            Err(_) => match hermes_fs::symlink_metadata(&link) {
                // Made by someone else since we looked.
                Ok(meta) if meta.is_symlink() => {}
                Ok(_) => return LinkState::Occupied,
                Err(_) => return LinkState::Missing,
            },
        }
    }
}

/// Nobody's link any more: its target is gone, or it is the same entry in a home beside the real
/// one, as after renaming an account.
fn is_stale(target: &Path, link: &Path, entry: &Path, real_home: &Path) -> bool {
    // The target that was read, not the link, which may be another by now.
    let aim = link
        .parent()
        .map_or_else(|| target.to_owned(), |dir| dir.join(target));
    if hermes_fs::metadata(&aim).is_err() {
        return true;
    }
    let depth = entry.components().count();
    target.is_absolute()
        && target.ends_with(entry)
        && target.ancestors().nth(depth).and_then(Path::parent) == real_home.parent()
}

/// Whether an entry of `terminal.profile_home_links` is a path inside a home.
pub fn is_home_entry(entry: &Path) -> bool {
    let mut components = entry.components().peekable();
    components.peek().is_some()
        && components.all(|component| matches!(component, Component::Normal(_)))
}

/// Makes the links for these entries, if children live in the profile's home. Several processes may
/// do so at once. What fails is an outcome, never an error: no command waits for it.
pub fn ensure_home_links<'e>(
    home: &ChildHome,
    entries: impl IntoIterator<Item = &'e Path>,
) -> Vec<(PathBuf, LinkOutcome)> {
    if !home.is_profile_home() {
        return Vec::new();
    }
    entries
        .into_iter()
        .map(|entry| (entry.to_owned(), ensure_link(home, entry)))
        .collect()
}

fn ensure_link(home: &ChildHome, entry: &Path) -> LinkOutcome {
    if !is_home_entry(entry) {
        return LinkOutcome::BadEntry;
    }
    let source = home.real_home.join(entry);
    let link = home.profile_home.join(entry);
    let made = match home_link_state(home, entry) {
        LinkState::NoSource => return LinkOutcome::NoSource,
        LinkState::Linked => return LinkOutcome::Present,
        LinkState::Occupied => return LinkOutcome::Occupied,
        LinkState::Stale => {
            hermes_fs::replace_symlink(&source, &link).map(|()| LinkOutcome::Replaced)
        }
        LinkState::Missing => link
            .parent()
            .map_or(Ok(()), |parent| hermes_fs::create_dir_all(parent, 0o700))
            .and_then(|()| hermes_fs::symlink(&source, &link))
            .map(|()| LinkOutcome::Made),
    };
    match made {
        Ok(outcome) => outcome,
        // Another process was faster; what it made is looked at, not assumed.
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::AlreadyExists) => {
            match home_link_state(home, entry) {
                LinkState::Linked => LinkOutcome::Present,
                _ => LinkOutcome::Occupied,
            }
        }
        Err(error) => LinkOutcome::Failed(error.to_string()),
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
