//! Signs for terminals whose character set has no others than ASCII.

use unicode_width::UnicodeWidthChar;

/// The same text in ASCII, just as wide.
pub(super) fn in_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let sign = match character {
            ' '..='~' => character,
            '◻' => 'o',
            '▶' | '→' => '>',
            '←' => '<',
            '↑' => '^',
            '↓' => 'v',
            '●' => '*',
            '✓' => '+',
            '⊘' | '✗' => 'x',
            '⏱' => '@',
            '─' | '—' | '–' => '-',
            '·' | '…' => '.',
            _ => '?',
        };
        for _ in 0..character.width().unwrap_or(0) {
            out.push(sign);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_keep_their_width() {
        assert_eq!(in_ascii("▶ card … 日"), "> card . ??");
    }
}
