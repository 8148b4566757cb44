//! Text of titles: allowed characters, and numbered variants.

use crate::{Error, Result};

/// Maximum number of characters of a title.
pub const MAX_TITLE: usize = 100;

/// The title without invisible and direction characters, white space collapsed. An error if the
/// rest is empty or too long.
pub fn clean_title(text: &str) -> Result<String> {
    let visible: String = text
        .chars()
        .filter(|character| character.is_whitespace() || !is_invisible(*character))
        .collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let title = words.join(" ");
    let length = title.chars().count();
    match length {
        0 => Err(Error::EmptyTitle),
        1..=MAX_TITLE => Ok(title),
        _ => Err(Error::TitleTooLong {
            length,
            most: MAX_TITLE,
        }),
    }
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffc}'
        )
}

/// A title and the number of its variant: `name #3` is the third of `name`.
pub(crate) fn base_and_number(title: &str) -> (&str, Option<u64>) {
    match title.rsplit_once(" #") {
        Some((base, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            match digits.parse() {
                Ok(number) => (base, Some(number)),
                Err(_) => (title, None),
            }
        }
        _ => (title, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(clean_title("  a\tb\n\n c ").unwrap(), "a b c");
        assert_eq!(clean_title("x\u{202e}y\u{200b}\u{7}z").unwrap(), "xyz");
        assert_eq!(clean_title("größe 漢字").unwrap(), "größe 漢字");
    }

    #[test]
    fn empty_and_long_titles_are_refused() {
        for text in ["", "  \n", "\u{200b}\u{202e}"] {
            assert!(
                matches!(clean_title(text), Err(Error::EmptyTitle)),
                "{text:?}"
            );
        }
        assert!(clean_title(&"ä".repeat(100)).is_ok());
        assert!(matches!(
            clean_title(&"ä".repeat(101)),
            Err(Error::TitleTooLong {
                length: 101,
                most: 100
            })
        ));
    }

    #[test]
    fn variant_number_is_split_from_the_title() {
        assert_eq!(base_and_number("a #2"), ("a", Some(2)));
        assert_eq!(base_and_number("a #"), ("a #", None));
        assert_eq!(base_and_number("issue #x"), ("issue #x", None));
        assert_eq!(
            base_and_number("a #99999999999999999999"),
            ("a #99999999999999999999", None)
        );
    }
}
