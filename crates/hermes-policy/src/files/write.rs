//! Where the file tools may not write.
//!
//! A path is checked as written and with every link in it followed, down to a leaf that does not
//! exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hermes_fs::without_dots;

use crate::private_places::{
    Access, PrivatePlace, entries_of_hermes_home, entries_of_home, in_hermes_home, in_home,
    on_machine,
};

/// What belongs to one profile and is changed by another only on purpose.
const PROFILE_DIRECTORIES: &[&str] = &["skills", "plugins", "cron", "memories"];
/// Links followed in one path.
const MAX_LINKS: usize = 40;

/// What the guard has to know.
#[derive(Debug, Clone)]
pub struct WriteContext {
    pub real_home: PathBuf,
    /// HOME of children, which may be the profile's.
    pub child_home: PathBuf,
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
    #[error(
        "writing to {} is not allowed: it {what}. Ask the user to make this change; do not reach the \
         file another way",
        path.display()
    )]
    Protected {
        path: PathBuf,
        /// What it is, after "it".
        what: &'static str,
    },
    /// Not inside the directories that may be written to.
    #[error(
        "writing to {} is not allowed: it is outside HERMES_WRITE_SAFE_ROOT ({roots})",
        path.display()
    )]
    OutsideSafeRoot { path: PathBuf, roots: String },
    /// It belongs to another profile.
    #[error(
        "{} belongs to the profile '{profile}', not to the active one. Pass cross_profile: true if \
         the user asked for exactly this",
        path.display()
    )]
    OtherProfile { path: PathBuf, profile: String },
    /// Links lead in a circle.
    #[error("{} cannot be resolved: too many symbolic links", path.display())]
    TooManyLinks { path: PathBuf },
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
    // Not of the lexical path: behind a link, `..` leads to another directory.
    let resolved = resolve(&joined)?;
    let check = WriteCheck {
        context,
        follow: resolve,
    };
    check.check(&without_dots(&joined), &resolved)?;
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
    let check = WriteCheck {
        context,
        follow: |path| Ok(without_dots(path)),
    };
    check.check(&without_dots(written), &without_dots(real))
}

/// The rules, and how links of the machine they are for are followed.
struct WriteCheck<'a> {
    context: &'a WriteContext,
    follow: fn(&Path) -> Result<PathBuf, WriteRefusal>,
}

impl WriteCheck<'_> {
    fn check(&self, written: &Path, resolved: &Path) -> Result<(), WriteRefusal> {
        let context = self.context;
        for candidate in [written, resolved] {
            if let Some(place) = self.protected(candidate)? {
                return Err(WriteRefusal::Protected {
                    path: candidate.to_owned(),
                    what: place.description(),
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

    fn protected(&self, path: &Path) -> Result<Option<PrivatePlace>, WriteRefusal> {
        let refused = |place: &PrivatePlace| place.refuses(Access::Write);
        if let Some(place) = on_machine(path).filter(refused) {
            return Ok(Some(place));
        }
        let context = self.context;
        let real_homes = self.both(&[&context.real_home])?;
        let working_there =
            is_inside(path, &context.cwd) || is_inside(path, &(self.follow)(&context.cwd)?);
        for home in self.both(&[&context.real_home, &context.child_home])? {
            let found = self.place_below(&home, path, in_home, entries_of_home())?;
            // Work may be about these, and the home of children is the agent's own.
            let is_free = |place: &PrivatePlace| {
                *place == PrivatePlace::ShellStartup
                    && (working_there || !real_homes.contains(&home))
            };
            if let Some(place) = found.filter(|place| refused(place) && !is_free(place)) {
                return Ok(Some(place));
            }
        }
        let mut hermes = self.both(&[&context.hermes_home, &context.hermes_root])?;
        for profiles in self.both(&[&context.hermes_root.join("profiles")])? {
            let inside = below(path, &profiles);
            let name = inside.as_ref().and_then(|rest| rest.components().next());
            hermes.extend(name.map(|name| profiles.join(name)));
        }
        for home in hermes {
            let found = self.place_below(&home, path, in_hermes_home, entries_of_hermes_home())?;
            if let Some(place) = found.filter(refused) {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The private place of a home that a path belongs to, also if the place is a link to it.
    fn place_below(
        &self,
        home: &Path,
        path: &Path,
        by_name: fn(&Path) -> Option<PrivatePlace>,
        entries: impl Iterator<Item = (&'static str, PrivatePlace)>,
    ) -> Result<Option<PrivatePlace>, WriteRefusal> {
        if let Some(place) = below(path, home).and_then(|rest| by_name(&rest)) {
            return Ok(Some(place));
        }
        for (entry, place) in entries {
            let entry = home.join(entry);
            let target = (self.follow)(&entry)?;
            if target != entry && is_inside(path, &target) {
                return Ok(Some(place));
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
            let in_profile = below(path, &root.join("profiles"));
            let (home, name) = match in_profile
                .as_ref()
                .and_then(|rest| rest.components().next())
            {
                Some(name) => (
                    root.join("profiles").join(name),
                    name.as_os_str().to_string_lossy().into_owned(),
                ),
                None => (root, "default".to_owned()),
            };
            for directory in PROFILE_DIRECTORIES {
                let directory = home.join(directory);
                if is_inside(path, &directory) || is_inside(path, &(self.follow)(&directory)?) {
                    return Ok(Some(name));
                }
            }
        }
        Ok(None)
    }

    /// Each directory as written and with its links followed.
    fn both(&self, paths: &[&PathBuf]) -> Result<Vec<PathBuf>, WriteRefusal> {
        let mut found = Vec::new();
        for path in paths {
            for form in [without_dots(path), (self.follow)(path)?] {
                // An empty home would make every relative path one of its own.
                if form.is_absolute() && form != Path::new("/") && !found.contains(&form) {
                    found.push(form);
                }
            }
        }
        Ok(found)
    }
}

/// Whether a path is a directory or inside it, by whole components.
fn is_inside(path: &Path, directory: &Path) -> bool {
    below(path, directory).is_some()
}

/// The part of a path below a directory.
fn below(path: &Path, directory: &Path) -> Option<PathBuf> {
    // Names that differ in case only are one file on the usual disk of a Mac.
    if cfg!(target_os = "macos") {
        let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
        let relative = lower(path).strip_prefix(lower(directory)).ok()?.to_owned();
        return Some(relative);
    }
    path.strip_prefix(directory).ok().map(Path::to_owned)
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
#[path = "write_tests.rs"]
mod tests;
