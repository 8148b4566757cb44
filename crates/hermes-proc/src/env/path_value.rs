//! Variables that hold paths: what tier 4 leaves of them. `PATH` itself is in `search_path`.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::own_install::OwnInstall;

/// Lists of directories that are removed when nothing is left.
const LISTS: &[&str] = &["PYTHONPATH", "LD_LIBRARY_PATH", "NODE_PATH"];

/// Single paths that are removed when they lie in an own install.
const SINGLE: &[&str] = &[
    "PIP_TARGET",
    "PIP_PREFIX",
    "UV_TARGET",
    "PYTHONUSERBASE",
    "PIP_PYTHON",
    "UV_PYTHON",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// What tier 4 leaves of the value of a variable other than `PATH`; `None` if that is nothing.
pub(super) fn tier4<'v>(name: &str, value: &'v OsStr, own: &OwnInstall) -> Option<Cow<'v, OsStr>> {
    let is_list = LISTS.contains(&name) || (name.starts_with("DYLD_") && name.ends_with("_PATH"));
    if is_list {
        let all: Vec<&OsStr> = entries(value).collect();
        let is_foreign = |entry: &&OsStr| !own.contains(Path::new(entry));
        let kept: Vec<&OsStr> = all.iter().copied().filter(is_foreign).collect();
        if kept.len() == all.len() {
            return Some(Cow::Borrowed(value));
        }
        let has_entries = kept.iter().any(|entry| !entry.is_empty());
        return has_entries.then(|| Cow::Owned(joined(kept)));
    }
    let is_ours = SINGLE.contains(&name) && own.contains(Path::new(value));
    (!is_ours).then_some(Cow::Borrowed(value))
}

/// The entries of a list; bytes that are not Unicode stay as they are.
pub(super) fn entries(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    value
        .as_bytes()
        .split(|byte| *byte == b':')
        .map(OsStr::from_bytes)
}

pub(super) fn joined<'e>(entries: impl IntoIterator<Item = &'e OsStr>) -> OsString {
    let entries: Vec<&[u8]> = entries.into_iter().map(OsStr::as_bytes).collect();
    OsString::from_vec(entries.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::path::PathBuf;

    #[test]
    fn lists_lose_entries_and_single_paths_go() {
        let own = OwnInstall::of_roots([PathBuf::from("/own")]);
        for (name, value, left) in [
            ("PYTHONPATH", "/own/lib:/mine", Some("/mine")),
            ("PYTHONPATH", "/own/lib:/own", None),
            ("PYTHONPATH", "/mine:", Some("/mine:")),
            ("DYLD_FALLBACK_LIBRARY_PATH", "/own", None),
            ("LD_LIBRARY_PATH", "/ownx", Some("/ownx")),
            ("UV_PYTHON", "/own/bin/python", None),
            ("UV_PYTHON", "3.12", Some("3.12")),
            ("SSL_CERT_FILE", "/own/certifi/cacert.pem", None),
            ("EDITOR", "/own/bin/vi", Some("/own/bin/vi")),
        ] {
            let found = tier4(name, OsStr::new(value), &own);
            assert_eq!(found.as_deref(), left.map(OsStr::new), "{name}={value}");
            // What is left whole is not copied: the receipt tells it from what was cut.
            let is_whole = matches!(found, Some(Cow::Borrowed(_)));
            assert_eq!(is_whole, left == Some(value), "{name}={value}");
        }
        let bytes = OsStr::from_bytes(b"/own:/\xff");
        let found = tier4("NODE_PATH", bytes, &own);
        assert_eq!(found.as_deref(), Some(OsStr::from_bytes(b"/\xff")));
    }
}
