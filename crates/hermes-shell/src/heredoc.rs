//! Commands inside the body of a here-document whose delimiter is not quoted.
//!
//! The grammar knows `$(…)` there, but takes backticks for plain text; the tolerant reader knows
//! neither.

/// A substitution found in the body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Substitution {
    /// Text between `$(` and its parenthesis.
    Dollar(String),
    /// Text between backticks, its escapes resolved.
    Backtick(String),
}

/// The substitutions of a body, outermost only.
pub(crate) fn substitutions(body: &str) -> Vec<Substitution> {
    let mut found = Vec::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '`' => found.push(Substitution::Backtick(unescape(&backtick_text(&mut chars)))),
            '$' if chars.peek() == Some(&'(') => {
                chars.next();
                found.push(Substitution::Dollar(parenthesised(&mut chars)));
            }
            _ => {}
        }
    }
    found
}

/// Text up to the next backtick that is not escaped, escapes still in it.
fn backtick_text(chars: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c == '`' {
            break;
        }
        text.push(c);
        if c == '\\' {
            text.extend(chars.next());
        }
    }
    text
}

/// Text up to the parenthesis that closes an open one. Quotes hide parentheses; a body that ends
/// first is text to its end.
fn parenthesised(chars: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    let mut depth = 1_usize;
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                text.push(c);
                text.extend(chars.next());
                continue;
            }
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        text.push(c);
    }
    text
}

/// Text between backticks, or a body without quotes around its delimiter, as the inner shell reads it.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(&next @ ('`' | '\\' | '$'))) => {
                out.push(next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::Substitution::{Backtick, Dollar};
    use super::*;

    #[test]
    fn substitutions_of_a_body_are_found_outermost_first() {
        for (body, expected) in [
            ("plain 'text' \"x\"\n", vec![]),
            ("`rm x`", vec![Backtick("rm x".to_owned())]),
            (
                "a `b \\`c\\`` d `e`",
                vec![Backtick("b `c`".to_owned()), Backtick("e".to_owned())],
            ),
            ("\\`rm x\\`", vec![]),
            ("\\$(rm x)", vec![]),
            ("'`rm x`'", vec![Backtick("rm x".to_owned())]),
            (
                "$(a `b` \")\" (c))",
                vec![Dollar("a `b` \")\" (c)".to_owned())],
            ),
            ("`open", vec![Backtick("open".to_owned())]),
            ("$(open", vec![Dollar("open".to_owned())]),
            ("\\", vec![]),
        ] {
            assert_eq!(substitutions(body), expected, "{body:?}");
        }
    }
}
