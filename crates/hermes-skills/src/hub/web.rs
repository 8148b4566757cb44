//! Skills over HTTP: a `SKILL.md` with the files it refers to, and sites with an index of skills.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::fetched::{FetchTools, FetchedSkill, MAX_BYTES};
use super::identifier::WELL_KNOWN;
use crate::error::{Error, Result};
use crate::files::shown;
use crate::guard::Trust;

/// Largest single file.
const MAX_FILE: u64 = 1024 * 1024;
/// Files that one page may refer to.
const MAX_REFERENCES: usize = 50;

/// The skill of a page.
pub(super) fn fetch_page(address: &str, tools: &FetchTools) -> Result<FetchedSkill> {
    let text = get(address, tools)?;
    let page = String::from_utf8_lossy(&text).into_owned();
    let base = address.split('?').next().unwrap_or(address);
    let base = base.rsplit_once('/').map_or(base, |(base, _)| base);
    let place = base.rsplit('/').next().unwrap_or_default();
    let place = place.to_ascii_lowercase();
    let mut files = BTreeMap::from([(PathBuf::from("SKILL.md"), text)]);
    for path in references(&page)? {
        let bytes = get(&format!("{base}/{path}"), tools)?;
        files.insert(PathBuf::from(path), bytes);
    }
    check_total(&files)?;
    let mut skill = FetchedSkill::new(files, &place, "url", address.to_owned(), Trust::Community)?;
    skill.metadata = json!({"url": address});
    Ok(skill)
}

/// A skill of a site.
pub(super) fn fetch_well_known(base: &str, name: &str, tools: &FetchTools) -> Result<FetchedSkill> {
    let index = well_known_index(base, tools)?;
    let entry = index.iter().find(|entry| entry["name"] == name);
    let entry = entry
        .ok_or_else(|| Error::refused(format!("{} offers no skill '{name}'.", shown(base))))?;
    let listed = entry["files"].as_array().cloned().unwrap_or_default();
    let mut paths: BTreeSet<String> = BTreeSet::from(["SKILL.md".to_owned()]);
    for path in listed.iter().filter_map(Value::as_str).take(MAX_REFERENCES) {
        let path = hermes_fs::confined_relative(path).map_err(|_| {
            Error::refused(format!(
                "The skill has a file with the path '{}'.",
                shown(path)
            ))
        })?;
        paths.insert(path.to_string_lossy().into_owned());
    }
    let mut files = BTreeMap::new();
    for path in paths {
        let bytes = get(&format!("{base}/{name}/{path}"), tools)?;
        files.insert(PathBuf::from(path), bytes);
    }
    check_total(&files)?;
    let identifier = format!("well-known:{base}/{name}");
    let mut skill = FetchedSkill::new(files, name, "well-known", identifier, Trust::Community)?;
    skill.metadata = json!({
        "index_url": format!("{base}/index.json"),
        "base_url": base,
        "endpoint": format!("{base}/{name}"),
    });
    Ok(skill)
}

/// What a site offers. `site` is its address, that of its index, or the part in between.
pub(super) fn well_known_index(site: &str, tools: &FetchTools) -> Result<Vec<Value>> {
    let base = well_known_base(site);
    let bytes = get(&format!("{base}/index.json"), tools)?;
    let index: Value = serde_json::from_slice(&bytes).map_err(|_| Error::Source {
        message: format!("The index of {} is not JSON.", shown(&base)),
    })?;
    let skills = index["skills"].as_array().cloned().unwrap_or_default();
    Ok(skills.into_iter().take(10_000).collect())
}

/// The address below which the skills of a site are.
pub(super) fn well_known_base(site: &str) -> String {
    let site = site.trim_end_matches('/');
    let site = site.strip_suffix("/index.json").unwrap_or(site);
    match site.split_once(WELL_KNOWN) {
        Some((host, _)) => format!("{host}{WELL_KNOWN}"),
        None => format!("{site}{WELL_KNOWN}"),
    }
}

/// Files that a page refers to, in the directories that skills have for them.
fn references(page: &str) -> Result<BTreeSet<String>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:\(|`)((?:\./)?(?:references|templates|scripts|assets)/[A-Za-z0-9._/-]{1,200})(?:\)|`)").ok()
    });
    let mut found = BTreeSet::new();
    for reference in PATTERN
        .iter()
        .flat_map(|pattern| pattern.captures_iter(page))
    {
        let Some(path) = reference.get(1).map(|path| path.as_str()) else {
            continue;
        };
        let clean = hermes_fs::confined_relative(path)
            .map_err(|_| Error::refused(format!("The page refers to '{}'.", shown(path))))?;
        if !path.ends_with('/') && found.len() < MAX_REFERENCES {
            found.insert(clean.to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

fn check_total(files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let total: u64 = files.values().map(|bytes| bytes.len() as u64).sum();
    if total > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        return Err(Error::refused(format!(
            "The skill has more than {most} MiB."
        )));
    }
    Ok(())
}

fn get(address: &str, tools: &FetchTools) -> Result<Vec<u8>> {
    let fetched = tools.downloads.fetch(address, MAX_FILE);
    fetched
        .map(|file| file.bytes)
        .map_err(|reason| Error::Source {
            message: format!(
                "{} cannot be fetched. {reason}",
                super::git::without_password(address)
            ),
        })
}
