//! Making sure that a home has its directories, with the modes and owner the user wants.
//!
//! Runs at the start of most commands, so when all is well it costs one check per directory and
//! changes nothing. A missing named profile is never created here: a process that outlived its
//! profile must not bring it back.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hermes_config::{Environment, vars};
use rustix::fs::{Access, access};

use crate::location::{follow, is_below_profiles};
use crate::soul::SOUL_SEED;
use crate::{HomeKind, Location, Managed, SystemFacts, is_container};

/// Directories of every home, parents first.
const SUBDIRECTORIES: &[&str] = &[
    "cron",
    "sessions",
    "logs",
    "logs/curator",
    "memories",
    "pairing",
    "hooks",
    "image_cache",
    "audio_cache",
    "skills",
];

/// Mode of directories unless the user says otherwise.
const PRIVATE: u32 = 0o700;

/// Told to the system as owner or group, this leaves it as it is.
const KEEP_ID: u32 = u32::MAX;

/// Modes and owner of what is created in a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomePolicy {
    pub new_dir_mode: u32,
    /// Whether directories that exist with another mode are set to it.
    pub set_dir_modes: bool,
    /// Whether files with secrets are set to 0600 when they are rewritten.
    pub tighten_files: bool,
    /// Owner and group of what root creates.
    pub owner: Option<(u32, u32)>,
    pub managed: Option<Managed>,
}

impl HomePolicy {
    /// Reads the policy from the environment and the system.
    pub fn resolve(env: &Environment, system: &SystemFacts, home: &Path) -> Self {
        let managed = Managed::detect(env, home);
        let in_container = is_container(env, system);
        let wanted = env.text(&vars::HERMES_HOME_MODE);
        let new_dir_mode = match (&managed, wanted) {
            (Some(_), _) => 0o770,
            (None, Some(text)) => parse_mode(text).unwrap_or(PRIVATE),
            (None, None) => PRIVATE,
        };
        Self {
            new_dir_mode,
            set_dir_modes: managed.is_none() && (wanted.is_some() || !in_container),
            tighten_files: managed.is_none()
                && !in_container
                && !env.is_set(&vars::HERMES_SKIP_CHMOD)
                && !env.is_set(&vars::HERMES_CONTAINER),
            owner: owner(env, system),
            managed,
        }
    }

    /// Mode of a new file.
    fn new_file_mode(&self) -> u32 {
        if self.managed.is_some() { 0o660 } else { 0o600 }
    }

    /// Gives what root created to the owner the user named.
    pub(crate) fn hand_over(&self, path: &Path) -> hermes_fs::Result<()> {
        self.owner
            .map_or(Ok(()), |(uid, gid)| hermes_fs::chown(path, uid, gid))
    }

    /// [`Self::hand_over`] for a tree; links are handed over, not followed.
    pub fn hand_over_tree(&self, path: &Path) -> hermes_fs::Result<()> {
        if self.owner.is_none() {
            return Ok(());
        }
        hermes_fs::walk(path, &mut |_, entry| {
            self.hand_over(&entry?.path).map(|()| true)
        })?;
        self.hand_over(path)
    }
}

/// A home that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnsureError {
    #[error("the profile directory {} does not exist", home.display())]
    MissingProfile { home: PathBuf, name: Option<String> },
    #[error("{} does not exist and is managed by {}", home.display(), managed.name())]
    MissingManaged { home: PathBuf, managed: Managed },
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("{} belongs to user {owner} and cannot be written by user {uid}", path.display())]
    Foreign { path: PathBuf, owner: u32, uid: u32 },
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl EnsureError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingProfile { name, .. } => Some(match name {
                Some(name) => format!("create it with: hermes profile create {name}"),
                None => "create it, or set HERMES_HOME to a directory that exists".to_owned(),
            }),
            Self::MissingManaged { managed, .. } => Some(managed.settings_advice()),
            Self::NotADirectory { path } => Some(format!(
                "move {} away, or set HERMES_HOME to another directory",
                path.display()
            )),
            Self::Foreign { owner, .. } => Some(format!(
                "run the command as user {owner}, or set HERMES_HOME to a directory of your own"
            )),
            Self::File(error) => error.hint(),
        }
    }
}

/// Refuses a home that is something else than a directory. One that does not exist yet is fine.
pub fn refuse_non_directory(location: &Location) -> Result<(), EnsureError> {
    match hermes_fs::metadata(&location.home) {
        Ok(meta) if !meta.is_dir() => Err(not_a_directory(&location.home)),
        // What else may be wrong is told by whoever needs it to be right.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Creates what is missing in the home in use and corrects modes.
pub fn ensure_home(
    location: &Location,
    policy: &HomePolicy,
    system: &SystemFacts,
) -> Result<(), EnsureError> {
    let home = &location.home;
    if hermes_fs::metadata(home).is_err_and(|error| error.is_not_found()) {
        refuse_to_create(location, policy)?;
    }
    let check = HomeCheck { policy, system };
    check.ensure_directory(home)?;
    check.refuse_foreign(home)?;
    for subdirectory in SUBDIRECTORIES {
        check.ensure_directory(&home.join(subdirectory))?;
    }
    check.seed(&home.join("SOUL.md"), SOUL_SEED)
}

fn refuse_to_create(location: &Location, policy: &HomePolicy) -> Result<(), EnsureError> {
    let home = location.home.clone();
    let name = match &location.kind {
        HomeKind::Named(name) => Some(name.to_string()),
        HomeKind::Custom if is_below_profiles(&home) => None,
        HomeKind::Custom | HomeKind::Default => {
            return match &policy.managed {
                Some(managed) => Err(EnsureError::MissingManaged {
                    home,
                    managed: managed.clone(),
                }),
                None => Ok(()),
            };
        }
    };
    Err(EnsureError::MissingProfile { home, name })
}

struct HomeCheck<'a> {
    policy: &'a HomePolicy,
    system: &'a SystemFacts,
}

impl HomeCheck<'_> {
    fn ensure_directory(&self, path: &Path) -> Result<(), EnsureError> {
        let meta = match hermes_fs::metadata(path) {
            Ok(meta) if meta.is_dir() => meta,
            Ok(_) => return Err(not_a_directory(path)),
            Err(error) if error.is_not_found() => return self.create(path),
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotADirectory) => {
                return Err(not_a_directory(path.parent().unwrap_or(path)));
            }
            Err(error) => return Err(error.into()),
        };
        let wanted = self.policy.new_dir_mode;
        let mode = meta.permissions().mode() & 0o7777;
        if !self.policy.set_dir_modes || mode == wanted || is_short(path) {
            return Ok(());
        }
        match hermes_fs::set_mode(path, wanted) {
            // A directory of someone else's is fine as long as it is shared with us.
            Err(error) if is_refusal(&error) && meta.uid() != self.system.uid => {
                if access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
                    return Ok(());
                }
                Err(self.foreign(path, meta.uid()))
            }
            other => Ok(other?),
        }
    }

    /// Says whose a home is that denies us writing, instead of what could not be done in it.
    fn refuse_foreign(&self, home: &Path) -> Result<(), EnsureError> {
        if access(home, Access::WRITE_OK | Access::EXEC_OK) != Err(rustix::io::Errno::ACCESS) {
            return Ok(());
        }
        let owner = hermes_fs::metadata(home)?.uid();
        if owner == self.system.uid {
            return Ok(());
        }
        Err(self.foreign(home, owner))
    }

    fn foreign(&self, path: &Path, owner: u32) -> EnsureError {
        EnsureError::Foreign {
            path: path.to_owned(),
            owner,
            uid: self.system.uid,
        }
    }

    fn create(&self, path: &Path) -> Result<(), EnsureError> {
        let parent = path.parent().unwrap_or(path);
        // A shared directory passes its group on to what is created in it.
        let inherited = hermes_fs::metadata(parent).map_or(0, |meta| meta.mode() & 0o2000);
        let mode = match self.policy.managed {
            Some(_) => self.policy.new_dir_mode | inherited,
            None => self.policy.new_dir_mode,
        };
        match hermes_fs::create_dir_all(path, mode) {
            Ok(()) => Ok(self.policy.hand_over(path)?),
            Err(error) if is_refusal(&error) => match hermes_fs::metadata(parent) {
                Ok(meta) if meta.uid() != self.system.uid => Err(self.foreign(parent, meta.uid())),
                _ => Err(error.into()),
            },
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotADirectory) => {
                Err(not_a_directory(parent))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn seed(&self, path: &Path, text: &str) -> Result<(), EnsureError> {
        if hermes_fs::exists_no_follow(path) {
            return Ok(());
        }
        hermes_fs::write_atomic(path, text.as_bytes(), self.policy.new_file_mode())?;
        Ok(self.policy.hand_over(path)?)
    }
}

fn not_a_directory(path: &Path) -> EnsureError {
    EnsureError::NotADirectory {
        path: path.to_owned(),
    }
}

fn is_refusal(error: &hermes_fs::Error) -> bool {
    matches!(
        error.io_kind(),
        Some(std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
    )
}

/// `/`, `/usr`, `/tmp`: nobody's private home, whatever a variable says.
fn is_short(path: &Path) -> bool {
    follow(path).components().count() < 3
}

/// Octal text. A mode that locks the owner out is no mode for a home.
fn parse_mode(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777 && mode & 0o700 == 0o700)
}

fn owner(env: &Environment, system: &SystemFacts) -> Option<(u32, u32)> {
    let id = |var| env.text(var).and_then(|text| text.parse::<u32>().ok());
    let (uid, gid) = (id(&vars::HERMES_UID), id(&vars::HERMES_GID));
    if system.uid != 0 || (uid.is_none() && gid.is_none()) {
        return None;
    }
    Some((uid.unwrap_or(KEEP_ID), gid.unwrap_or(KEEP_ID)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_near_the_top_are_nobodys_home() {
        for short in ["/", "/usr", "/tmp", "/usr/../tmp", "/proc/self/root/tmp"] {
            assert!(is_short(Path::new(short)), "{short}");
        }
        for home in ["/opt/data", "/root/.hermes"] {
            assert!(!is_short(Path::new(home)), "{home}");
        }
    }
}
