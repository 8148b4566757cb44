//! Which files are not shown to a model, by the file tools or by an `@` reference.
//!
//! A command can read what its user can read: this keeps secrets out of a conversation by accident,
//! not by force.

use std::path::{Path, PathBuf};

use crate::private_places::{
    Access, PrivatePlace, entries_of_hermes_home, entries_of_home, in_hermes_home, in_home,
    named_anywhere, on_machine,
};

/// The directories whose private places are protected.
#[derive(Debug, Clone, Default)]
pub struct PrivateHomes {
    /// Home directories of the account: the real one and the one commands are given.
    pub accounts: Vec<PathBuf>,
    /// Homes of Hermes: that of the profile and the root.
    pub hermes: Vec<PathBuf>,
}

/// Decides which files are shown. Paths are absolute and have no links in them.
#[derive(Debug, Clone)]
pub struct ReadGuard {
    homes: PrivateHomes,
    /// Where private places that are links lead to.
    targets: Vec<(PathBuf, PrivatePlace)>,
}

impl ReadGuard {
    /// For the files of this machine.
    pub fn here(homes: &PrivateHomes) -> Self {
        let homes = PrivateHomes {
            accounts: real_homes(&homes.accounts),
            hermes: real_homes(&homes.hermes),
        };
        let accounts = homes.accounts.iter();
        let accounts = accounts.flat_map(|home| entries_of_home().map(move |entry| (home, entry)));
        let hermes = homes.hermes.iter();
        let hermes =
            hermes.flat_map(|home| entries_of_hermes_home().map(move |entry| (home, entry)));
        let targets = accounts.chain(hermes).filter_map(|(home, (entry, place))| {
            linked_target(home, entry).map(|target| (target, place))
        });
        Self {
            targets: targets.collect(),
            homes,
        }
    }

    /// For the files of another machine, none of whose links are followed here.
    pub fn by_text(homes: PrivateHomes) -> Self {
        Self {
            homes,
            targets: Vec::new(),
        }
    }

    /// Why a file tool does not show a file, if so: as a sentence.
    pub fn refusal(&self, path: &Path) -> Option<String> {
        let place = self
            .places(path)
            .find(|place| place.refuses(Access::Read))?;
        let advice = match place {
            PrivatePlace::HermesSecrets | PrivatePlace::Credentials => {
                " Use the variables and tools of the session instead."
            }
            _ => "",
        };
        Some(format!(
            "{} {} and is not read.{advice}",
            path.display(),
            place.description()
        ))
    }

    /// Whether a file is kept out of messages. Besides what is not shown, nothing named like a private
    /// place of a home is attached, wherever it lies.
    pub fn refuses_attaching(&self, path: &Path) -> bool {
        self.places(path)
            .chain(named_anywhere(path))
            .any(|place| place.refuses(Access::Attach))
    }

    fn places(&self, path: &Path) -> impl Iterator<Item = PrivatePlace> {
        let below = |homes: &[PathBuf], find: fn(&Path) -> Option<PrivatePlace>| {
            let mut relative = homes.iter().filter_map(|home| path.strip_prefix(home).ok());
            relative.find_map(find)
        };
        let target = self
            .targets
            .iter()
            .find(|(target, _)| path.starts_with(target));
        [
            on_machine(path),
            below(&self.homes.accounts, in_home),
            below(&self.homes.hermes, in_hermes_home),
            target.map(|(_, place)| *place),
        ]
        .into_iter()
        .flatten()
    }
}

/// Homes without links in them, each once: the home that commands are given is usually the real one.
fn real_homes(all: &[PathBuf]) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = Vec::with_capacity(all.len());
    for home in all.iter().map(|home| canonical(home)) {
        // A home of `/` would make every file one of the user's own.
        if home.parent().is_some() && !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// Where an entry of a home leads to if there is a link in it. The home has none. Made for every file
/// that is read, so nothing is resolved that is no link.
fn linked_target(home: &Path, entry: &str) -> Option<PathBuf> {
    let mut path = home.to_owned();
    for part in Path::new(entry) {
        path.push(part);
        let found = hermes_fs::symlink_metadata(&path).ok()?;
        if found.is_symlink() {
            return hermes_fs::canonicalize(&home.join(entry)).ok();
        }
    }
    None
}

/// The path without links; a path that does not exist is taken as written.
fn canonical(path: &Path) -> PathBuf {
    hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
