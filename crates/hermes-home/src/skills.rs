//! Counting the skills of a home.

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
    let mut budget = MAX_ENTRIES;
    count_below(&home.join("skills"), MAX_DEPTH, &mut budget)
}

fn count_below(directory: &Path, depth: usize, budget: &mut usize) -> usize {
    // Missing or unreadable: there is nothing to count.
    let entries = hermes_fs::read_dir(directory).unwrap_or_default();
    let mut found = 0;
    for entry in entries {
        *budget = budget.saturating_sub(1);
        if *budget == 0 || depth == 0 {
            return found;
        }
        let name = entry.name.to_string_lossy();
        let is_dir = match entry.kind {
            Kind::Dir => true,
            // A skill linked in from elsewhere counts; the tree behind the link is not searched.
            Kind::Symlink => entry.path.is_dir(),
            Kind::File | Kind::Special => false,
        };
        if !is_dir || name.starts_with('.') || NOT_SKILLS.contains(&name.as_ref()) {
            continue;
        }
        if entry.path.join("SKILL.md").is_file() {
            found += 1;
        } else if entry.kind == Kind::Dir {
            found += count_below(&entry.path, depth - 1, budget);
        }
    }
    found
}
