//! Which skills of a home want a program, found by name or by what they declare.

use std::path::Path;

use hermes_config::yaml::Document;
use hermes_home::each_skill;
use serde_json::Value;

/// Head of a skill; its declarations stand at the top.
const MAX_BYTES: u64 = 256 * 1024;

/// Ids of skills whose id contains `program` or whose `required_commands` name it, those in
/// `disabled` left out.
pub(super) fn skills_wanting(home: &Path, program: &str, disabled: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    each_skill(home, &mut |skill| {
        let id = skill.file_name().unwrap_or_default().to_string_lossy();
        let wants =
            id.to_ascii_lowercase().contains(program) || declares(&skill.join("SKILL.md"), program);
        if wants && !disabled.contains(&&*id) {
            found.push(id.into_owned());
        }
        true
    });
    found
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
