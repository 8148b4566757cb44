//! Deleting and hidden commands through the shells of Windows, which WSL can reach.

use super::super::keys;
use super::{Call, Keys};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let name = call.name().to_ascii_lowercase();
    match name.strip_suffix(".exe").unwrap_or(&name) {
        "cmd" | "del" | "erase" | "rd" | "rmdir" => {
            let mut words = lower_words(call);
            words.insert(0, name);
            if deletes(&words) {
                keys.push(keys::WINDOWS_CMD);
            }
        }
        "powershell" | "pwsh" => {
            let words = lower_words(call);
            let encoded = words.iter().any(|word| {
                word.len() > 1 && ("-encodedcommand".starts_with(word.as_str()) || word == "-ec")
            });
            if encoded {
                keys.push(keys::POWERSHELL_ENCODED);
            }
            let removes = words
                .iter()
                .any(|word| matches!(word.as_str(), "remove-item" | "ri" | "rm" | "rmdir" | "del"));
            let recursive = words
                .iter()
                .any(|word| word.len() > 1 && "-recurse".starts_with(word.as_str()));
            if removes && recursive {
                keys.push(keys::WINDOWS_POWERSHELL);
            }
        }
        _ => {}
    }
}

/// The words of all arguments, those inside quoted ones included.
fn lower_words(call: &Call<'_>) -> Vec<String> {
    call.command
        .texts()
        .flat_map(|text| text.split([' ', '"', '\'', ';', '&', '|', '{', '}', '(', ')']))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn deletes(words: &[String]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    (has(&["del", "erase"]) && has(&["/s", "/q", "/f", "/s/q", "/f/s/q"]))
        || (has(&["rd", "rmdir"]) && has(&["/s", "/s/q"]))
        || words
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a == "format" && b.ends_with(':')))
}
