//! Signs for terminals whose character set has no others than ASCII.

use hermes_config::{Environment, vars};
use unicode_width::UnicodeWidthChar;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyphs {
    All,
    Ascii,
}

impl Glyphs {
    /// What the locale says; where nothing does, terminals of today show everything.
    pub(super) fn of(env: &Environment) -> Self {
        let named = [&vars::LC_ALL, &vars::LC_CTYPE, &vars::LANG]
            .into_iter()
            .find_map(|var| env.text(var).filter(|name| !name.is_empty()));
        let is_unicode = named.is_none_or(|name| {
            let name = name.to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        });
        if is_unicode { Self::All } else { Self::Ascii }
    }
}

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
    fn the_locale_decides() {
        let of =
            |pairs: &[(&str, &str)]| Glyphs::of(&Environment::from_pairs(pairs.iter().copied()));
        assert_eq!(of(&[]), Glyphs::All);
        assert_eq!(of(&[("LANG", "C")]), Glyphs::Ascii);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Glyphs::All);
        assert_eq!(
            of(&[("LANG", "C.UTF-8"), ("LC_ALL", "POSIX")]),
            Glyphs::Ascii
        );
        assert_eq!(of(&[("LANG", "C"), ("LC_CTYPE", "C.utf8")]), Glyphs::All);
    }

    #[test]
    fn signs_keep_their_width() {
        assert_eq!(in_ascii("▶ card … 日"), "> card . ??");
    }
}
