//! Copying the skills of the program into a home, and what became of the copies.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions, Staging};
use hermes_home::has_skill;

use super::manifest::{Manifest, hash_of};
use super::{BUNDLED, BundledSkill, named};
use crate::error::{Error, Result};
use crate::files::text_diff;

/// A home with this file gets no copies.
pub const OPT_OUT_MARK: &str = ".no-bundled-skills";
/// Says which skills were copied last, so that nothing is looked at while it is the same.
const STAMP: &str = ".bundled_version";
/// Largest copy that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundledState {
    /// As it was copied, and up to date.
    Unchanged,
    /// As it was copied, by an earlier version of the program.
    Stale,
    /// Changed by the user.
    Modified,
    /// Deleted by the user.
    Deleted,
    /// Never copied.
    Absent,
    /// There is another skill of this name.
    Other,
}

/// Copies the skills of the program where that has not been done yet for this version. Gives how
/// many were copied.
pub fn sync_if_needed(home: &Path) -> Result<usize> {
    let skills = home.join("skills");
    let stamp = hermes_fs::read_optional(&skills.join(STAMP), 1024)?;
    if stamp.as_deref() == Some(stamp_text().as_bytes()) || home.join(OPT_OUT_MARK).exists() {
        return Ok(0);
    }
    sync(home)
}

/// Copies what is missing and replaces what is stale. Changed and deleted copies stay as they are.
pub fn sync(home: &Path) -> Result<usize> {
    let skills = home.join("skills");
    hermes_fs::create_dir_all(&skills, 0o700)?;
    let _lock = lock(&skills)?;
    let mut manifest = Manifest::load(&skills)?;
    let mut missing = Vec::new();
    for skill in &BUNDLED {
        match state_in(skill, home, &manifest)? {
            BundledState::Absent | BundledState::Stale => missing.push(skill),
            BundledState::Unchanged => {}
            BundledState::Modified | BundledState::Deleted | BundledState::Other => continue,
        }
        // Also of those that are there: the reference drops lines that it does not know.
        manifest.set(skill.name, hash_of(skill.text.as_bytes()));
    }
    put_all(&missing, &skills)?;
    let copied = missing.len();
    manifest.save(&skills)?;
    hermes_fs::write_atomic(&skills.join(STAMP), stamp_text().as_bytes(), 0o600)?;
    Ok(copied)
}

/// What became of all copies.
pub fn states(home: &Path) -> Result<Vec<(&'static BundledSkill, BundledState)>> {
    let manifest = Manifest::load(&home.join("skills"))?;
    let all = BUNDLED.iter();
    all.map(|skill| Ok((skill, state_in(skill, home, &manifest)?)))
        .collect()
}

/// Forgets that a copy was changed or deleted; with `restore` the copy is made anew, and what was
/// there is kept beside it under the name that is returned.
pub fn reset(name: &str, home: &Path, restore: bool) -> Result<Option<PathBuf>> {
    let skill = known(name)?;
    let skills = home.join("skills");
    hermes_fs::create_dir_all(&skills, 0o700)?;
    let _lock = lock(&skills)?;
    let mut manifest = Manifest::load(&skills)?;
    if state_in(skill, home, &manifest)? == BundledState::Other {
        return Err(Error::refused(format!(
            "Another skill is called '{name}'; move it away first."
        )));
    }
    let directory = skills.join(skill.path);
    let mut kept = None;
    if restore {
        if directory.exists() {
            let archive = skills.join(".archive");
            hermes_fs::create_dir_all(&archive, 0o700)?;
            let seconds = jiff::Timestamp::now().as_second();
            let target = archive.join(format!("{name}-{seconds}"));
            hermes_fs::rename_exclusive(&directory, &target)?;
            kept = Some(target);
        }
        put(skill, &skills)?;
        manifest.set(name, hash_of(skill.text.as_bytes()));
    } else {
        let file = directory.join("SKILL.md");
        match hermes_fs::read_optional(&file, MAX_BYTES)? {
            // What is there counts as the copy from now on: the next version replaces it.
            Some(bytes) => manifest.set(name, hash_of(&bytes)),
            None => {
                manifest.remove(name);
            }
        }
        // The next start looks again.
        hermes_fs::remove_file_if_present(&skills.join(STAMP))?;
    }
    manifest.save(&skills)?;
    Ok(kept)
}

/// How the user's copy differs from the program's; `None` if it does not.
pub fn diff(name: &str, home: &Path) -> Result<Option<String>> {
    let skill = known(name)?;
    let file = home.join("skills").join(skill.path).join("SKILL.md");
    let text = match hermes_fs::read_text_capped(&file, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => {
            return Err(Error::refused(format!(
                "There is no copy of '{name}' in this profile."
            )));
        }
        Err(error) => return Err(error.into()),
    };
    if text == skill.text {
        return Ok(None);
    }
    let copy = format!("{}/SKILL.md", skill.path);
    let bundled = format!("bundled/{name}");
    Ok(Some(text_diff((&bundled, skill.text), (&copy, &text))))
}

/// Deletes the copies that were not changed. Gives their names.
pub fn remove_unchanged(home: &Path) -> Result<Vec<&'static str>> {
    let skills = home.join("skills");
    if !skills.is_dir() {
        return Ok(Vec::new());
    }
    let _lock = lock(&skills)?;
    let mut manifest = Manifest::load(&skills)?;
    let mut removed = Vec::new();
    for skill in &BUNDLED {
        let state = state_in(skill, home, &manifest)?;
        if matches!(state, BundledState::Unchanged | BundledState::Stale) {
            hermes_fs::remove_tree(&skills.join(skill.path))?;
            manifest.remove(skill.name);
            removed.push(skill.name);
        }
    }
    manifest.save(&skills)?;
    hermes_fs::remove_file_if_present(&skills.join(STAMP))?;
    Ok(removed)
}

fn known(name: &str) -> Result<&'static BundledSkill> {
    named(name).ok_or_else(|| {
        let names: Vec<&str> = BUNDLED.iter().map(|skill| skill.name).collect();
        Error::refused_with(
            format!("'{}' is not a bundled skill.", crate::files::shown(name)),
            format!("the bundled skills are {}", names.join(", ")),
        )
    })
}

fn state_in(skill: &BundledSkill, home: &Path, manifest: &Manifest) -> Result<BundledState> {
    let directory = home.join("skills").join(skill.path);
    let file = directory.join("SKILL.md");
    let recorded = manifest.get(skill.name);
    let Some(bytes) = hermes_fs::read_optional(&file, MAX_BYTES)? else {
        return Ok(match recorded {
            _ if has_skill(home, skill.name) => BundledState::Other,
            Some(_) => BundledState::Deleted,
            None => BundledState::Absent,
        });
    };
    let has_more = hermes_fs::read_dir(&directory)?.len() > 1;
    let hash = hash_of(&bytes);
    Ok(if bytes == skill.text.as_bytes() && !has_more {
        BundledState::Unchanged
    } else if recorded == Some(hash.as_str()) && !has_more {
        BundledState::Stale
    } else {
        BundledState::Modified
    })
}

/// Copies skills. Each copy waits for the disk, so they do it side by side: the first start of a
/// container waits for this.
fn put_all(wanted: &[&BundledSkill], skills: &Path) -> Result<()> {
    std::thread::scope(|scope| {
        let copies: Vec<_> = wanted
            .iter()
            .map(|skill| {
                let thread = std::thread::Builder::new().name("bundled-skill".to_owned());
                (*skill, thread.spawn_scoped(scope, || put(skill, skills)))
            })
            .collect();
        for (skill, copy) in copies {
            match copy {
                Ok(copy) => copy
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
                // No thread is to be had.
                Err(_) => put(skill, skills)?,
            }
        }
        Ok(())
    })
}

/// Puts a copy in place, whole or not at all.
fn put(skill: &BundledSkill, skills: &Path) -> Result<()> {
    let directory = skills.join(skill.path);
    if directory.exists() {
        let file = directory.join("SKILL.md");
        return Ok(hermes_fs::write_atomic(
            &file,
            skill.text.as_bytes(),
            0o600,
        )?);
    }
    let parent = directory.parent().unwrap_or(skills);
    hermes_fs::create_dir_all(parent, 0o700)?;
    let staging = Staging::begin(parent, skill.name)?;
    let file = staging.path().join("SKILL.md");
    hermes_fs::write_atomic(&file, skill.text.as_bytes(), 0o600)?;
    Ok(staging.publish(&directory)?)
}

fn lock(skills: &Path) -> Result<FileLock> {
    let path = skills.join(".bundled_manifest.lock");
    Ok(FileLock::acquire(
        &path,
        &LockOptions::new("the bundled skills"),
    )?)
}

fn stamp_text() -> String {
    let all: Vec<String> = BUNDLED
        .iter()
        .map(|skill| hash_of(skill.text.as_bytes()))
        .collect();
    hash_of(all.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use super::*;
    use pretty_assertions::assert_eq;

    fn read(home: &Path, path: &str) -> String {
        std::fs::read_to_string(home.join("skills").join(path)).unwrap()
    }

    fn state(name: &str, home: &Path) -> BundledState {
        let states = states(home).unwrap();
        states
            .into_iter()
            .find(|(skill, _)| skill.name == name)
            .unwrap()
            .1
    }

    #[test]
    fn copies_follow_the_program_unless_the_user_changed_them() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert_eq!(sync_if_needed(home).unwrap(), BUNDLED.len());
        assert_eq!(sync_if_needed(home).unwrap(), 0);
        let changed = home.join("skills/kanban/board-worker/SKILL.md");
        std::fs::write(&changed, "mine").unwrap();
        std::fs::remove_dir_all(home.join("skills/hermes")).unwrap();
        // A copy of an earlier version, and the line the reference has for a skill of its own.
        let old = "---\nname: change-review\n---\nOld.\n";
        std::fs::write(home.join("skills/development/change-review/SKILL.md"), old).unwrap();
        let mut manifest = Manifest::load(&home.join("skills")).unwrap();
        manifest.set("change-review", hash_of(old.as_bytes()));
        manifest.set("apple-notes", "0123".to_owned());
        manifest.save(&home.join("skills")).unwrap();
        assert_eq!(sync(home).unwrap(), 1);
        assert_eq!(read(home, "kanban/board-worker/SKILL.md"), "mine");
        assert!(!home.join("skills/hermes").exists());
        assert_eq!(
            read(home, "development/change-review/SKILL.md"),
            named("change-review").unwrap().text
        );
        assert!(read(home, ".bundled_manifest").contains("apple-notes:0123\n"));
        assert_eq!(state("board-worker", home), BundledState::Modified);
        assert_eq!(state("hermes-guide", home), BundledState::Deleted);
        assert!(
            diff("board-worker", home)
                .unwrap()
                .unwrap()
                .contains("+mine")
        );
        let kept = reset("board-worker", home, true).unwrap().unwrap();
        assert_eq!(
            std::fs::read_to_string(kept.join("SKILL.md")).unwrap(),
            "mine"
        );
        assert_eq!(diff("board-worker", home).unwrap(), None);
        reset("hermes-guide", home, false).unwrap();
        assert_eq!(sync_if_needed(home).unwrap(), 1);
        assert_eq!(remove_unchanged(home).unwrap().len(), BUNDLED.len());
    }

    #[test]
    fn skills_of_the_user_are_not_hidden_by_copies() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("skills/my/board-worker");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("SKILL.md"), "own").unwrap();
        sync(home.path()).unwrap();
        assert!(!home.path().join("skills/kanban/board-worker").exists());
        std::fs::write(home.path().join(OPT_OUT_MARK), "").unwrap();
        std::fs::remove_dir_all(home.path().join("skills")).unwrap();
        assert_eq!(sync_if_needed(home.path()).unwrap(), 0);
    }

    #[test]
    fn every_bundled_skill_is_valid() {
        for skill in &BUNDLED {
            crate::manage::check_text(skill.text).unwrap();
            let (head, _) = crate::head::split(skill.text);
            assert_eq!(head.name().as_deref(), Some(skill.name));
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("SKILL.md"), skill.text).unwrap();
            let trust = crate::guard::Trust::Community;
            let report = crate::guard::scan_directory(directory.path(), skill.name, trust).unwrap();
            assert_eq!(report.summary(), "", "{}", skill.name);
        }
    }
}
