//! Text of others on a terminal: nothing in it can move the cursor, change colours or turn the
//! direction of writing.

/// Text with line breaks and tabs as they are; everything else that steers is spelled out.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ => spell(character, &mut out),
        }
    }
    out
}

/// One line: line breaks and tabs become spaces, at most `most` characters are kept, with `…` where
/// something is cut.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most.saturating_mul(4)));
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(most) {
        match character {
            '\n' | '\t' | '\r' => out.push(' '),
            _ => spell(character, &mut out),
        }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

fn spell(character: char, out: &mut String) {
    let turns_writing = matches!(
        character,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    );
    if character.is_control() || turns_writing {
        out.extend(character.escape_unicode());
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_spelled_out() {
        assert_eq!(
            visible("a\u{1b}[2J\tb\n\u{202e}c\r"),
            "a\\u{1b}[2J\tb\n\\u{202e}c\\u{d}"
        );
        assert_eq!(visible("日本 é"), "日本 é");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("all of it", usize::MAX), "all of it");
        assert_eq!(one_line(" a\nb\tc\u{7} ", 80), "a b c\\u{7}");
        assert_eq!(one_line("äöü", 3), "äöü");
        assert_eq!(one_line("äöüß", 3), "äöü…");
        assert_eq!(one_line("", 3), "");
    }
}
