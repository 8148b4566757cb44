//! Bodies of forms: `name=value&name=value` and nothing else between blanks or quotes.

use super::bytes::{run, run_back};

/// Longest body that is looked at, to each side of a name.
const LONGEST_HALF: usize = 2048;

/// Whether the text around an offset is the body of a form. A web address is none: its parameters
/// come behind a question mark.
pub(super) fn is_form_body(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    // The bar ends the number that a page of a file puts before its lines.
    let inside = |byte: u8| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'|' | b'<' | b'>')
    };
    let start = run_back(bytes, at, LONGEST_HALF, inside);
    let end = run(bytes, at, inside).min(at + LONGEST_HALF);
    let Some(body) = text.get(start..end) else {
        return false;
    };
    let is_pair = |pair: &str| {
        pair.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        })
    };
    // A value has its reserved characters escaped; code has not.
    body.contains('&')
        && body.split('&').all(is_pair)
        && !body.contains(['(', ')', '{', '}', ';', '$', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_make_a_form_body() {
        for (text, expected) in [
            ("client_secret=abc&grant_type=x", true),
            ("curl -d 'a=1&client_secret=abc'", true),
            ("    12|a=1&client_secret=abc", true),
            ("client_secret=abc", false),
            ("https://h/?a=1&client_secret=abc", false),
            ("?a=1&client_secret=abc", false),
            ("URL=https://h/?a=1&client_secret=abc", false),
            ("a = 1 & client_secret=abc", false),
            ("a==1&&client_secret=abc", false),
            ("f(a=1&client_secret=abc)", false),
        ] {
            let at = text.find("client").unwrap();
            assert_eq!(is_form_body(text, at), expected, "{text}");
        }
    }
}
