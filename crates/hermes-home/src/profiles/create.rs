//! Creating a profile: built out of sight, published whole.

use std::path::{Path, PathBuf};

use hermes_fs::Staging;

use crate::error::StepError;
use crate::profiles::meta::write_description;
use crate::profiles::{clone, existing, sweep};
use crate::soul::{ENV_SEED, SOUL_SEED};
use crate::{Error, HomePolicy, Location, ProfileName, Result};

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

/// Creates a profile and returns its location. `prepare` works on the finished directory before it
/// is published: migrates settings, syncs skills.
pub fn create(
    location: &Location,
    request: &CreateRequest,
    policy: &HomePolicy,
    prepare: &dyn Fn(&Path) -> std::result::Result<(), StepError>,
) -> Result<Location> {
    if request.name.is_default() {
        return Err(Error::DefaultProfile { action: "created" });
    }
    build(location, &request.name, policy, |staged| {
        fill(staged, location, request)?;
        prepare(staged).map_err(|source| Error::Step {
            action: "prepare the profile in",
            path: location.profile_home(&request.name),
            source,
        })
    })
}

/// Builds a profile out of sight and gives it its name. After a failure or a crash there is nothing.
pub(crate) fn build(
    location: &Location,
    name: &ProfileName,
    policy: &HomePolicy,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<Location> {
    let profile = location.for_profile(name);
    let taken = || Error::Exists {
        name: name.clone(),
        path: profile.home.clone(),
    };
    if hermes_fs::exists_no_follow(&profile.home) {
        return Err(taken());
    }
    sweep(location);
    let profiles = location.profiles_dir();
    hermes_fs::create_dir_all(&profiles, 0o700)?;
    let staging = Staging::begin(&profiles, name.as_str())?;
    fill(staging.path())?;
    policy.hand_over_tree(staging.path())?;
    match staging.publish(&profile.home) {
        Err(hermes_fs::Error::AlreadyExists { .. }) => Err(taken()),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(profile),
    }
}

fn fill(staged: &Path, location: &Location, request: &CreateRequest) -> Result<()> {
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
                    clone::everything(source, staged, location)?;
                }
            }
        }
    }
    write_seeds(staged)?;
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

/// Writes the files every profile starts with, where it has none.
pub(crate) fn write_seeds(staged: &Path) -> Result<()> {
    seed(&staged.join("SOUL.md"), SOUL_SEED)?;
    seed(&staged.join(".env"), ENV_SEED)
}

/// Writes a file with 0600 unless something of that name is there.
pub(crate) fn seed(path: &Path, text: &str) -> Result<()> {
    if !hermes_fs::exists_no_follow(path) {
        hermes_fs::write_atomic(path, text.as_bytes(), 0o600)?;
    }
    Ok(())
}
