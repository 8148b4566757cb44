//! Creating, changing and deleting skills.

use std::path::{Path, PathBuf};

use hermes_fs::Staging;

use crate::error::{Error, Result};
use crate::files::{DIRECTORIES, inside, shown};
use crate::find::{Absence, SkillPlace, Skills};
use crate::guard::{Trust, scan_directory};
use crate::head::split;
use crate::name::{check_category, check_name};

/// Longest `SKILL.md`.
const MAX_CHARS: usize = 100_000;
/// Largest other file.
const MAX_FILE_BYTES: usize = 1024 * 1024;
/// Longest description.
const MAX_DESCRIPTION: usize = 1_024;

/// Changes the skills of a profile.
#[derive(Debug)]
pub struct SkillEditor<'a> {
    pub skills: &'a Skills,
    /// Whether what an agent writes is scanned first (`skills.guard_agent_created`).
    pub is_guarded: bool,
}

/// Refuses a text that cannot be a `SKILL.md`.
pub fn check_text(text: &str) -> Result<()> {
    let count = text.chars().count();
    if count > MAX_CHARS {
        return Err(Error::refused_with(
            format!(
                "SKILL.md would have {} characters, and at most {} are allowed.",
                hermes_text::with_separators(count),
                hermes_text::with_separators(MAX_CHARS)
            ),
            "move parts of it to files in references/ or templates/",
        ));
    }
    let (head, body) = split(text);
    let problem = if let Some(problem) = &head.problem {
        problem.clone()
    } else if head.name().is_none() {
        "it must begin with a line ---, then `name:` and `description:`, then another line ---"
            .to_owned()
    } else if head.description().is_empty() {
        "it declares no description".to_owned()
    } else if head.description().chars().count() >= MAX_DESCRIPTION {
        format!("its description has {MAX_DESCRIPTION} characters or more")
    } else if body.trim().is_empty() {
        "it has no text after the declarations".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::refused(format!(
        "This cannot be a SKILL.md: {problem}."
    )))
}

impl SkillEditor<'_> {
    /// Makes a skill; gives its directory.
    pub fn create(&self, name: &str, category: Option<&str>, text: &str) -> Result<PathBuf> {
        check_name(name).map_err(Error::refused)?;
        if let Some(category) = category {
            check_category(category).map_err(Error::refused)?;
        }
        check_text(text)?;
        match self.skills.find(name) {
            Err(Absence::Unknown) => {}
            Ok(found) => {
                let place = found
                    .place
                    .map(|place| place.directory.display().to_string());
                let place = place.unwrap_or_else(|| "the program".to_owned());
                return Err(Error::refused(format!(
                    "There is a skill '{name}' already, in {place}."
                )));
            }
            Err(_) => {
                return Err(Error::refused(format!(
                    "There is a skill '{name}' already."
                )));
            }
        }
        let root = self.own_root()?;
        let parent = match category {
            Some(category) => root.join(category),
            None => root.to_owned(),
        };
        hermes_fs::create_dir_all(&parent, 0o700)?;
        let staging = Staging::begin(&parent, name)?;
        hermes_fs::write_atomic(&staging.path().join("SKILL.md"), text.as_bytes(), 0o600)?;
        self.guard(staging.path(), name)?;
        let directory = parent.join(name);
        staging.publish(&directory)?;
        Ok(directory)
    }

    /// Replaces the `SKILL.md` or a file of a skill; gives the file. Text that the scan objects to
    /// leaves everything as it was.
    pub fn write(&self, name: &str, path: Option<&str>, text: &str) -> Result<PathBuf> {
        let place = self.existing(name)?;
        let file = match path {
            None | Some("SKILL.md") => {
                check_text(text)?;
                place.directory.join("SKILL.md")
            }
            Some(path) => {
                check_support_path(path)?;
                if text.len() > MAX_FILE_BYTES {
                    return Err(Error::refused(format!(
                        "{} would have {} bytes, and at most 1 MiB is allowed.",
                        shown(path),
                        hermes_text::with_separators(text.len())
                    )));
                }
                inside(&place.directory, path)?
            }
        };
        if self.is_guarded {
            self.guard_text(name, &file, text)?;
        }
        if let Some(parent) = file.parent() {
            hermes_fs::create_dir_all(parent, 0o700)?;
        }
        hermes_fs::write_atomic(&file, text.as_bytes(), 0o600)?;
        Ok(file)
    }

    /// Deletes a file of a skill.
    pub fn remove_file(&self, name: &str, path: &str) -> Result<()> {
        let place = self.existing(name)?;
        check_support_path(path)?;
        let file = inside(&place.directory, path)?;
        if !hermes_fs::remove_file_if_present(&file)? {
            return Err(Error::refused(format!(
                "The skill '{name}' has no file '{}'.",
                shown(path)
            )));
        }
        Ok(())
    }

    /// Deletes a skill of the profile.
    pub fn delete(&self, name: &str) -> Result<()> {
        let place = self.existing(name)?;
        if !place.is_own {
            return Err(Error::refused(format!(
                "The skill '{name}' is in {}, which does not belong to this profile, so it is not \
                 deleted.",
                place.directory.display()
            )));
        }
        // A link is removed, not what it leads to.
        if hermes_fs::symlink_metadata(&place.directory)?.is_symlink() {
            hermes_fs::remove_file(&place.directory)?;
            return Ok(());
        }
        hermes_fs::remove_tree(&place.directory)?;
        Ok(())
    }

    /// The present text of a file, for changing a part of it.
    pub fn current_text(&self, name: &str, path: Option<&str>) -> Result<String> {
        let place = self.existing(name)?;
        let file = match path {
            None | Some("SKILL.md") => place.directory.join("SKILL.md"),
            Some(path) => {
                check_support_path(path)?;
                inside(&place.directory, path)?
            }
        };
        Ok(hermes_fs::read_text_capped(&file, MAX_FILE_BYTES as u64)?)
    }

    fn own_root(&self) -> Result<&Path> {
        let root = self.skills.roots.iter().find(|root| root.is_own);
        root.map(|root| root.directory.as_path())
            .ok_or_else(|| Error::refused("This profile has no place for skills."))
    }

    fn existing(&self, name: &str) -> Result<SkillPlace> {
        match self.skills.find(name) {
            Ok(found) => found.place.ok_or_else(|| {
                Error::refused(format!(
                    "'{}' is part of the program and cannot be changed; create one with another name.",
                    shown(name)
                ))
            }),
            Err(absence) => Err(Error::refused(absence.reason(name))),
        }
    }

    fn guard(&self, directory: &Path, name: &str) -> Result<()> {
        if !self.is_guarded {
            return Ok(());
        }
        let report = scan_directory(directory, name, Trust::AgentCreated)?;
        if report.is_dangerous() {
            return Err(Error::refused(format!(
                "The scan of the skill objects to it: {}",
                report.summary()
            )));
        }
        Ok(())
    }

    /// Scans a text as the file it is about to become.
    fn guard_text(&self, name: &str, file: &Path, text: &str) -> Result<()> {
        let temporary = Staging::begin(self.own_root()?, "scan")?;
        let file_name = file.file_name().unwrap_or_default();
        hermes_fs::write_atomic(&temporary.path().join(file_name), text.as_bytes(), 0o600)?;
        self.guard(temporary.path(), name)
    }
}

impl Absence {
    /// The reason as a sentence.
    pub fn reason(&self, name: &str) -> String {
        let name = shown(name);
        match self {
            Self::Unknown => format!("There is no skill '{name}'."),
            Self::Disabled => format!("The skill '{name}' is switched off by skills.disabled."),
            Self::OtherPlatform => {
                format!("The skill '{name}' is not for this system, as its `platforms` says.")
            }
            Self::UnsafeName => format!("'{name}' is not a name of a skill."),
            Self::PluginOff(plugin) => format!(
                "The skill '{name}' comes with the plugin {plugin}, which is not in plugins.enabled."
            ),
            Self::NotInPlugin { plugin, skills } => {
                format!(
                    "The plugin {plugin} has no such skill; it has {}.",
                    skills.join(", ")
                )
            }
            Self::Several(paths) => {
                let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
                format!(
                    "There are several skills '{name}': {}. Write the category before the name.",
                    paths.join(", ")
                )
            }
            Self::Unreadable(error) => format!("The skill '{name}' cannot be read: {error}."),
        }
    }
}

/// Refuses a path that is not that of a file in one of the four directories.
fn check_support_path(path: &str) -> Result<()> {
    let refused = |reason: &str| Err(Error::refused(format!("'{}' {reason}", shown(path))));
    let Ok(relative) = hermes_fs::confined_relative(path) else {
        return refused("leads out of the skill: give a path inside of it.");
    };
    let mut parts = relative.components();
    let first = parts
        .next()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    if !first.is_some_and(|first| DIRECTORIES.contains(&first.as_str())) {
        return refused("must be in references/, templates/, scripts/ or assets/.");
    }
    if parts.next().is_none() {
        return refused("is a directory; give the path of a file in it.");
    }
    Ok(())
}
