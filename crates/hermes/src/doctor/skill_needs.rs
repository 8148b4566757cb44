//! Which skills of a home want a program, found by name or by what they declare.

use std::path::Path;

use hermes_config::yaml::Document;
use serde_json::Value;

/// Categories nest a few levels; deeper trees are somebody's data.
const MAX_DEPTH: usize = 6;
/// Entries looked at before we settle for what was found.
const MAX_ENTRIES: usize = 20_000;
/// Head of a skill; its declarations stand at the top.
const MAX_BYTES: u64 = 256 * 1024;

/// Ids of skills whose id contains `program` or whose `required_commands` name it, those in
/// `disabled` left out.
pub(super) fn skills_wanting(home: &Path, program: &str, disabled: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut budget = MAX_ENTRIES;
    walk(
        &home.join("skills"),
        MAX_DEPTH,
        &mut budget,
        &mut |id, file| {
            let wants = id.to_ascii_lowercase().contains(program) || declares(file, program);
            if wants && !disabled.contains(&id) {
                found.push(id.to_owned());
            }
        },
    );
    found
}

fn walk(directory: &Path, depth: usize, budget: &mut usize, visit: &mut dyn FnMut(&str, &Path)) {
    // Missing or unreadable: there are no skills to tell of.
    for entry in hermes_fs::read_dir(directory).unwrap_or_default() {
        *budget = budget.saturating_sub(1);
        if *budget == 0 || depth == 0 {
            return;
        }
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') || !entry.path.is_dir() {
            continue;
        }
        let file = entry.path.join("SKILL.md");
        if file.is_file() {
            visit(&name, &file);
        } else if entry.kind == hermes_fs::Kind::Dir {
            walk(&entry.path, depth - 1, budget, visit);
        }
    }
}

fn declares(file: &Path, program: &str) -> bool {
    // A skill that cannot be read declares nothing.
    let text = hermes_fs::read_text_capped(file, MAX_BYTES).unwrap_or_default();
    let head = text
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"))
        .map(|(head, _)| head);
    let document = head.and_then(|head| Document::parse(head).ok());
    let commands = document
        .as_ref()
        .and_then(|document| document.value().get("required_commands"));
    match commands {
        Some(Value::Array(items)) => items.iter().any(|item| item == program),
        Some(Value::String(one)) => one == program,
        _ => false,
    }
}
