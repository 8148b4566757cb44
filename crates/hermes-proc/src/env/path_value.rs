//! `PATH` and its relatives: lists of directories without references to an own install.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::own_install::OwnInstall;
use super::policy::EnvPolicy;
use crate::find_on_path;

/// Where programs are on every system we know; appended when missing.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

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

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tier4 {
    Untouched,
    Cut(OsString),
    Gone,
}

/// Applies tier 4 to a variable other than `PATH`.
pub(super) fn tier4(name: &str, value: &OsStr, own: &OwnInstall) -> Tier4 {
    let is_list = LISTS.contains(&name) || (name.starts_with("DYLD_") && name.ends_with("_PATH"));
    if is_list {
        let mut kept = Vec::new();
        let mut dropped = false;
        for entry in entries(value) {
            if own.contains(Path::new(entry)) {
                dropped = true;
            } else {
                kept.push(entry);
            }
        }
        return if !dropped {
            Tier4::Untouched
        } else if kept.iter().all(|entry| entry.is_empty()) {
            Tier4::Gone
        } else {
            Tier4::Cut(joined(kept))
        };
    }
    if SINGLE.contains(&name) && own.contains(Path::new(value)) {
        return Tier4::Gone;
    }
    Tier4::Untouched
}

/// The search path of a child: no empty entries (they mean the current directory), no duplicates,
/// nothing of an own install, the system's directories, and a `hermes` that is the running one.
pub(super) fn search_path(value: Option<&OsStr>, policy: &EnvPolicy) -> OsString {
    let mut list: Vec<&OsStr> = Vec::new();
    let inherited = value.into_iter().flat_map(entries);
    let inherited = inherited
        .filter(|entry| !entry.is_empty() && !policy.own_install.contains(Path::new(entry)));
    let system = SYSTEM_DIRECTORIES.iter().map(OsStr::new);
    for entry in inherited.chain(system) {
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    let path = joined(list.iter().copied());
    if resolves_to_running(&path, policy) {
        return path;
    }
    let link_dir = policy.link_dir();
    let rest = list.into_iter().filter(|entry| *entry != link_dir);
    joined(std::iter::once(link_dir.as_os_str()).chain(rest))
}

fn resolves_to_running(path: &OsStr, policy: &EnvPolicy) -> bool {
    let real = |path: &Path| hermes_fs::canonicalize(path).ok();
    let found: Option<PathBuf> = find_on_path(OsStr::new("hermes"), Some(path));
    found.is_some_and(|found| real(&found).is_some_and(|f| Some(f) == real(&policy.hermes_program)))
}

/// The entries of a list; bytes that are not Unicode stay as they are.
fn entries(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    value
        .as_bytes()
        .split(|byte| *byte == b':')
        .map(OsStr::from_bytes)
}

fn joined<'e>(entries: impl IntoIterator<Item = &'e OsStr>) -> OsString {
    let entries: Vec<&[u8]> = entries.into_iter().map(OsStr::as_bytes).collect();
    OsString::from_vec(entries.join(&b':'))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use super::*;
    use crate::home::ChildHome;
    use pretty_assertions::assert_eq;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const SYSTEM: &str = "/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:\
                          /usr/sbin:/usr/bin:/sbin:/bin";

    fn policy(dir: &Path) -> EnvPolicy {
        let mut policy = EnvPolicy::new(
            dir.join("hh"),
            dir.join("apps/hermes"),
            ChildHome::default(),
        );
        policy.own_install = OwnInstall::of_roots([dir.join("own")]);
        policy
    }

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn shown(dir: &Path, value: Option<&str>) -> String {
        let value = value.map(|text| text.replace('@', dir.to_str().unwrap()));
        let path = search_path(value.as_deref().map(OsStr::new), &policy(dir));
        path.to_str().unwrap().replace(dir.to_str().unwrap(), "@")
    }

    #[test]
    fn empty_double_and_own_entries_go_and_the_link_leads() {
        let dir = tempfile::tempdir().unwrap();
        program(&dir.path().join("apps/hermes"));
        assert_eq!(
            shown(dir.path(), Some(":/a::/b:/a:@/own/bin:/usr/bin:rel:")),
            "@/hh/cache/bin:/a:/b:/usr/bin:rel:/opt/homebrew/bin:/opt/homebrew/sbin:\
             /usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
        );
        assert_eq!(shown(dir.path(), None), format!("@/hh/cache/bin:{SYSTEM}"));
        assert_eq!(
            shown(dir.path(), Some("/a:@/hh/cache/bin")),
            format!("@/hh/cache/bin:/a:{SYSTEM}"),
            "moved to the front, not added twice"
        );
    }

    #[test]
    fn a_path_that_finds_the_running_program_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        program(&dir.path().join("apps/hermes"));
        assert_eq!(
            shown(dir.path(), Some("/a:@/apps")),
            format!("/a:@/apps:{SYSTEM}")
        );
        fs::create_dir_all(dir.path().join("links")).unwrap();
        std::os::unix::fs::symlink(
            dir.path().join("apps/hermes"),
            dir.path().join("links/hermes"),
        )
        .unwrap();
        assert_eq!(
            shown(dir.path(), Some("@/links")),
            format!("@/links:{SYSTEM}")
        );
        program(&dir.path().join("other/hermes"));
        assert_eq!(
            shown(dir.path(), Some("@/other:@/apps")),
            format!("@/hh/cache/bin:@/other:@/apps:{SYSTEM}"),
            "another hermes comes first"
        );
    }

    #[test]
    fn lists_lose_entries_and_single_paths_go() {
        let own = OwnInstall::of_roots([PathBuf::from("/own")]);
        let cut = |name: &str, value: &str| tier4(name, OsStr::new(value), &own);
        assert_eq!(
            cut("PYTHONPATH", "/own/lib:/mine"),
            Tier4::Cut("/mine".into())
        );
        assert_eq!(cut("PYTHONPATH", "/own/lib:/own"), Tier4::Gone);
        assert_eq!(cut("PYTHONPATH", "/mine:"), Tier4::Untouched);
        assert_eq!(cut("DYLD_FALLBACK_LIBRARY_PATH", "/own"), Tier4::Gone);
        assert_eq!(cut("LD_LIBRARY_PATH", "/ownx"), Tier4::Untouched);
        assert_eq!(cut("UV_PYTHON", "/own/bin/python"), Tier4::Gone);
        assert_eq!(cut("UV_PYTHON", "3.12"), Tier4::Untouched);
        assert_eq!(cut("SSL_CERT_FILE", "/own/certifi/cacert.pem"), Tier4::Gone);
        assert_eq!(cut("EDITOR", "/own/bin/vi"), Tier4::Untouched);
        let bytes = OsStr::from_bytes(b"/own:/\xff");
        assert_eq!(
            tier4("NODE_PATH", bytes, &own),
            Tier4::Cut(OsStr::from_bytes(b"/\xff").to_owned())
        );
    }
}
