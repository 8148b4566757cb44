//! The two masks. Both count characters, never bytes, so no text can make them panic or leave half
//! a character behind.

/// What stands for a secret too short to show any part of.
pub(crate) const FULL: &str = "***";

const GAP: &str = "...";
/// Characters of a log mask that shows both ends: six, the gap, four.
const LOG_MASK_CHARS: usize = 13;

/// Mask for logs: under 18 characters `***`, else the first six, `...`, the last four.
pub fn log_mask(secret: &str) -> String {
    ends(secret, 18, 6, 4)
}

/// Mask for a screen of the owner's: under 12 characters `***`, else the first four, `...`, the
/// last four.
pub fn display_mask(secret: &str) -> String {
    ends(secret, 12, 4, 4)
}

fn ends(secret: &str, shortest: usize, head: usize, tail: usize) -> String {
    let count = secret.chars().count();
    if count < shortest {
        return FULL.to_owned();
    }
    let first: String = secret.chars().take(head).collect();
    let last: String = secret.chars().skip(count - tail).collect();
    format!("{first}{GAP}{last}")
}

/// Whether a value is what [`display_mask`] left behind: nobody's secret.
pub fn is_display_mask(value: &str) -> bool {
    let letters: Vec<char> = value.chars().collect();
    value == FULL || letters.len() == 11 && letters.iter().skip(4).take(3).all(|c| *c == '.')
}

/// Whether a value is what [`log_mask`] left behind. Masking it again would lose the ends.
pub(crate) fn is_masked(value: &str) -> bool {
    let is_log_mask = || {
        value.chars().count() == LOG_MASK_CHARS && value.chars().skip(6).take(3).all(|c| c == '.')
    };
    value == FULL || is_log_mask()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_mask_shows_ends_from_eighteen_characters_on() {
        assert_eq!(log_mask(""), "***");
        assert_eq!(log_mask("12345678901234567"), "***");
        assert_eq!(log_mask("123456789012345678"), "123456...5678");
    }

    #[test]
    fn the_display_mask_shows_ends_from_twelve_characters_on() {
        assert_eq!(display_mask("12345678901"), "***");
        assert_eq!(display_mask("123456789012"), "1234...9012");
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(log_mask("ääääääääää"), "***");
        assert_eq!(log_mask(&"ä€".repeat(9)), "ä€ä€ä€...ä€ä€");
    }

    #[test]
    fn a_mask_is_recognised() {
        assert!(is_masked(&log_mask("sk-12345678901234567890")));
        assert!(is_masked("***"));
        assert!(!is_masked("sk-12345678901234567890"));
        assert!(!is_masked("abc...defghij"));
    }
}
