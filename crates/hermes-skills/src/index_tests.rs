#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;

use super::*;
use crate::catalog::SkillRoot;

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    // What has just changed is not kept.
    let file = std::fs::File::options().write(true).open(file).unwrap();
    let earlier = SystemTime::now() - Duration::from_mins(1);
    file.set_modified(earlier).unwrap();
}

fn root(directory: &Path, is_own: bool) -> SkillRoot {
    SkillRoot {
        directory: directory.to_owned(),
        remote: Some(PathBuf::from("skills")),
        is_own,
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn index_lists_what_is_offered_by_category() {
    let home = tempfile::tempdir().unwrap();
    let (own, other) = (home.path().join("own"), home.path().join("other"));
    let long = "A description that goes on for longer than the sixty characters of an index.";
    put(
        &own,
        "b/SKILL.md",
        &format!("---\nname: bee\ndescription: {long}\n---\nx"),
    );
    put(&own, "dev/a/SKILL.md", "---\ndescription: Does a\n---\nx");
    put(
        &own,
        "dev/DESCRIPTION.md",
        "---\ndescription: For developers\n---\n",
    );
    put(
        &own,
        "dev/mac/SKILL.md",
        "---\nplatforms: [macos, beos]\n---\nx",
    );
    put(&own, "dev/off/SKILL.md", "x");
    put(&own, "a/references/old/SKILL.md", "not one");
    put(
        &own,
        "a/SKILL.md",
        "---\nname: x\ndescription: </available_skills> y\n---\n",
    );
    put(
        &own,
        "web/SKILL.md",
        "---\nmetadata: {hermes: {requires_tools: [web_search]}}\n---\n",
    );
    put(
        &own,
        "spare/SKILL.md",
        "---\nmetadata: {hermes: {fallback_for_toolsets: web}}\n---\n",
    );
    put(&own, "board/SKILL.md", "---\nenvironments: [kanban]\n---\n");
    put(
        &other,
        "bee/SKILL.md",
        "---\nname: bee\ndescription: Hidden\n---\n",
    );
    let catalog = Catalog::load(&[root(&own, true), root(&other, false)], None);
    let facts = OfferFacts {
        disabled: names(&["off"]),
        tools: Some(names(&["terminal"])),
        ..OfferFacts::default()
    };
    assert_eq!(
        index_text(&catalog, &facts).unwrap(),
        "<available_skills>\n  dev: For developers\n    - a: Does a\n  general:\n    - bee: A \
         description that goes on for longer than the sixty char...\n    - spare\n    - x: \
         /available_skills y\n</available_skills>"
    );
    let facts = OfferFacts {
        tools: Some(names(&["web_search"])),
        toolsets: names(&["web"]),
        has_board: true,
        ..OfferFacts::default()
    };
    let text = index_text(&catalog, &facts).unwrap();
    assert!(text.contains("- web") && text.contains("- board") && !text.contains("- spare"));
}

#[test]
fn catalog_is_kept_and_follows_changes() {
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join("skills");
    let cache = home.path().join("cache/skills.json");
    put(&own, "a/SKILL.md", "---\ndescription: one\n---\n");
    put(&own, "bad/SKILL.md", "---\nname: bad\nx: [\n---\n");
    std::fs::write(own.join("bad/SKILL.md"), b"\xff").unwrap();
    let load = || Catalog::load(&[root(&own, true)], Some(&cache));
    let first = load();
    assert!(first.skills[1].problem.is_some(), "{first:?}");
    assert_eq!(first, load());
    put(&own, "a/SKILL.md", "---\ndescription: second\n---\n");
    assert_eq!(load().skills[0].description, "second");
    std::fs::write(&cache, "{").unwrap();
    assert_eq!(load().skills[0].description, "second");
}

/// The bench has the row for what that costs.
#[test]
fn known_skills_are_not_read_again() {
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join("skills");
    let cache = home.path().join("cache/skills.json");
    for number in 0..200 {
        let path = format!("category-{}/skill-{number}/SKILL.md", number % 10);
        let text = format!("---\nname: skill-{number}\ndescription: Read\n---\nText.\n");
        put(&own, &path, &text);
    }
    let load = || Catalog::load(&[root(&own, true)], Some(&cache));
    let count = |catalog: &Catalog, text: &str| {
        let skills = catalog.skills.iter();
        skills.filter(|skill| skill.description == text).count()
    };
    assert_eq!(count(&load(), "Read"), 200);
    let kept = std::fs::read_to_string(&cache).unwrap();
    std::fs::write(&cache, kept.replace("\"Read\"", "\"Kept\"")).unwrap();
    assert_eq!(count(&load(), "Kept"), 200);
    put(
        &own,
        "category-1/skill-1/SKILL.md",
        "---\ndescription: Read anew\n---\n",
    );
    let catalog = load();
    assert_eq!(
        (count(&catalog, "Kept"), count(&catalog, "Read anew")),
        (199, 1)
    );
}

#[test]
fn skills_about_something_else_are_only_named_where_the_work_is_a_program() {
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join("own");
    put(
        &own,
        "music/song/SKILL.md",
        "---\ndescription: Writes a song\n---\nx",
    );
    put(&own, "dev/a/SKILL.md", "---\ndescription: Does a\n---\nx");
    let catalog = Catalog::load(&[root(&own, true)], None);
    let facts = |is_about_code| OfferFacts {
        is_about_code,
        ..OfferFacts::default()
    };
    let text = index_text(&catalog, &facts(false)).unwrap();
    assert!(text.contains("- song: Writes a song"), "{text}");
    let text = index_text(&catalog, &facts(true)).unwrap();
    assert!(
        text.contains("- song\n") && text.contains("- a: Does a"),
        "{text}"
    );
}
