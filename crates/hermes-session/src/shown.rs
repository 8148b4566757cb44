//! Foreign text in messages to people.

/// Characters of a foreign text that a message shows.
const SHOWN: usize = 80;

/// The text, shortened, with control characters spelled out.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(SHOWN) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
