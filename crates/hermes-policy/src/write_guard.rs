//! Where the file tools may not write.
//!
//! A path is judged as written and with every link in it followed, down to a leaf that does not
//! exist yet. Reading is not judged here.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Directories in a home that hold keys and credentials.
const HOME_DIRECTORIES: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
];
/// Files in a home that hold credentials.
const HOME_FILES: &[&str] = &[".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials"];
/// Start-up files of shells, protected in the real home unless work is going on there.
const SHELL_FILES: &[&str] = &[
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zprofile",
];
/// Files and directories of a Hermes home that only Hermes writes.
const HERMES_ENTRIES: &[&str] = &[
    ".env",
    ".anthropic_oauth.json",
    "auth.json",
    "config.yaml",
    "webhook_subscriptions.json",
    "mcp-tokens",
    "pairing",
    "state.db",
    "state.db-wal",
    "state.db-shm",
    "sessions",
];
/// What belongs to one profile and is changed by another only on purpose.
const PROFILE_DIRECTORIES: &[&str] = &["skills", "plugins", "cron", "memories"];
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/etc",
    "/boot",
    "/usr/lib/systemd",
    "/private/etc",
    "/private/var",
];
/// Directories for temporary files, which macOS keeps below `/private/var`.
const TEMPORARY: &[&str] = &["/private/var/folders", "/private/var/tmp"];

/// Links followed in one path.
const MAX_LINKS: usize = 40;

/// What the guard has to know.
#[derive(Debug, Clone)]
pub struct WriteContext {
    /// Home directory of the account.
    pub real_home: PathBuf,
    /// HOME of children, which may be the profile's.
    pub child_home: PathBuf,
    /// Home of the active profile.
    pub hermes_home: PathBuf,
    /// Home of all profiles.
    pub hermes_root: PathBuf,
    /// Working directory of the session; relative paths are meant from here.
    pub cwd: PathBuf,
    /// `HERMES_WRITE_SAFE_ROOT`; empty if unset.
    pub safe_roots: Vec<PathBuf>,
    /// The call says that it means another profile.
    pub cross_profile: bool,
}

/// A write that is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// It holds secrets or settings.
    #[error("writing to {} is not allowed: {what}", path.display())]
    Protected {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Not inside the directories that may be written to.
    #[error(
        "writing to {} is not allowed: it is outside HERMES_WRITE_SAFE_ROOT ({roots})",
        path.display()
    )]
    OutsideSafeRoot {
        /// The file.
        path: PathBuf,
        /// The directories.
        roots: String,
    },
    /// It belongs to another profile.
    #[error("{} belongs to the profile '{profile}', not to the active one", path.display())]
    OtherProfile {
        /// The file.
        path: PathBuf,
        /// Its profile.
        profile: String,
    },
    /// Links lead in a circle.
    #[error("{} cannot be resolved: too many symbolic links", path.display())]
    TooManyLinks {
        /// The path.
        path: PathBuf,
    },
}

impl WriteRefusal {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Protected { .. } => {
                "ask the user to make this change; do not reach the file another way".to_owned()
            }
            Self::OutsideSafeRoot { roots, .. } => format!("write below {roots}"),
            Self::OtherProfile { .. } => {
                "pass cross_profile: true if the user asked for exactly this".to_owned()
            }
            Self::TooManyLinks { .. } => return None,
        })
    }
}

/// The directories of `HERMES_WRITE_SAFE_ROOT`, joined by colons.
pub fn parse_safe_roots(value: &str) -> Vec<PathBuf> {
    value
        .split(':')
        .map(str::trim)
        .filter(|root| !root.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// Whether a file tool may write here; gives the path with all links followed.
pub fn check_write(context: &WriteContext, path: &Path) -> Result<PathBuf, WriteRefusal> {
    let joined = context.cwd.join(path);
    // Not of the tidied path: behind a link, `..` leads elsewhere.
    let resolved = resolve(&joined)?;
    let judge = Judge {
        context,
        follow: resolve,
    };
    judge.check(&lexical(&joined), &resolved)?;
    Ok(resolved)
}

/// Whether a file tool may write to a file of another machine: `written` is the path as the call means
/// it, `real` the same with all links followed, as that machine says. The paths of `context` are of
/// that machine too; nothing of this one is looked at.
pub fn check_write_by_text(
    context: &WriteContext,
    written: &Path,
    real: &Path,
) -> Result<(), WriteRefusal> {
    let judge = Judge {
        context,
        follow: |path| Ok(lexical(path)),
    };
    judge.check(&lexical(written), &lexical(real))
}

/// The rules, and how links of the machine they are for are followed.
struct Judge<'a> {
    context: &'a WriteContext,
    follow: fn(&Path) -> Result<PathBuf, WriteRefusal>,
}

impl Judge<'_> {
    fn check(&self, written: &Path, resolved: &Path) -> Result<(), WriteRefusal> {
        let context = self.context;
        for candidate in [written, resolved] {
            if let Some(what) = self.protected(candidate)? {
                return Err(WriteRefusal::Protected {
                    path: candidate.to_owned(),
                    what,
                });
            }
        }
        if !context.safe_roots.is_empty() {
            let mut inside = false;
            for root in &context.safe_roots {
                inside |= is_inside(resolved, &(self.follow)(&context.cwd.join(root))?);
            }
            if !inside {
                let roots: Vec<String> = context
                    .safe_roots
                    .iter()
                    .map(|root| root.display().to_string())
                    .collect();
                return Err(WriteRefusal::OutsideSafeRoot {
                    path: resolved.to_owned(),
                    roots: roots.join(":"),
                });
            }
        }
        if !context.cross_profile {
            for candidate in [written, resolved] {
                if let Some(profile) = self.other_profile(candidate)? {
                    return Err(WriteRefusal::OtherProfile {
                        path: candidate.to_owned(),
                        profile,
                    });
                }
            }
        }
        Ok(())
    }

    fn protected(&self, path: &Path) -> Result<Option<&'static str>, WriteRefusal> {
        if path.file_name().is_some_and(|name| name == "docker.sock") {
            return Ok(Some("it is the socket of a container engine"));
        }
        let inside = |roots: &[&str]| roots.iter().any(|root| is_inside(path, Path::new(root)));
        if inside(SYSTEM_DIRECTORIES) && !inside(TEMPORARY) {
            return Ok(Some("it is part of the system's settings"));
        }
        for home in self.both(&[&self.context.real_home, &self.context.child_home])? {
            if self.contains(&home, HOME_DIRECTORIES, path)?
                || self.contains(&home, HOME_FILES, path)?
            {
                return Ok(Some("it holds keys or credentials"));
            }
        }
        for home in self.both(&[&self.context.real_home])? {
            let working_there = is_inside(path, &self.context.cwd)
                || is_inside(path, &(self.follow)(&self.context.cwd)?);
            if !working_there && self.contains(&home, SHELL_FILES, path)? {
                return Ok(Some("it is a start-up file of the user's shell"));
            }
        }
        let mut hermes = self.both(&[&self.context.hermes_home, &self.context.hermes_root])?;
        for profiles in self.both(&[&self.context.hermes_root.join("profiles")])? {
            hermes.extend(below(path, &profiles).map(|name| profiles.join(name)));
        }
        for home in hermes {
            if self.contains(&home, HERMES_ENTRIES, path)? {
                return Ok(Some("only Hermes itself and the user write it"));
            }
        }
        Ok(None)
    }

    /// The profile a path belongs to, if it is one of the guarded directories of another profile.
    fn other_profile(&self, path: &Path) -> Result<Option<String>, WriteRefusal> {
        for own in self.both(&[&self.context.hermes_home])? {
            let profiles = own.join("profiles");
            if is_inside(path, &own) && !is_inside(path, &profiles) {
                return Ok(None);
            }
        }
        for root in self.both(&[&self.context.hermes_root])? {
            let profiles = root.join("profiles");
            if let Some(name) = below(path, &profiles) {
                let home = profiles.join(&name);
                if self.contains(&home, PROFILE_DIRECTORIES, path)? {
                    return Ok(Some(name.to_string_lossy().into_owned()));
                }
            } else if self.contains(&root, PROFILE_DIRECTORIES, path)? {
                return Ok(Some("default".to_owned()));
            }
        }
        Ok(None)
    }

    /// Each directory as written and with its links followed.
    fn both(&self, paths: &[&PathBuf]) -> Result<Vec<PathBuf>, WriteRefusal> {
        let mut found = Vec::new();
        for path in paths {
            for form in [lexical(path), (self.follow)(path)?] {
                // An empty home would make every relative path one of its own.
                if form.is_absolute() && form != Path::new("/") && !found.contains(&form) {
                    found.push(form);
                }
            }
        }
        Ok(found)
    }

    /// Whether a path is one of these entries of a directory or below one, be the entry a link.
    fn contains(
        &self,
        directory: &Path,
        entries: &[&str],
        path: &Path,
    ) -> Result<bool, WriteRefusal> {
        for entry in entries {
            let entry = directory.join(entry);
            if is_inside(path, &entry) {
                return Ok(true);
            }
            let target = (self.follow)(&entry)?;
            if target != entry && is_inside(path, &target) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a path is a directory or inside it, by whole components.
fn is_inside(path: &Path, directory: &Path) -> bool {
    // Names that differ in case only are one file on the usual disk of a Mac.
    if cfg!(target_os = "macos") {
        let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
        return lower(path).starts_with(lower(directory));
    }
    path.starts_with(directory)
}

/// The first component of a path below a directory.
fn below(path: &Path, directory: &Path) -> Option<OsString> {
    let rest = path.strip_prefix(directory).ok()?;
    Some(rest.components().next()?.as_os_str().to_owned())
}

/// Dots resolved by text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Every link followed, as the kernel would; what does not exist stays as written.
fn resolve(path: &Path) -> Result<PathBuf, WriteRefusal> {
    let too_many = || WriteRefusal::TooManyLinks {
        path: path.to_owned(),
    };
    let parts = |path: &Path| -> VecDeque<OsString> {
        path.components()
            .map(|part| part.as_os_str().to_owned())
            .collect()
    };
    let mut rest = parts(path);
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match hermes_fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(too_many());
                }
                let mut target = parts(&target);
                target.extend(rest);
                rest = target;
            }
            // Not a link, or not there.
            Err(_) => done = next,
        }
    }
    Ok(done)
}

#[cfg(test)]
#[path = "write_guard_tests.rs"]
mod tests;
