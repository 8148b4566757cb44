//! The skills of a home: how many there are, and whether one is there.

use std::path::Path;

use hermes_fs::Kind;

/// Categories nest a few levels; deeper trees are somebody's data.
const MAX_DEPTH: usize = 6;
/// Entries looked at before we settle for what was found.
const MAX_ENTRIES: usize = 50_000;
/// Directories that hold code a skill brought along, not skills.
const NOT_SKILLS: &[&str] = &["node_modules", "venv", "site-packages", "__pycache__"];

/// Number of directories below `skills/` that hold a `SKILL.md`. What lies below a skill belongs to
/// it; hidden directories such as `.archive` do not count.
pub fn count_skills(home: &Path) -> usize {
    let mut found = 0;
    each_skill(home, &mut |_| {
        found += 1;
        true
    });
    found
}

/// Whether a home has a skill in a directory of this name.
pub fn has_skill(home: &Path, name: &str) -> bool {
    let mut found = false;
    each_skill(home, &mut |skill| {
        found = skill.file_name().is_some_and(|skill| skill == name);
        !found
    });
    found
}

/// Hands over the directories of a home's skills until `take` says that it has enough.
pub fn each_skill(home: &Path, take: &mut dyn FnMut(&Path) -> bool) {
    each_skill_below(&home.join("skills"), take);
}

/// The same for skills that are not in a home.
pub fn each_skill_below(directory: &Path, take: &mut dyn FnMut(&Path) -> bool) {
    let mut looked_at = 0;
    // The walk ends early once there is enough; that is no failure.
    let _: Result<(), ()> = hermes_fs::walk(directory, &mut |relative, entry| {
        // Missing or unreadable: there is nothing to find.
        let Ok(entry) = entry else { return Ok(false) };
        looked_at += 1;
        if looked_at >= MAX_ENTRIES {
            return Err(());
        }
        let name = entry.name.to_string_lossy();
        let is_dir = match entry.kind {
            Kind::Dir => true,
            // A skill linked in from elsewhere counts; the tree behind the link is not searched.
            Kind::Symlink => entry.path.is_dir(),
            Kind::File | Kind::Special => false,
        };
        if !is_dir || name.starts_with('.') || NOT_SKILLS.contains(&name.as_ref()) {
            return Ok(false);
        }
        if entry.path.join("SKILL.md").is_file() {
            return if take(&entry.path) {
                Ok(false)
            } else {
                Err(())
            };
        }
        Ok(relative.components().count() < MAX_DEPTH)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_are_found_by_the_name_of_their_directory() {
        let home = tempfile::tempdir().unwrap();
        for skill in [
            "skills/review",
            "skills/writing/humanizer",
            "skills/.archive/old",
        ] {
            let directory = home.path().join(skill);
            hermes_fs::create_dir_all(&directory, 0o700).unwrap();
            hermes_fs::write_atomic(&directory.join("SKILL.md"), b"x", 0o600).unwrap();
        }
        assert_eq!(count_skills(home.path()), 2);
        assert!(has_skill(home.path(), "review") && has_skill(home.path(), "humanizer"));
        for other in ["writing", "old", "", "human"] {
            assert!(!has_skill(home.path(), other), "{other:?}");
        }
    }
}
