//! Wrapper commands: `~/.local/bin/coder` runs `hermes -p coder`.
//!
//! The directory belongs to the user. Only files recognised as wrappers are ever replaced or
//! removed, and a symbolic link is neither followed nor touched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_fs::Kind;

use crate::name::{is_canonical, is_reserved, shown};
use crate::{Location, ProfileName};

/// How much of a file is looked at to recognise a wrapper.
const HEAD_BYTES: u64 = 8 * 1024;

/// The user's directory of wrappers.
#[derive(Debug, Clone)]
pub struct Aliases {
    directory: PathBuf,
}

/// An existing wrapper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub name: String,
    pub profile: ProfileName,
    pub path: PathBuf,
}

/// What an alias must not collide with.
#[derive(Debug, Clone, Copy)]
pub struct AliasRules<'a> {
    pub subcommands: &'a [&'a str],
    pub path: Option<&'a OsStr>,
}

/// A checked name for a wrapper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasName(String);

impl AliasName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A wrapper after its profile was renamed.
#[derive(Debug)]
pub struct AliasMove {
    pub old: String,
    pub new: Result<Alias, AliasError>,
}

/// A wrapper that cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    #[error(
        "'{0}' is not a valid alias: use lowercase letters, digits, '-' and '_', with a letter or \
         digit first"
    )]
    Characters(String),
    #[error("'{0}' is reserved and cannot be an alias")]
    Reserved(String),
    #[error("'{0}' is a hermes subcommand and cannot be an alias")]
    Subcommand(String),
    #[error("'{name}' would hide the program {}", path.display())]
    OnPath { name: String, path: PathBuf },
    #[error("{} exists and is not a hermes alias", path.display())]
    Foreign { path: PathBuf },
    #[error("no such alias: '{0}'")]
    Missing(String),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl AliasError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Foreign { .. } => {
                Some("pick another alias with --name, or move the file".to_owned())
            }
            Self::Missing(_) => Some("list the aliases with: hermes profile list".to_owned()),
            Self::Characters(_) | Self::Reserved(_) | Self::Subcommand(_) | Self::OnPath { .. } => {
                Some("pick another alias with --name".to_owned())
            }
        }
    }
}

impl Aliases {
    /// The directory of the user of an installation.
    pub fn of(location: &Location) -> Self {
        Self {
            directory: location.user_home.join(".local/bin"),
        }
    }

    /// `~/.local/bin`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a shell with this `PATH` finds the wrappers.
    pub fn is_on_path(&self, path: Option<&OsStr>) -> bool {
        path.is_some_and(|value| std::env::split_paths(value).any(|entry| entry == self.directory))
    }

    /// All wrappers, by name, in one pass.
    pub fn scan(&self) -> Vec<Alias> {
        // No directory, no wrappers; one that cannot be read shows none.
        let entries = hermes_fs::read_dir(&self.directory).unwrap_or_default();
        entries
            .into_iter()
            .filter(|entry| entry.kind == Kind::File)
            .filter_map(|entry| {
                let name = entry.name.to_str().filter(|name| is_canonical(name))?;
                Some(Alias {
                    name: name.to_owned(),
                    profile: wrapped_profile(&entry.path)?,
                    path: entry.path,
                })
            })
            .collect()
    }

    /// One wrapper per profile, for display: one the user named wins over the profile's own name.
    pub fn by_profile(&self) -> BTreeMap<ProfileName, Alias> {
        let mut map: BTreeMap<ProfileName, Alias> = BTreeMap::new();
        for alias in self.scan() {
            let is_custom = alias.name != alias.profile.as_str();
            if is_custom || !map.contains_key(&alias.profile) {
                map.insert(alias.profile.clone(), alias);
            }
        }
        map
    }

    /// Checks a name: shape, reserved names, subcommands, programs on `PATH`, files in the way.
    pub fn check(&self, raw: &str, rules: AliasRules<'_>) -> Result<AliasName, AliasError> {
        let name = raw.trim().to_ascii_lowercase();
        if !is_canonical(&name) {
            return Err(AliasError::Characters(shown(raw.trim())));
        }
        if is_reserved(&name) {
            return Err(AliasError::Reserved(name));
        }
        if rules.subcommands.contains(&name.as_str()) {
            return Err(AliasError::Subcommand(name));
        }
        let own = self.directory.join(&name);
        let is_ours = wrapped_profile(&own).is_some();
        match hermes_proc::find_on_path(OsStr::new(&name), rules.path) {
            Some(path) if path != own => return Err(AliasError::OnPath { name, path }),
            _ => {}
        }
        if !is_ours && hermes_fs::exists_no_follow(&own) {
            return Err(AliasError::Foreign { path: own });
        }
        Ok(AliasName(name))
    }

    /// Writes a wrapper that runs `hermes` (an absolute path) for a profile.
    pub fn write(
        &self,
        name: &AliasName,
        profile: &ProfileName,
        hermes: &Path,
    ) -> Result<Alias, AliasError> {
        let path = self.directory.join(name.as_str());
        if hermes_fs::exists_no_follow(&path) && wrapped_profile(&path).is_none() {
            return Err(AliasError::Foreign { path });
        }
        hermes_fs::create_dir_all(&self.directory, 0o755)?;
        let mut script = b"#!/bin/sh\nexec ".to_vec();
        // Quoting fails only for a NUL, which no path holds.
        script.extend(
            shlex::bytes::try_quote(hermes.as_os_str().as_bytes())
                .unwrap_or_default()
                .as_ref(),
        );
        script.extend_from_slice(format!(" -p {profile} \"$@\"\n").as_bytes());
        hermes_fs::write_atomic_exact(&path, &script, 0o755)?;
        Ok(Alias {
            name: name.as_str().to_owned(),
            profile: profile.clone(),
            path,
        })
    }

    /// Removes a wrapper by name; refuses anything that is none.
    pub fn remove(&self, raw: &str) -> Result<PathBuf, AliasError> {
        let name = raw.trim().to_ascii_lowercase();
        if !is_canonical(&name) {
            return Err(AliasError::Characters(shown(raw.trim())));
        }
        let path = self.directory.join(&name);
        if wrapped_profile(&path).is_some() {
            hermes_fs::remove_file(&path)?;
            Ok(path)
        } else if hermes_fs::exists_no_follow(&path) {
            Err(AliasError::Foreign { path })
        } else {
            Err(AliasError::Missing(name))
        }
    }

    /// Makes the wrappers of a renamed profile select its new name. The one named after the profile
    /// is renamed along, or keeps its name where the new one is taken; a profile that had none gets
    /// none.
    pub fn follow_rename(
        &self,
        old: &ProfileName,
        new: &ProfileName,
        hermes: &Path,
        rules: AliasRules<'_>,
    ) -> Vec<AliasMove> {
        let affected = self
            .scan()
            .into_iter()
            .filter(|alias| alias.profile == *old);
        affected
            .map(|alias| {
                let is_custom = alias.name != old.as_str();
                let keep = || self.write(&AliasName(alias.name.clone()), new, hermes);
                let moved = if is_custom {
                    keep()
                } else {
                    self.check(new.as_str(), rules)
                        .and_then(|name| self.write(&name, new, hermes))
                        .and_then(|written| self.remove(&alias.name).map(|_| written))
                        .or_else(|taken| keep().and(Err(taken)))
                };
                AliasMove {
                    old: alias.name,
                    new: moved,
                }
            })
            .collect()
    }
}

/// The profile a file selects, if it is a wrapper: a regular file with a line
/// `exec <program named hermes> … -p <profile> …` near its beginning.
fn wrapped_profile(path: &Path) -> Option<ProfileName> {
    if !hermes_fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    let file = hermes_fs::open(path).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    if head.contains(&0) {
        return None;
    }
    String::from_utf8_lossy(&head)
        .lines()
        .find_map(profile_in_line)
}

fn profile_in_line(line: &str) -> Option<ProfileName> {
    let words = shlex::split(line.strip_prefix("exec ")?)?;
    let (program, arguments) = words.split_first()?;
    if Path::new(program).file_name() != Some(OsStr::new("hermes")) {
        return None;
    }
    let flag = arguments.iter().position(|word| word == "-p")?;
    ProfileName::parse(arguments.get(flag + 1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn wrapper_scripts_are_recognised() {
        let profile = |line: &str| profile_in_line(line).map(|name| name.to_string());
        let coder = Some("coder".to_owned());
        assert_eq!(profile(r#"exec hermes -p coder "$@""#), coder);
        assert_eq!(profile(r#"exec /usr/bin/hermes -p coder "$@""#), coder);
        assert_eq!(profile(r#"exec '/my dir/hermes' -p coder "$@""#), coder);
        assert_eq!(profile(r#"exec '/it'"'"'s/hermes' -p coder "$@""#), coder);
        assert_eq!(profile(r#"exec '/it'\''s/hermes' -p coder "$@""#), coder);
    }

    #[test]
    fn other_scripts_are_not_wrappers() {
        for line in [
            "hermes -p coder",
            " exec hermes -p coder",
            "exec hermesx -p coder",
            "exec ssh -p 22 hermes",
            "exec hermes chat",
            "exec hermes -p",
            "exec hermes -p ../x",
            "# exec hermes -p coder",
            "exec 'hermes",
            "exec ",
        ] {
            assert_eq!(profile_in_line(line), None, "{line}");
        }
    }
}
