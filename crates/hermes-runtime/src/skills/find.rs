//! Finding a skill by name: in the profile's `skills/`, then in the directories of
//! `skills.external_dirs`, then among the built-in ones.

use std::path::{Path, PathBuf};

use hermes_config::yaml::Document;
use hermes_home::each_skill_below;
use hermes_terminal::carried_files::CarriedRequest;
use serde_json::Value;

use super::{Skill, SkillFiles};
use crate::context::Context;
use crate::error::{Error, Result};

/// Largest `SKILL.md`.
const MAX_BYTES: u64 = 1024 * 1024;

/// Skills that are there without files, by name.
const BUILT_IN: &[(&str, &str)] = &[("sdlc-review", include_str!("sdlc_review.md"))];

/// Why a skill cannot be had.
enum Absence {
    Unknown,
    Disabled,
    OtherPlatform,
    /// Directories of the same name.
    Several(Vec<PathBuf>),
    Unreadable(hermes_fs::Error),
}

/// Whether there is a skill of this name, usable or not.
pub(crate) fn exists(name: &str, context: &Context) -> bool {
    !matches!(
        find(name.trim(), &roots(context), context),
        Err(Absence::Unknown)
    )
}

/// The names of all skills, sorted.
pub(crate) fn names(context: &Context) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    for root in roots(context) {
        each_skill_below(&root.directory, &mut |directory| {
            let name = directory.file_name().and_then(|name| name.to_str());
            names.extend(name.map(str::to_owned));
            true
        });
    }
    names.sort();
    names.dedup();
    names
}

/// A skill as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: Option<String>,
    /// The directory that it stands in with others of its kind.
    pub category: Option<String>,
}

/// The skills that can be used under these settings, sorted by name.
pub fn skill_summaries(context: &Context) -> Vec<SkillSummary> {
    let disabled = context.config().texts("skills.disabled");
    let mut found: Vec<SkillSummary> = Vec::new();
    for root in roots(context) {
        each_skill_below(&root.directory, &mut |directory| {
            let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), MAX_BYTES);
            let head = text.map(|text| split(&text).0).unwrap_or_default();
            if !is_for_this_system(&head) {
                return true;
            }
            let own_name = directory.file_name().unwrap_or_default().to_string_lossy();
            let relative = directory.strip_prefix(&root.directory).unwrap_or(directory);
            let category = relative.parent().and_then(Path::to_str);
            let description = head["description"].as_str().map(str::trim);
            found.push(SkillSummary {
                name: declared_name(&head).unwrap_or_else(|| own_name.into_owned()),
                description: description.map(str::to_owned),
                category: category
                    .filter(|category| !category.is_empty())
                    .map(str::to_owned),
            });
            true
        });
    }
    let built_in = BUILT_IN.iter().map(|(name, _)| SkillSummary {
        name: (*name).to_owned(),
        description: None,
        category: None,
    });
    found.extend(built_in);
    found.retain(|skill| !disabled.iter().any(|one| one.trim() == skill.name));
    found.sort_by(|one, other| one.name.cmp(&other.name));
    // The first of a name is the one that is loaded.
    found.dedup_by(|later, first| later.name == first.name);
    found
}

/// The skills of these names, each once. If one cannot be had, none is.
pub(crate) fn load(names: &[String], context: &Context) -> Result<Vec<Skill>> {
    let roots = roots(context);
    let mut found: Vec<Skill> = Vec::new();
    let mut missing: Vec<(&str, Absence)> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        match find(name, &roots, context) {
            Ok(skill) if found.contains(&skill) => {}
            Ok(skill) => found.push(skill),
            Err(_) if missing.iter().any(|(known, _)| *known == name) => {}
            Err(absence) => missing.push((name, absence)),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut reasons: Vec<String> = Vec::new();
    for (name, absence) in &missing {
        let reason = absence.reason(name, context);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Err(Error::user(
        format!("Unknown skill(s): {}", names.join(", ")),
        Some(&reasons.join("; ")),
    ))
}

impl Absence {
    fn reason(&self, name: &str, context: &Context) -> String {
        match self {
            Self::Unknown => format!(
                "a skill is a directory with a SKILL.md below {}",
                context.location.home.join("skills").display()
            ),
            Self::Disabled => format!("'{name}' is switched off by skills.disabled"),
            Self::OtherPlatform => {
                format!("'{name}' is not for this system, as its `platforms` says")
            }
            Self::Several(paths) => {
                let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
                format!(
                    "there are several skills '{name}': {}; write the category before the name",
                    paths.join(", ")
                )
            }
            Self::Unreadable(error) => error.to_string(),
        }
    }
}

/// A directory of skills, and where it is on a remote backend.
struct Root {
    directory: PathBuf,
    remote: PathBuf,
}

fn roots(context: &Context) -> Vec<Root> {
    let user_home = &context.location.user_home;
    let request = CarriedRequest::from_config(context.config(), user_home);
    let own = Root {
        directory: context.location.home.join("skills"),
        remote: PathBuf::from("skills"),
    };
    let external = request.external_skills.into_iter().enumerate();
    let external = external.map(|(position, directory)| Root {
        directory,
        remote: PathBuf::from("external_skills").join(position.to_string()),
    });
    std::iter::once(own).chain(external).collect()
}

fn find(name: &str, roots: &[Root], context: &Context) -> std::result::Result<Skill, Absence> {
    let disabled = context.config().texts("skills.disabled");
    let is_disabled = |name: &str| disabled.iter().any(|one| one.trim() == name);
    if is_disabled(name) {
        return Err(Absence::Disabled);
    }
    for root in roots {
        let mut directories = directories_of(name, &root.directory);
        match (directories.pop(), directories.is_empty()) {
            (None, _) => {}
            (Some(one), false) => {
                directories.push(one);
                return Err(Absence::Several(directories));
            }
            (Some(directory), true) => {
                let skill = read(&directory, root).map_err(Absence::Unreadable)?;
                let Some(skill) = skill else {
                    return Err(Absence::OtherPlatform);
                };
                return if is_disabled(&skill.name) {
                    Err(Absence::Disabled)
                } else {
                    Ok(skill)
                };
            }
        }
    }
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let (name, body) = built_in.ok_or(Absence::Unknown)?;
    Ok(Skill {
        name: (*name).to_owned(),
        body: (*body).trim().to_owned(),
        files: None,
    })
}

/// Skills below a directory that are called this: by the end of their path, or else by the name
/// that they declare.
fn directories_of(name: &str, root: &Path) -> Vec<PathBuf> {
    let wanted = Path::new(name);
    if name.is_empty() || hermes_fs::confined_relative(wanted).is_err() {
        return Vec::new();
    }
    let mut by_path = Vec::new();
    let mut others = Vec::new();
    each_skill_below(root, &mut |directory| {
        let relative = directory.strip_prefix(root).unwrap_or(directory);
        if relative.ends_with(wanted) {
            by_path.push(directory.to_owned());
        } else {
            others.push(directory.to_owned());
        }
        true
    });
    if by_path.is_empty() {
        let declared = |directory: &PathBuf| {
            let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), MAX_BYTES).ok();
            text.is_some_and(|text| declared_name(&split(&text).0).as_deref() == Some(name))
        };
        others.retain(declared);
        return others;
    }
    by_path
}

/// Reads a skill; `None` if it is for another system.
fn read(directory: &Path, root: &Root) -> hermes_fs::Result<Option<Skill>> {
    let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), MAX_BYTES)?;
    let (head, body) = split(&text);
    if !is_for_this_system(&head) {
        return Ok(None);
    }
    let relative = directory.strip_prefix(&root.directory).unwrap_or(directory);
    let own_name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(Skill {
        name: declared_name(&head).unwrap_or_else(|| own_name.into_owned()),
        body: body.trim().to_owned(),
        files: Some(SkillFiles {
            directory: directory.to_owned(),
            remote: root.remote.join(relative),
        }),
    }))
}

/// The declarations at the top of a skill, and the rest. A text without any is all body.
fn split(text: &str) -> (Value, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parts = text
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"));
    let Some((head, body)) = parts else {
        return (Value::Null, text);
    };
    let Ok(document) = Document::parse(head) else {
        return (Value::Null, text);
    };
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    (document.value().clone(), body)
}

fn declared_name(head: &Value) -> Option<String> {
    let name = head["name"].as_str()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn is_for_this_system(head: &Value) -> bool {
    let Value::Array(platforms) = &head["platforms"] else {
        return true;
    };
    let here = if cfg!(target_os = "macos") {
        "macos"
    } else {
        "linux"
    };
    let mut names = platforms.iter().filter_map(Value::as_str).peekable();
    names.peek().is_none() || names.any(|name| name.trim().eq_ignore_ascii_case(here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn declarations_end_where_the_text_begins() {
        let (head, body) = split("---\nname: a\nplatforms: [macos, Linux]\n---\nDo it.\n---\nx\n");
        assert_eq!(declared_name(&head).as_deref(), Some("a"));
        assert_eq!(body, "Do it.\n---\nx\n");
        assert!(is_for_this_system(&head));
        assert!(!is_for_this_system(
            &split("---\nplatforms: [beos]\n---\n").0
        ));
        // Broken declarations must not swallow the text.
        for whole in ["no head\n", "---\nname: [\n---\nx", "--- only"] {
            assert_eq!(split(whole), (Value::Null, whole));
        }
    }
}
