//! Text in which nothing can move the cursor, change colours or turn the direction of writing.

/// Text with line breaks and tabs as they are; everything else that steers is spelled out.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if steers(character) => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}

/// Text for a screen whose columns are counted: as [`visible`], and without the characters that join
/// or vary others, because terminals disagree about the width of what they make. Tabs become spaces.
pub fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r'
            | '\u{200c}'
            | '\u{200d}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0000}'..='\u{e0fff}' => {}
            _ if steers(character) => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}

/// One line: line breaks and tabs become spaces, what steers is spelled out, at most `most`
/// characters are kept, with `…` where something is cut.
pub fn one_line(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most.saturating_mul(4)));
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(most) {
        match character {
            '\n' | '\t' | '\r' => out.push(' '),
            _ if steers(character) => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// A name or value for a message: at most `most` characters, with `…` where something is cut; what
/// steers, line breaks included, is spelled out.
pub fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for character in cut(text, most).chars() {
        if steers(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// The first `most` characters.
pub fn cut(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The first line of a text that is not blank, at most `most` characters of it.
pub fn first_line(text: &str, most: usize) -> Option<&str> {
    let line = text.trim().lines().next()?;
    Some(cut(line, most)).filter(|line| !line.is_empty())
}

/// Whether a character moves the cursor or turns the direction of writing.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_text_spells_out_what_steers() {
        assert_eq!(
            visible("a\u{1b}[2J\tb\n\u{202e}c\r"),
            "a\\u{1b}[2J\tb\n\\u{202e}c\\u{d}"
        );
        assert_eq!(visible("日本 é"), "日本 é");
    }

    #[test]
    fn steady_text_has_no_joiners_and_no_tabs() {
        assert_eq!(
            steady("a\tb\r\n\u{1b}]0;x\u{7}"),
            "a    b\n\\u{1b}]0;x\\u{7}"
        );
        assert_eq!(
            steady("\u{2764}\u{fe0f} \u{1f468}\u{200d}\u{1f469}"),
            "\u{2764} \u{1f468}\u{1f469}"
        );
        assert_eq!(steady("e\u{301} \u{202e}x"), "e\u{301} \\u{202e}x");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("all of it", usize::MAX), "all of it");
        assert_eq!(one_line(" a\nb\tc\u{7} ", 80), "a b c\\u{7}");
        assert_eq!(one_line("äöü", 3), "äöü");
        assert_eq!(one_line("äöüß", 3), "äöü…");
        assert_eq!(one_line("", 3), "");
    }

    #[test]
    fn shown_text_is_cut_and_spells_out_what_steers() {
        assert_eq!(shown("a\x1b[1m\u{202e}b", 9), "a\\u{1b}[1m\\u{202e}b");
        assert_eq!(shown("a\nb", 9), "a\\nb");
        assert_eq!(shown("abc", 2), "ab…");
        assert_eq!(shown("abc", 3), "abc");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("", 3), "");
    }

    #[test]
    fn first_line_of_blank_text_is_none() {
        assert_eq!(first_line("  \n ", 9), None);
        assert_eq!(first_line(" \n one two \nthree", 5), Some("one t"));
    }
}
