//! Entries of a memory file, and the text they are kept as.

/// Stands between two entries.
const DELIMITER: &str = "\n§\n";

/// The entries of a text, each once. A text without delimiters, however it came about, is one entry.
pub(super) fn parse(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let mut entries: Vec<String> = Vec::new();
    for entry in text.split(DELIMITER).map(str::trim) {
        if !entry.is_empty() && !entries.iter().any(|known| known == entry) {
            entries.push(entry.to_owned());
        }
    }
    entries
}

/// The text of a file with these entries.
pub(super) fn join(entries: &[String]) -> String {
    entries.join(DELIMITER)
}

/// The characters that entries take of a limit.
pub(super) fn count_chars(entries: &[String]) -> usize {
    let between = entries.len().saturating_sub(1) * DELIMITER.chars().count();
    let own: usize = entries.iter().map(|entry| entry.chars().count()).sum();
    own + between
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn text_is_split_at_lines_with_nothing_but_the_sign() {
        assert_eq!(parse("a\n§\nb § c\nd\n§\na\n"), ["a", "b § c\nd"]);
        assert_eq!(parse("a\r\n§\r\nb\r\n"), ["a", "b"]);
        assert_eq!(parse("\u{feff}- one\n- two\n"), ["- one\n- two"]);
        assert_eq!(parse(" \n§\n \n"), Vec::<String>::new());
    }

    #[test]
    fn the_count_is_that_of_the_text() {
        for text in ["", "ä", "a\n§\nb", "a\n§\nbé\n§\nc"] {
            assert_eq!(count_chars(&parse(text)), text.chars().count(), "{text}");
            assert_eq!(join(&parse(text)), text);
        }
    }
}
