//! All skills of a profile: where they are, and what is known of each without reading it whole.

mod cache;

use std::path::{Path, PathBuf};

use hermes_home::each_skill_below;
use serde::{Deserialize, Serialize};

use self::cache::Cache;
use crate::head::{SkillHead, split};

/// Bytes of a `SKILL.md` that are read for the catalogue.
const MAX_BYTES: u64 = 1024 * 1024;
/// Most skills of a catalogue.
const MAX_SKILLS: usize = 5_000;

/// A directory with skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    pub directory: PathBuf,
    /// Where it is below `~/.hermes` of a container or another machine; `None` if it is not there.
    pub remote: Option<PathBuf>,
    /// Whether it is the profile's own; others belong to somebody else.
    pub is_own: bool,
}

/// What is known of a skill without reading it whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexedSkill {
    pub name: String,
    pub description: String,
    /// The directories between the root and the skill.
    pub category: Option<String>,
    #[serde(skip)]
    pub directory: PathBuf,
    #[serde(skip)]
    pub is_own: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) platforms: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) environments: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requires_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requires_toolsets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallback_for_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallback_for_toolsets: Vec<String>,
    /// Why it cannot be read, or not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The skills of some directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// By root, then by path; names may occur more than once.
    pub skills: Vec<IndexedSkill>,
    /// What categories say of themselves.
    pub categories: Vec<(String, String)>,
}

impl Catalog {
    /// Looks at the skills of these directories. `cache` is a file that keeps what was read, so that
    /// only what has changed is read again.
    pub fn load(roots: &[SkillRoot], cache: Option<&Path>) -> Self {
        let mut cache = cache.map(Cache::load).unwrap_or_default();
        let mut found = Self::default();
        for root in roots {
            let mut directories = Vec::new();
            each_skill_below(&root.directory, &mut |directory| {
                directories.push(directory.to_owned());
                directories.len() + found.skills.len() < MAX_SKILLS
            });
            directories.sort();
            for directory in directories {
                let file = directory.join("SKILL.md");
                let mut skill = cache.skill(&file, || read(&file, root));
                skill.directory = directory;
                skill.is_own = root.is_own;
                found.skills.push(skill);
            }
            found.add_categories(root, &mut cache);
        }
        cache.save();
        found
    }

    fn add_categories(&mut self, root: &SkillRoot, cache: &mut Cache) {
        let mut names: Vec<&String> = self
            .skills
            .iter()
            .filter_map(|s| s.category.as_ref())
            .collect();
        names.sort();
        names.dedup();
        for name in names {
            if self.categories.iter().any(|(known, _)| known == name) {
                continue;
            }
            let file = root.directory.join(name).join("DESCRIPTION.md");
            let text = cache.category(&file, || {
                let text = hermes_fs::read_text_capped(&file, MAX_BYTES).unwrap_or_default();
                split(&text).0.description()
            });
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.categories.push((name.clone(), text));
            }
        }
    }

    /// The skills without those that another of the same name hides.
    pub fn first_of_each_name(&self) -> Vec<&IndexedSkill> {
        let mut seen = std::collections::BTreeSet::new();
        let skills = self.skills.iter();
        skills.filter(|skill| seen.insert(&skill.name)).collect()
    }
}

fn read(file: &Path, root: &SkillRoot) -> IndexedSkill {
    let directory = file.parent().unwrap_or(file);
    let own_name = directory.file_name().unwrap_or_default().to_string_lossy();
    let relative = directory.strip_prefix(&root.directory).unwrap_or(directory);
    let category = relative.parent().and_then(Path::to_str);
    let category = category.filter(|text| !text.is_empty()).map(str::to_owned);
    let text = match hermes_fs::read_text_capped(file, MAX_BYTES) {
        Ok(text) => text,
        Err(error) => {
            return IndexedSkill {
                name: own_name.into_owned(),
                category,
                problem: Some(error.to_string()),
                ..IndexedSkill::default()
            };
        }
    };
    let (head, body) = split(&text);
    let description = match head.description() {
        text if text.is_empty() => first_line(body),
        text => text,
    };
    IndexedSkill {
        name: head.name().unwrap_or_else(|| own_name.into_owned()),
        description,
        category,
        problem: head.problem.clone(),
        ..conditions(&head)
    }
}

fn conditions(head: &SkillHead) -> IndexedSkill {
    IndexedSkill {
        platforms: head.texts("platforms"),
        environments: head.texts("environments"),
        requires_tools: head.hermes_texts("requires_tools"),
        requires_toolsets: head.hermes_texts("requires_toolsets"),
        fallback_for_tools: head.hermes_texts("fallback_for_tools"),
        fallback_for_toolsets: head.hermes_texts("fallback_for_toolsets"),
        ..IndexedSkill::default()
    }
}

/// The first line of a text that is no heading.
fn first_line(body: &str) -> String {
    let mut lines = body.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    hermes_text::cut(line.unwrap_or_default(), 200).to_owned()
}
