//! What can be installed: skills of the program, of the repositories that were added, and of a site.

use std::path::Path;
use std::time::{Duration, SystemTime};

use hermes_home::each_skill_below;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Hub;
use super::fetched::FetchTools;
use super::git::relative_to;
use super::identifier::{github_name, repository_address};
use super::taps::Tap;
use super::web::{well_known_base, well_known_index};
use crate::bundled::BUNDLED;
use crate::error::{Error, Result};
use crate::files::shown;
use crate::guard::Trust;
use crate::head::split;

/// How long the list of a repository is taken to be as it was.
const FRESH: Duration = Duration::from_hours(1);
/// Largest list that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Largest `SKILL.md` that is looked at.
const MAX_SKILL: u64 = 1024 * 1024;

/// A skill that can be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundSkill {
    pub name: String,
    pub description: String,
    pub source: String,
    pub identifier: String,
    pub trust_level: String,
}

impl FoundSkill {
    fn matches(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.name, self.description).to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

impl Hub {
    /// The skills whose name or description has all words of the query. A query that is an address
    /// asks that site. `source` is `official`, `github`, `git`, `well-known` or `all`. Sources that
    /// do not answer are in the second list, as sentences.
    pub fn search(
        &self,
        query: &str,
        source: &str,
        tools: &FetchTools,
    ) -> Result<(Vec<FoundSkill>, Vec<String>)> {
        if query.starts_with("http://") || query.starts_with("https://") {
            return Ok((site(query, tools)?, Vec::new()));
        }
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let (mut found, problems) = self.all(source, tools)?;
        found.retain(|skill| skill.matches(&words));
        Ok((found, problems))
    }

    /// The one skill of this name.
    pub(super) fn named(&self, name: &str, tools: &FetchTools) -> Result<FoundSkill> {
        let (found, problems) = self.all("all", tools)?;
        let mut found = found.into_iter().filter(|skill| skill.name == name);
        let first = found.next().ok_or_else(|| {
            let problems = if problems.is_empty() {
                String::new()
            } else {
                format!(" ({})", problems.join(" "))
            };
            Error::refused_with(
                format!("No source has a skill '{}'.{problems}", shown(name)),
                "`hermes skills tap add owner/repository` adds a source, `hermes skills search` \
                 lists what there is",
            )
        })?;
        match found.next() {
            None => Ok(first),
            Some(other) => Err(Error::refused_with(
                format!("Several sources have a skill '{}'.", shown(name)),
                format!("choose {} or {}", first.identifier, other.identifier),
            )),
        }
    }

    fn all(&self, source: &str, tools: &FetchTools) -> Result<(Vec<FoundSkill>, Vec<String>)> {
        let mut found = Vec::new();
        let mut problems = Vec::new();
        if matches!(source, "all" | "official") {
            found.extend(BUNDLED.iter().map(|skill| FoundSkill {
                name: skill.name.to_owned(),
                description: split(skill.text).0.description(),
                source: "official".to_owned(),
                identifier: format!("official/{}", skill.name),
                trust_level: Trust::Builtin.as_str().to_owned(),
            }));
        }
        if matches!(source, "all" | "github" | "git") {
            for tap in self.taps()? {
                match self.listed(&tap, tools) {
                    Ok(skills) => found.extend(skills),
                    Err(error) => problems.push(error.to_string()),
                }
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok((found, problems))
    }

    /// What a repository has, from the kept list while it is fresh.
    fn listed(&self, tap: &Tap, tools: &FetchTools) -> Result<Vec<FoundSkill>> {
        let address = repository_address(&tap.repo)?;
        let digest = hermes_fs::hex(&Sha256::digest(format!("{address} {}", tap.path)));
        let name: String = digest.chars().take(24).collect();
        let file = self
            .directory()
            .join("index-cache")
            .join(format!("tap-{name}.json"));
        if let Some(kept) = kept(&file) {
            return Ok(kept);
        }
        let clone = self.clone_repository(&address, &tools.git)?;
        let root = clone.path();
        let below = match hermes_fs::confined_relative(&tap.path) {
            Ok(path) if root.join(&path).is_dir() => root.join(path),
            _ => root.clone(),
        };
        let mut skills = Vec::new();
        let repository = github_name(&address);
        let trust = repository.map_or(Trust::Community, Trust::of_repository);
        each_skill_below(&below, &mut |directory| {
            let text = hermes_fs::read_text_capped(&directory.join("SKILL.md"), MAX_SKILL);
            let head = text.map(|text| split(&text).0).unwrap_or_default();
            let own = directory.file_name().unwrap_or_default().to_string_lossy();
            let path = relative_to(&root, directory);
            skills.push(FoundSkill {
                name: head.name().unwrap_or_else(|| own.into_owned()),
                description: head.description(),
                source: if repository.is_some() {
                    "github"
                } else {
                    "git"
                }
                .to_owned(),
                identifier: match repository {
                    Some(repository) => format!("{repository}/{path}"),
                    None => format!("{}#{path}", file_address(&address)),
                },
                trust_level: trust.as_str().to_owned(),
            });
            skills.len() < 10_000
        });
        let bytes = serde_json::to_vec(&skills).unwrap_or_default();
        hermes_fs::write_atomic(&file, &bytes, 0o600)?;
        Ok(skills)
    }
}

/// A path of this machine as an address, which can carry a fragment.
fn file_address(address: &str) -> String {
    if address.starts_with('/') {
        format!("file://{address}")
    } else {
        address.to_owned()
    }
}

fn kept(file: &Path) -> Option<Vec<FoundSkill>> {
    let written = hermes_fs::metadata(file).ok()?.modified().ok()?;
    let age = SystemTime::now().duration_since(written).ok()?;
    if age > FRESH {
        return None;
    }
    let bytes = hermes_fs::read_capped(file, MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn site(address: &str, tools: &FetchTools) -> Result<Vec<FoundSkill>> {
    let base = well_known_base(address);
    let entries = well_known_index(&base, tools)?;
    let found = entries.iter().filter_map(|entry| {
        let name = entry["name"].as_str()?;
        crate::name::check_name(name).ok()?;
        Some(FoundSkill {
            name: name.to_owned(),
            description: entry
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            source: "well-known".to_owned(),
            identifier: format!("well-known:{base}/{name}"),
            trust_level: Trust::Community.as_str().to_owned(),
        })
    });
    Ok(found.collect())
}
