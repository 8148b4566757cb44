//! Addresses of repositories: those that git reaches without running a program of somebody's choosing,
//! and without a secret in them.

use std::fmt;

use crate::repository_error::RepositoryError;

/// Longest address.
const LONGEST: usize = 2000;

/// An address that can be cloned from and pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress(String);

impl RepositoryAddress {
    /// `https://HOST/PATH`, `ssh://USER@HOST/PATH`, `USER@HOST:PATH` or `file:///PATH`.
    pub fn parse(raw: &str) -> Result<Self, RepositoryError> {
        let text = raw.trim();
        let bad = |problem: &str| RepositoryError::BadAddress {
            shown: without_userinfo(text),
            problem: problem.to_owned(),
        };
        if text.is_empty() || text.len() > LONGEST {
            return Err(bad("it is empty or too long"));
        }
        if text.starts_with('-')
            || text.contains(|sign: char| sign.is_whitespace() || sign.is_control())
        {
            return Err(bad("it contains blanks, or begins with '-'"));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::of_ssh(text, &bad);
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let is_secret = match scheme {
            "ssh" => user.is_some_and(|user| user.contains(':')),
            // A name alone may be a token there.
            _ => user.is_some(),
        };
        if is_secret {
            return Err(RepositoryError::Secret {
                shown: without_userinfo(text),
            });
        }
        match scheme {
            "https" | "ssh" if !is_host(host) => Err(bad("it names no host")),
            "https" | "ssh" if path.is_empty() => Err(bad("it names no repository")),
            "https" | "ssh" => Ok(Self(text.to_owned())),
            "file" if authority.is_empty() && !path.is_empty() => Ok(Self(text.to_owned())),
            "file" => Err(bad("a path on this machine is written file:///PATH")),
            _ => Err(bad("only https, ssh and file are used")),
        }
    }

    /// `USER@HOST:PATH`.
    fn of_ssh(text: &str, bad: &dyn Fn(&str) -> RepositoryError) -> Result<Self, RepositoryError> {
        let parts = text
            .split_once(':')
            .and_then(|(who, path)| Some((who.split_once('@')?, path)));
        match parts {
            Some(((user, host), path))
                if is_host(host)
                    && !host.contains(':')
                    && is_host(user)
                    && !path.is_empty()
                    && !path.starts_with([':', '-']) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(bad(
                "it is none of https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH and \
                 file:///PATH",
            )),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A host, perhaps with a port, that no program takes for an option.
fn is_host(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "-._:[]".contains(sign))
}

/// The address with stars for whatever stands before the host.
fn without_userinfo(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => authority.to_owned(),
    };
    let colon = if scheme.is_empty() { "" } else { "://" };
    crate::shown(&format!("{scheme}{colon}{host}{path}"), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_git_reaches_without_a_program_are_taken() {
        for good in [
            "https://example.org/team/site.git",
            "https://example.org:8443/site",
            "ssh://git@example.org:2222/srv/site.git",
            "git@example.org:team/site.git",
            "file:///srv/site.git",
        ] {
            assert_eq!(RepositoryAddress::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "/srv/site",
            "ext::sh -c id",
            "ext::sh",
            "fd::7",
            "http://example.org/site",
            "git://example.org/site",
            "-oProxyCommand=x",
            "ssh://-oProxyCommand=x/site",
            "https://example.org",
            "file://other/srv",
            "a b@c:d",
            "git@example.org:",
            "git@-x:site",
        ] {
            assert!(RepositoryAddress::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_secret_is_refused_and_not_repeated() {
        for secret in [
            "https://me:hunter2@example.org/site",
            "https://hunter2@example.org/site",
            "ssh://me:hunter2@example.org/site",
        ] {
            let error = RepositoryAddress::parse(secret).unwrap_err();
            assert!(matches!(error, RepositoryError::Secret { .. }), "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
