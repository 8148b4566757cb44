//! The index of skills in a prompt: name and description of each, by category.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, IndexedSkill};
use crate::offer::OfferFacts;

/// Characters of a description.
const DESCRIPTION: usize = 60;
/// Most skills in a prompt; `skills_list` shows the others.
const MAX_SKILLS: usize = 400;
/// Categories of skills that have nothing to do with programs.
const NOT_ABOUT_CODE: &[&str] = &[
    "apple",
    "communication",
    "cooking",
    "creative",
    "email",
    "finance",
    "gaming",
    "gifs",
    "health",
    "media",
    "music",
    "note-taking",
    "productivity",
    "shopping",
    "smart-home",
    "social-media",
    "travel",
    "yuanbao",
];

/// The skills that are offered, as a prompt lists them; `None` if there are none.
pub fn index_text(catalog: &Catalog, facts: &OfferFacts) -> Option<String> {
    let skills = catalog.first_of_each_name();
    let offered: Vec<&IndexedSkill> = skills.into_iter().filter(|s| facts.offers(s)).collect();
    if offered.is_empty() {
        return None;
    }
    let mut by_category: BTreeMap<&str, Vec<&IndexedSkill>> = BTreeMap::new();
    for skill in offered.iter().take(MAX_SKILLS) {
        let category = skill.category.as_deref().unwrap_or("general");
        by_category.entry(category).or_default().push(skill);
    }
    let mut lines = vec!["<available_skills>".to_owned()];
    for (category, mut skills) in by_category {
        let about = catalog.categories.iter().find(|(name, _)| name == category);
        let about = about.map(|(_, text)| format!(" {}", shortened(text)));
        lines.push(format!(
            "  {}:{}",
            one_line(category),
            about.unwrap_or_default()
        ));
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        let is_named_only = facts.is_about_code && NOT_ABOUT_CODE.contains(&category);
        for skill in skills {
            let name = one_line(&skill.name);
            lines.push(match shortened(&skill.description) {
                text if text.is_empty() || is_named_only => format!("    - {name}"),
                text => format!("    - {name}: {text}"),
            });
        }
    }
    lines.push("</available_skills>".to_owned());
    if offered.len() > MAX_SKILLS {
        let more = offered.len() - MAX_SKILLS;
        lines.push(format!("{more} more are shown by skills_list."));
    }
    Some(lines.join("\n"))
}

fn shortened(text: &str) -> String {
    let text = one_line(text.trim_matches(['"', '\'']));
    if text.chars().count() <= DESCRIPTION {
        return text;
    }
    format!("{}...", hermes_text::cut(&text, DESCRIPTION - 3))
}

/// Nothing that a skill says of itself may look like another line or the end of the list.
fn one_line(text: &str) -> String {
    hermes_text::one_line(text, 300).replace(['<', '>'], "")
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
