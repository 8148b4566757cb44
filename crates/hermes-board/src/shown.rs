//! Texts of users in messages: cut by characters, with control characters escaped.

/// At most `most` characters, controls and direction marks escaped.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (index, char) in text.chars().enumerate() {
        if index == most {
            out.push('…');
            break;
        }
        let steers = matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if char.is_control() || steers {
            out.extend(char.escape_default());
        } else {
            out.push(char);
        }
    }
    out
}

/// The first `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The first line of a text that is not blank, at most `most` characters of it.
pub(crate) fn first_line(text: &str, most: usize) -> Option<&str> {
    let line = text.trim().lines().next()?;
    Some(cut(line, most)).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("", 3), "");
    }

    #[test]
    fn the_first_line_of_nothing_is_nothing() {
        assert_eq!(first_line("  \n ", 9), None);
        assert_eq!(first_line(" \n one two \nthree", 5), Some("one t"));
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_shown() {
        assert_eq!(shown("a\x1b[1m\u{202e}b", 9), "a\\u{1b}[1m\\u{202e}b");
        assert_eq!(shown("abc", 2), "ab…");
    }
}
