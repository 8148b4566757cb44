//! What an engine printed, made fit for a message: its end only, and no value it was given.

use std::borrow::Cow;

/// Characters of an engine's error text that a message carries.
const SHOWN: usize = 2_000;

/// The end of the text, trimmed, with the values of `-e NAME=value` masked.
pub(crate) fn engine_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let masked = mask_environment(text.trim());
    let skipped = masked.chars().count().saturating_sub(SHOWN);
    masked.chars().skip(skipped).collect::<String>()
}

/// The last line that says something.
pub(crate) fn last_line(words: &str) -> &str {
    let mut lines = words.lines().map(str::trim);
    let said = lines.rfind(|line| !line.is_empty() && !line.starts_with("Run 'docker"));
    said.unwrap_or("it gave no reason")
}

/// Engines repeat their arguments when they do not understand one.
fn mask_environment(text: &str) -> Cow<'_, str> {
    if !text.contains('=') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut expects_pair = false;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let bare = word.trim_start_matches(['"', '\'', '[', '(']);
        let joined = ["--env=", "-e="]
            .into_iter()
            .find(|flag| bare.starts_with(flag));
        let pair = match joined {
            Some(flag) => bare.strip_prefix(flag),
            None if expects_pair => Some(bare),
            None => None,
        };
        expects_pair = matches!(bare.trim_end_matches(['"', '\'', ',']), "-e" | "--env");
        match pair.and_then(|pair| pair.split_once('=')) {
            Some((name, _)) => {
                let before = word.len() - bare.len();
                out.push_str(word.get(..before).unwrap_or_default());
                out.push_str(joined.unwrap_or_default());
                out.push_str(name);
                out.push_str("=***");
                out.push_str(piece.get(word.len()..).unwrap_or_default());
            }
            None => out.push_str(piece),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn values_of_variables_are_masked_in_every_spelling() {
        let text = "bad: run -e TOKEN=s3cret --env OTHER=x --env=THIRD=y \"-e\" \"A=b\" image";
        let words = engine_words(text.as_bytes());
        for secret in ["s3cret", "OTHER=x", "=y", "A=b"] {
            assert!(!words.contains(secret), "{secret} in {words}");
        }
        assert_eq!(
            words,
            "bad: run -e TOKEN=*** --env OTHER=*** --env=THIRD=*** \"-e\" \"A=*** image"
        );
    }

    #[test]
    fn other_text_stays_and_only_its_end_is_kept() {
        assert_eq!(engine_words(b" size=5 is too big \n"), "size=5 is too big");
        let long = format!("{}é", "x".repeat(5_000));
        let words = engine_words(long.as_bytes());
        assert_eq!(words.chars().count(), SHOWN);
        assert!(words.ends_with('é'));
        assert_eq!(engine_words(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn the_last_line_is_the_one_that_says_something() {
        assert_eq!(
            last_line("docker: no.\n\nRun 'docker run --help' for more information\n"),
            "docker: no."
        );
        assert_eq!(last_line(" \n"), "it gave no reason");
    }
}
