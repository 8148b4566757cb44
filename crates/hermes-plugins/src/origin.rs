//! What the argument of `hermes plugins install` means.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What an address of a repository begins with.
const SCHEMES: [&str; 6] = ["https://", "http://", "ssh://", "git://", "file://", "git@"];
/// Pages of a repository on GitHub, as a browser shows them.
const GITHUB_PAGES: [&str; 10] = [
    "actions", "blob", "commit", "commits", "issues", "pull", "pulls", "releases", "tree", "wiki",
];

/// Where a plugin comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A directory of a repository; an empty path stands for all of it.
    Repository { address: String, path: String },
}

impl Origin {
    /// What an identifier means for somebody in the directory `base`.
    pub(crate) fn parse(identifier: &str, base: &Path, user_home: &Path) -> Result<Self> {
        let text = identifier.trim();
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return Err(refused(text));
        }
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Self::address(text);
        }
        if text.contains("://") || text.contains("::") {
            return Err(refused(text));
        }
        let directory = match text.strip_prefix("~/") {
            Some(rest) => Some(user_home.join(rest)),
            None if text.starts_with(['/', '.']) => Some(base.join(text)),
            None => None,
        };
        if let Some(directory) = directory {
            return Ok(Self::of_path(directory));
        }
        let parts: Vec<&str> = text.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            [owner, repository, path @ ..] if is_plain(owner) && is_plain(repository) => {
                let repository = repository.strip_suffix(".git").unwrap_or(repository);
                let address = format!("https://github.com/{owner}/{repository}.git");
                Self::repository(&address, &path.join("/"))
            }
            _ => Err(refused(text)),
        }
    }

    /// A directory of this machine: what was committed, if it is a repository.
    fn of_path(path: PathBuf) -> Self {
        let is_bare = path.join("HEAD").is_file() && path.join("objects").is_dir();
        if path.join(".git").exists() || is_bare {
            return Self::Repository {
                address: path.to_string_lossy().into_owned(),
                path: String::new(),
            };
        }
        Self::Directory(path)
    }

    fn address(text: &str) -> Result<Self> {
        let (plain, fragment) = text.split_once('#').unwrap_or((text, ""));
        if let Some(rest) = plain.strip_prefix("https://github.com/") {
            let rest = rest.split('?').next().unwrap_or(rest).trim_matches('/');
            let parts: Vec<&str> = rest.split('/').collect();
            if let [owner, repository, page, rest @ ..] = parts.as_slice()
                && GITHUB_PAGES.contains(page)
            {
                let repository = repository.strip_suffix(".git").unwrap_or(repository);
                let address = format!("https://github.com/{owner}/{repository}.git");
                let path = match (*page, rest) {
                    ("tree", [_, path @ ..]) => path.join("/"),
                    _ => String::new(),
                };
                return Self::repository(&address, &path);
            }
        }
        if fragment.is_empty()
            && let Some((before, path)) = plain.split_once(".git/")
        {
            return Self::repository(&format!("{before}.git"), path);
        }
        Self::repository(plain, fragment)
    }

    fn repository(address: &str, path: &str) -> Result<Self> {
        let path = path.trim_end_matches('/');
        if !path.is_empty() {
            hermes_fs::confined_relative(path).map_err(|_| {
                let path = hermes_text::shown(path, 80);
                Error::refused(format!("'{path}' leads out of the repository."))
            })?;
        }
        Ok(Self::Repository {
            address: address.to_owned(),
            path: path.to_owned(),
        })
    }

    /// For messages, without a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Repository { address, path } if path.is_empty() => without_password(address),
            Self::Repository { address, path } => {
                format!("{}#{path}", without_password(address))
            }
        }
    }
}

fn is_plain(part: &str) -> bool {
    let mut bytes = part.bytes();
    !part.is_empty()
        && !part.starts_with(['.', '-'])
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn refused(text: &str) -> Error {
    Error::refused_with(
        format!("'{}' does not name a plugin.", hermes_text::shown(text, 80)),
        "give a git address, owner/repository[/path] on GitHub, or a directory",
    )
}

/// What stands before an `@` in an address may be a password.
fn without_password(address: &str) -> String {
    let masked = address.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://…@{host}/{path}"))
    });
    hermes_text::shown(&masked.unwrap_or_else(|| address.to_owned()), 200)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(text: &str) -> Result<Origin> {
        Origin::parse(text, Path::new("/base"), Path::new("/home/joe"))
    }

    #[test]
    fn the_forms_of_the_reference_are_understood() {
        for (text, address, path) in [
            ("joe/notes", "https://github.com/joe/notes.git", ""),
            ("joe/notes/a/b", "https://github.com/joe/notes.git", "a/b"),
            ("https://x.org/a.git", "https://x.org/a.git", ""),
            (
                "https://x.org/a.git/sub/dir",
                "https://x.org/a.git",
                "sub/dir",
            ),
            ("https://x.org/a#sub", "https://x.org/a", "sub"),
            ("git@x.org:joe/a.git", "git@x.org:joe/a.git", ""),
            ("file:///srv/a.git#p", "file:///srv/a.git", "p"),
            (
                "https://github.com/joe/notes/tree/main/p/q",
                "https://github.com/joe/notes.git",
                "p/q",
            ),
            (
                "https://github.com/joe/notes/issues/3",
                "https://github.com/joe/notes.git",
                "",
            ),
        ] {
            let expected = Origin::Repository {
                address: address.to_owned(),
                path: path.to_owned(),
            };
            assert_eq!(parsed(text).unwrap(), expected, "{text}");
        }
        assert_eq!(
            parsed("./x").unwrap(),
            Origin::Directory("/base/./x".into())
        );
        assert_eq!(
            parsed("~/x").unwrap(),
            Origin::Directory("/home/joe/x".into())
        );
    }

    #[test]
    fn what_leads_out_or_runs_something_is_refused() {
        for text in [
            "",
            "x",
            "-x/y",
            "--upload-pack=x",
            "joe/notes/../../etc",
            "https://x.org/a.git/../b",
            "https://x.org/a#/etc",
            "ext::sh -c x",
            "ftp://x.org/a",
            "joe/no tes",
            "a/b\nc",
            "../../x/y\0",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let origin = parsed("https://joe:secret@x.org/a.git#p").unwrap();
        assert_eq!(origin.shown(), "https://…@x.org/a.git#p");
    }
}
