//! Directories that hold the running Hermes or an install of the Python reference, and which values
//! point into them.
//!
//! Paths are compared as written and resolved, so that a link into an install counts as inside.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the roots are found from.
#[derive(Debug, Clone, Copy)]
pub struct OwnInstallFacts<'a> {
    pub program: &'a Path,
    pub root: &'a Path,
    /// The account's home: an install that holds it is not a dedicated directory.
    pub real_home: &'a Path,
    /// The inherited `VIRTUAL_ENV`.
    pub virtual_env: Option<&'a OsStr>,
    /// `/`, or what stands for it in tests.
    pub file_system_root: &'a Path,
}

/// The roots of own installs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnInstall {
    roots: Vec<PathBuf>,
    /// Without any root on disk nothing can resolve into one, and no path needs to be looked at.
    any_exists: bool,
}

impl OwnInstall {
    /// Finds the roots of this installation.
    pub fn detect(facts: &OwnInstallFacts<'_>) -> Self {
        let agent = facts.root.join("hermes-agent");
        let opt = facts.file_system_root.join("opt/hermes");
        let mut roots = vec![
            agent.join("venv"),
            agent.join(".venv"),
            agent,
            opt.join(".venv"),
            opt,
            facts.root.join("lazy-packages"),
        ];
        roots.extend(dedicated_prefix(facts));
        let activated = facts.virtual_env.map(PathBuf::from);
        roots
            .extend(activated.filter(|dir| dir.is_absolute() && holds_reference_distribution(dir)));
        Self::of_roots(roots)
    }

    /// These roots, and what they resolve to.
    pub fn of_roots(written: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut roots = Vec::new();
        let mut any_exists = false;
        for root in written {
            // The file system's root as a root would strip everything.
            if root.parent().is_none() {
                continue;
            }
            if let Ok(resolved) = hermes_fs::canonicalize(&root) {
                any_exists = true;
                roots.push(resolved);
            }
            roots.push(root);
        }
        roots.sort();
        roots.dedup();
        Self { roots, any_exists }
    }

    /// The roots, as written and resolved.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Whether a path is a root or below one. A relative path is the child's own business.
    pub fn contains(&self, path: &Path) -> bool {
        if self.roots.is_empty() || !path.is_absolute() {
            return false;
        }
        let inside = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        let plain = hermes_fs::without_dots(path);
        // `..` means one thing to the kernel and another in words; both ways in count.
        inside(&plain)
            || (self.any_exists
                && (inside(&resolved(path)) || (plain != path && inside(&resolved(&plain)))))
    }
}

/// Whether an environment holds an installed `hermes_agent`, as package metadata tells.
pub fn holds_reference_distribution(environment: &Path) -> bool {
    ["lib", "lib64"].iter().any(|lib| {
        let versions = hermes_fs::read_dir(&environment.join(lib)).unwrap_or_default();
        versions
            .iter()
            .filter(|entry| entry.name.as_encoded_bytes().starts_with(b"python"))
            .any(|entry| {
                let packages = entry.path.join("site-packages");
                // Unreadable or absent: nothing is installed there for us either.
                let packages = hermes_fs::read_dir(&packages).unwrap_or_default();
                packages.iter().any(|entry| is_metadata(&entry.name))
            })
    })
}

fn is_metadata(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("hermes_agent-")
        && (name.ends_with(".dist-info") || name.ends_with(".egg-info"))
}

/// The prefix of the running executable, if nothing but Hermes lives there. `/usr/local/bin`, a
/// build directory, or a directory that holds the user's files is no install of ours.
fn dedicated_prefix(facts: &OwnInstallFacts<'_>) -> Option<PathBuf> {
    let program = hermes_fs::canonicalize(facts.program).unwrap_or(facts.program.to_owned());
    let directory = program.parent()?;
    let prefix = if directory.file_name() == Some(OsStr::new("bin")) {
        directory.parent()?
    } else {
        directory
    };
    let name = prefix.file_name()?.to_string_lossy().into_owned();
    let parent_name = || Some(prefix.parent()?.file_name()?.to_string_lossy().into_owned());
    let is_version = name.starts_with(|c: char| c.is_ascii_digit());
    let dedicated = is_hermes_name(&name)
        // As in `Cellar/hermes/0.1.0`.
        || (is_version && parent_name().is_some_and(|name| is_hermes_name(&name)))
        || prefix.starts_with("/nix/store");
    let holds = |inner: &Path| resolved(inner).starts_with(prefix) || inner.starts_with(prefix);
    (dedicated && !holds(facts.root) && !holds(facts.real_home)).then(|| prefix.to_owned())
}

fn is_hermes_name(name: &str) -> bool {
    name.strip_prefix("hermes")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '@']))
}

/// Links resolved as far as the path exists.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = hermes_fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => {
                    hermes_fs::without_dots(&real.join(rest))
                }
                _ => real,
            };
        }
    }
    path.to_owned()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use super::*;
    use std::fs;

    fn detect(dir: &Path, program: &str, virtual_env: Option<&str>) -> OwnInstall {
        let virtual_env = virtual_env.map(|name| dir.join(name).into_os_string());
        OwnInstall::detect(&OwnInstallFacts {
            program: &dir.join(program),
            root: &dir.join("home/u/.hermes"),
            real_home: &dir.join("home/u"),
            virtual_env: virtual_env.as_deref(),
            file_system_root: dir,
        })
    }

    #[test]
    fn only_a_dedicated_prefix_counts() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let counts = |program: &str| {
            let path = dir.join(program);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            detect(&dir, program, None).contains(&path)
        };
        for program in [
            "usr/lib/hermes/bin/hermes",
            "srv/hermes-0.3/hermes",
            "brew/Cellar/hermes/0.1.0/bin/hermes",
            "opt/hermes/bin/hermes",
        ] {
            assert!(counts(program), "{program}");
        }
        for program in [
            "usr/local/bin/hermes",
            "home/u/src/target/debug/hermes",
            "home/u/.cargo/bin/hermes",
            "home/u/.hermes/bin/hermes",
            "home/u/hermesx/bin/hermes",
        ] {
            assert!(!counts(program), "{program}");
        }
    }

    #[test]
    fn an_activated_environment_counts_if_it_holds_the_reference() {
        let dir = tempfile::tempdir().unwrap();
        let packages = dir.path().join("ours/lib/python3.11/site-packages");
        fs::create_dir_all(packages.join("hermes_agent-0.19.0.dist-info")).unwrap();
        fs::create_dir_all(
            dir.path()
                .join("theirs/lib/python3.11/site-packages/hermes_x"),
        )
        .unwrap();
        let own = detect(dir.path(), "x/hermes", Some("ours"));
        assert!(own.contains(&dir.path().join("ours/bin")));
        let own = detect(dir.path(), "x/hermes", Some("theirs"));
        assert!(!own.contains(&dir.path().join("theirs/bin")));
        assert!(!holds_reference_distribution(&dir.path().join("gone")));
    }

    #[test]
    fn links_into_an_install_and_detours_are_inside() {
        let dir = tempfile::tempdir().unwrap();
        let venv = dir.path().join("home/u/.hermes/hermes-agent/venv");
        fs::create_dir_all(venv.join("bin")).unwrap();
        std::os::unix::fs::symlink(&venv, dir.path().join("short")).unwrap();
        let own = detect(dir.path(), "x/hermes", None);
        for inside in ["short", "short/bin", "short/not/there", "x/../short/bin"] {
            assert!(own.contains(&dir.path().join(inside)), "{inside}");
        }
        assert!(
            own.contains(&dir.path().join("opt/hermes/.venv/bin")),
            "not on disk"
        );
        for outside in [
            "home/u/.hermes",
            "opt/hermesx",
            "home/u/.hermes/profiles/p/home",
        ] {
            assert!(!own.contains(&dir.path().join(outside)), "{outside}");
        }
        assert!(
            !own.contains(Path::new("home/u/.hermes/hermes-agent")),
            "relative"
        );
        assert!(
            OwnInstall::of_roots([PathBuf::from("/")])
                .roots()
                .is_empty()
        );
    }
}
