//! Creating a profile: built out of sight, published whole.

use std::path::{Path, PathBuf};

use hermes_fs::Staging;

use crate::error::StepError;
use crate::profiles::meta::write_description;
use crate::profiles::{clone, existing, sweep};
use crate::{ENV_SEED, Error, HomePolicy, Location, ProfileName, Result, SOUL_SEED};

/// Directories of a new profile.
const DIRECTORIES: &[&str] = &[
    "memories",
    "sessions",
    "skills",
    "skins",
    "logs",
    "plans",
    "workspace",
    "cron",
    "home",
];

/// Tells whoever syncs bundled skills to leave a profile alone.
const NO_SKILLS_MARKER: &str = ".no-bundled-skills";
const NO_SKILLS_TEXT: &str = "\
This profile was created without the bundled skills.
Remove this file to get them with the next update.
";

/// How much of the source a clone takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloneDepth {
    /// Settings, secrets, persona, skills and curated memory.
    Settings,
    /// All but history, what belongs to the installation and what belongs to a running process.
    Everything,
}

/// What a new profile starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileContent {
    Fresh { bundled_skills: bool },
    Clone { source: PathBuf, depth: CloneDepth },
}

/// The options of `profile create` that decide on the content.
#[derive(Debug, Clone, Default)]
pub struct CreateFlags {
    pub clone: bool,
    pub clone_all: bool,
    pub clone_from: Option<ProfileName>,
    pub no_skills: bool,
}

impl ProfileContent {
    /// Combines the options. Without `--clone-from` a clone takes the home `current` (the one of
    /// the current profile); with it alone, `--clone` is implied.
    pub fn from_flags(flags: &CreateFlags, location: &Location, current: &Path) -> Result<Self> {
        let is_clone = flags.clone || flags.clone_all || flags.clone_from.is_some();
        if !is_clone {
            return Ok(Self::Fresh {
                bundled_skills: !flags.no_skills,
            });
        }
        if flags.no_skills {
            return Err(Error::SkillsOfClone);
        }
        let source = match &flags.clone_from {
            Some(name) => existing(location, name)?.home,
            None => current.to_owned(),
        };
        let depth = if flags.clone_all {
            CloneDepth::Everything
        } else {
            CloneDepth::Settings
        };
        Ok(Self::Clone { source, depth })
    }
}

/// A profile to create.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    pub name: ProfileName,
    pub content: ProfileContent,
    pub description: Option<String>,
}

/// What became of a file that looked like a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseCopy {
    Copied,
    /// It is an ordinary file, and nothing was written.
    NotADatabase,
}

/// Copies a database that may be in use to a path that does not exist yet.
pub type DatabaseCopier<'a> =
    &'a dyn Fn(&Path, &Path) -> std::result::Result<DatabaseCopy, StepError>;

/// Steps of a creation that need knowledge from elsewhere.
pub struct CreateSteps<'a> {
    pub copy_database: DatabaseCopier<'a>,
    /// Works on the finished directory before it is published: migrates settings, syncs skills.
    pub prepare: &'a dyn Fn(&Path) -> std::result::Result<(), StepError>,
}

/// Creates a profile and returns its location. After a failure or a crash there is nothing.
pub fn create(
    location: &Location,
    request: &CreateRequest,
    policy: &HomePolicy,
    steps: &CreateSteps<'_>,
) -> Result<Location> {
    let profile = location.for_profile(&request.name);
    if request.name.is_default() {
        return Err(Error::DefaultProfile { action: "created" });
    }
    let taken = || Error::Exists {
        name: request.name.clone(),
        path: profile.home.clone(),
    };
    if hermes_fs::exists_no_follow(&profile.home) {
        return Err(taken());
    }
    sweep(location);
    let profiles = location.profiles_dir();
    hermes_fs::create_dir_all(&profiles, 0o700)?;
    let staging = Staging::begin(&profiles, request.name.as_str())?;
    fill(staging.path(), location, request, steps)?;
    (steps.prepare)(staging.path()).map_err(|source| Error::Step {
        action: "prepare the profile in",
        path: profile.home.clone(),
        source,
    })?;
    policy.hand_over_tree(staging.path())?;
    match staging.publish(&profile.home) {
        Err(hermes_fs::Error::AlreadyExists { .. }) => Err(taken()),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(profile),
    }
}

fn fill(
    staged: &Path,
    location: &Location,
    request: &CreateRequest,
    steps: &CreateSteps<'_>,
) -> Result<()> {
    match &request.content {
        ProfileContent::Fresh { bundled_skills } => {
            create_directories(staged)?;
            if !bundled_skills {
                let marker = staged.join(NO_SKILLS_MARKER);
                hermes_fs::write_atomic(&marker, NO_SKILLS_TEXT.as_bytes(), 0o644)?;
            }
        }
        ProfileContent::Clone { source, depth } => {
            if !source.is_dir() {
                return Err(Error::MissingSource {
                    path: source.clone(),
                });
            }
            match depth {
                CloneDepth::Settings => {
                    create_directories(staged)?;
                    clone::settings(source, staged)?;
                }
                CloneDepth::Everything => {
                    clone::everything(source, staged, location, steps.copy_database)?;
                }
            }
        }
    }
    seed(&staged.join("SOUL.md"), SOUL_SEED)?;
    seed(&staged.join(".env"), ENV_SEED)?;
    match &request.description {
        Some(text) if !text.trim().is_empty() => write_description(staged, text, false),
        _ => Ok(()),
    }
}

/// Creates the directories a new profile has.
pub(crate) fn create_directories(staged: &Path) -> Result<()> {
    for name in DIRECTORIES {
        let directory = staged.join(name);
        if !directory.is_dir() {
            hermes_fs::create_dir(&directory, 0o700)?;
        }
    }
    Ok(())
}

/// Writes a file with 0600 unless something of that name is there.
pub(crate) fn seed(path: &Path, text: &str) -> Result<()> {
    if !hermes_fs::exists_no_follow(path) {
        hermes_fs::write_atomic(path, text.as_bytes(), 0o600)?;
    }
    Ok(())
}
