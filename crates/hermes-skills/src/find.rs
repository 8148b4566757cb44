//! Finding a skill by name: in the profile's `skills/`, then in further directories, then among those
//! that are part of the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hermes_home::each_skill_below;

use crate::bundled;
use crate::catalog::SkillRoot;
use crate::head::{SkillHead, split};
use crate::offer::is_for_this_system;
use crate::plugin::{PluginMatch, PluginSkills};

/// Largest `SKILL.md`.
const MAX_BYTES: u64 = 1024 * 1024;

/// A skill that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub name: String,
    pub head: SkillHead,
    /// What it tells the agent, without its declarations.
    pub body: String,
    /// Where its files are; `None` for one that is only part of the program.
    pub place: Option<SkillPlace>,
}

/// Where the files of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPlace {
    /// On this machine.
    pub directory: PathBuf,
    /// Below the root that holds it.
    pub relative: PathBuf,
    /// Below `~/.hermes` of a container or another machine; `None` if it is not there.
    pub remote: Option<PathBuf>,
    /// Whether it is the profile's own.
    pub is_own: bool,
}

/// Why a skill cannot be had.
#[derive(Debug)]
pub enum Absence {
    Unknown,
    Disabled,
    OtherPlatform,
    /// Directories of the same name.
    Several(Vec<PathBuf>),
    /// A path instead of a name.
    UnsafeName,
    /// It comes with this plugin, which is not enabled.
    PluginOff(String),
    /// The plugin has other skills.
    NotInPlugin {
        plugin: String,
        skills: Vec<String>,
    },
    Unreadable(hermes_fs::Error),
}

/// Where skills are looked for, and which are switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// The profile's own first.
    pub roots: Vec<SkillRoot>,
    pub disabled: BTreeSet<String>,
    pub plugins: PluginSkills,
}

impl Skills {
    /// The skill of this name: that of its directory, perhaps with the category before it, or the
    /// name that it declares.
    pub fn find(&self, name: &str) -> Result<Skill, Absence> {
        let name = name.trim();
        match self.plugins.find(name) {
            None => {}
            Some(PluginMatch::Found { root, directory }) => {
                return self.of_plugin(name, root, &directory);
            }
            Some(PluginMatch::Off(plugin)) => return Err(Absence::PluginOff(plugin)),
            Some(PluginMatch::Other { plugin, skills }) => {
                return Err(Absence::NotInPlugin { plugin, skills });
            }
        }
        // `category:name` is another way to write `category/name`.
        let name = name.replace(':', "/");
        if name.is_empty() {
            return Err(Absence::Unknown);
        }
        let wanted = hermes_fs::confined_relative(&name).map_err(|_| Absence::UnsafeName)?;
        if self.disabled.contains(&name) {
            return Err(Absence::Disabled);
        }
        for root in &self.roots {
            let mut directories = directories_of(&name, &wanted, &root.directory);
            match (directories.pop(), directories.is_empty()) {
                (None, _) => {}
                (Some(one), false) => {
                    directories.push(one);
                    directories.sort();
                    return Err(Absence::Several(directories));
                }
                (Some(directory), true) => return self.usable(&directory, root),
            }
        }
        let text = bundled::text_of(&name).ok_or(Absence::Unknown)?;
        let (head, body) = split(text);
        Ok(Skill {
            name,
            body: body.trim().to_owned(),
            head,
            place: None,
        })
    }

    /// A skill of a plugin, under the name that says so.
    fn of_plugin(&self, name: &str, root: PathBuf, directory: &Path) -> Result<Skill, Absence> {
        if self.disabled.contains(name) {
            return Err(Absence::Disabled);
        }
        let root = SkillRoot {
            directory: root,
            remote: None,
            is_own: false,
        };
        let mut skill = self.usable(directory, &root)?;
        name.clone_into(&mut skill.name);
        Ok(skill)
    }

    fn usable(&self, directory: &Path, root: &SkillRoot) -> Result<Skill, Absence> {
        let skill = read(directory, root).map_err(Absence::Unreadable)?;
        if !is_for_this_system(&skill.head) {
            return Err(Absence::OtherPlatform);
        }
        if self.disabled.contains(&skill.name) {
            return Err(Absence::Disabled);
        }
        Ok(skill)
    }
}

/// Skills below a directory that are called this: by the end of their path, or else by the name
/// that they declare.
fn directories_of(name: &str, wanted: &Path, root: &Path) -> Vec<PathBuf> {
    let mut by_path = Vec::new();
    let mut others = Vec::new();
    each_skill_below(root, &mut |directory| {
        let relative = directory.strip_prefix(root).unwrap_or(directory);
        if relative == wanted {
            // The whole path leaves no doubt.
            by_path = vec![directory.to_owned()];
            return false;
        }
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
            text.is_some_and(|text| split(&text).0.name().as_deref() == Some(name))
        };
        others.retain(declared);
        return others;
    }
    by_path
}

fn read(directory: &Path, root: &SkillRoot) -> hermes_fs::Result<Skill> {
    let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), MAX_BYTES)?;
    let (head, body) = split(&text);
    let relative = directory.strip_prefix(&root.directory).unwrap_or(directory);
    let own_name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(Skill {
        name: head.name().unwrap_or_else(|| own_name.into_owned()),
        body: body.trim().to_owned(),
        head,
        place: Some(SkillPlace {
            directory: directory.to_owned(),
            relative: relative.to_owned(),
            remote: root.remote.as_ref().map(|root| root.join(relative)),
            is_own: root.is_own,
        }),
    })
}
