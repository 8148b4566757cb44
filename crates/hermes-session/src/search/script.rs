//! Scripts that are written without spaces between words.

/// Whether a character belongs to Chinese, Japanese or Korean text.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{20000}'..='\u{2a6df}')
}

/// Number of CJK characters in a text.
pub(super) fn count(text: &str) -> usize {
    text.chars().filter(|character| is_cjk(*character)).count()
}
