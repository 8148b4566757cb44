//! What names a skill elsewhere.

use std::path::{Path, PathBuf};

use crate::bundled;
use crate::error::{Error, Result};
use crate::files::shown;

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Part of the program.
    Bundled(&'static str),
    /// A directory of this machine.
    Directory(PathBuf),
    /// A directory of a repository; an empty path stands for the only skill in it.
    Git { address: String, path: String },
    /// The address of a `SKILL.md`.
    Page(String),
    /// A skill of a site that has `/.well-known/skills/index.json`.
    WellKnown { base: String, name: String },
    /// A name to look for in the repositories that were added.
    Name(String),
}

/// The part of a path under which sites offer skills.
pub(super) const WELL_KNOWN: &str = "/.well-known/skills";

impl Origin {
    /// What an identifier means.
    pub(super) fn parse(identifier: &str, user_home: &Path) -> Result<Self> {
        let text = identifier.trim();
        let refused = || {
            Error::refused_with(
                format!("'{}' does not name a skill.", shown(text)),
                "give owner/repository/path, a git address with #path, the address of a SKILL.md, \
                 a directory, or a name from `hermes skills search`",
            )
        };
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return Err(refused());
        }
        if let Some(rest) = text.strip_prefix("well-known:") {
            return Self::well_known(rest).ok_or_else(refused);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return Self::web(text).ok_or_else(refused);
        }
        if ["git@", "ssh://", "git://", "file://"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            let (address, path) = text.split_once('#').unwrap_or((text, ""));
            return Self::git(address, path);
        }
        if let Some(rest) = text.strip_prefix("~/") {
            return Ok(Self::Directory(user_home.join(rest)));
        }
        if text.starts_with(['/', '.']) {
            return Ok(Self::Directory(PathBuf::from(text)));
        }
        let text = text.strip_prefix("official/").unwrap_or(text);
        if let Some(skill) = bundled::named(text) {
            return Ok(Self::Bundled(skill.name));
        }
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [name] => Ok(Self::Name((*name).to_owned())),
            [owner, repository, path @ ..] => {
                let address = repository_address(&format!("{owner}/{repository}"))?;
                Self::git(&address, &path.join("/"))
            }
            [] => Err(refused()),
        }
    }

    fn git(address: &str, path: &str) -> Result<Self> {
        let path = path.trim_matches('/');
        if !path.is_empty() {
            hermes_fs::confined_relative(path).map_err(|_| {
                Error::refused(format!("'{}' leads out of the repository.", shown(path)))
            })?;
        }
        Ok(Self::Git {
            address: address.to_owned(),
            path: path.to_owned(),
        })
    }

    fn web(text: &str) -> Option<Self> {
        if text.contains(&format!("{WELL_KNOWN}/")) {
            return Self::well_known(text);
        }
        let (plain, fragment) = text.split_once('#').unwrap_or((text, ""));
        let path = plain.split('?').next().unwrap_or(plain);
        if path.to_ascii_lowercase().ends_with(".md") {
            return Some(Self::Page(plain.to_owned()));
        }
        if Path::new(path).extension().is_some_and(|end| end == "git") {
            return Self::git(plain, fragment).ok();
        }
        // `https://github.com/owner/repository/tree/branch/path`
        let rest = path.strip_prefix("https://github.com/")?;
        let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
        match parts.as_slice() {
            [owner, repository, "tree", _, path @ ..] => Self::git(
                &format!("https://github.com/{owner}/{repository}"),
                &path.join("/"),
            )
            .ok(),
            [owner, repository] => Self::git(
                &format!("https://github.com/{owner}/{repository}"),
                fragment,
            )
            .ok(),
            _ => None,
        }
    }

    fn well_known(text: &str) -> Option<Self> {
        let is_web = text.starts_with("http://") || text.starts_with("https://");
        let (plain, fragment) = text.split_once('#').unwrap_or((text, ""));
        let plain = plain.trim_end_matches('/');
        let (base, name) = match plain.strip_suffix("/index.json") {
            Some(base) => (base, fragment),
            None => {
                let plain = plain.strip_suffix("/SKILL.md").unwrap_or(plain);
                plain.rsplit_once('/')?
            }
        };
        let is_there = base.ends_with(WELL_KNOWN) && crate::name::check_name(name).is_ok();
        (is_web && is_there).then(|| Self::WellKnown {
            base: base.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// The address of a repository: as it is, or on GitHub for `owner/name`.
pub(super) fn repository_address(repository: &str) -> Result<String> {
    let has_scheme = repository.contains("://") || repository.starts_with("git@");
    if has_scheme || repository.starts_with('/') {
        let is_known = [
            "https://", "http://", "ssh://", "git://", "file://", "git@", "/",
        ];
        if is_known.iter().any(|start| repository.starts_with(start)) {
            return Ok(repository.to_owned());
        }
    }
    let parts: Vec<&str> = repository.split('/').collect();
    let is_plain = |part: &&str| {
        let mut bytes = part.bytes();
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if parts.len() == 2 && parts.iter().all(is_plain) {
        return Ok(format!("https://github.com/{repository}"));
    }
    Err(Error::refused_with(
        format!("'{}' is not a repository.", shown(repository)),
        "give owner/name on GitHub, or the address of a git repository",
    ))
}

/// `owner/name` of an address on GitHub.
pub(super) fn github_name(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://github.com/")?;
    let rest = rest
        .trim_end_matches('/')
        .strip_suffix(".git")
        .unwrap_or(rest);
    (rest.split('/').count() == 2).then_some(rest)
}
