//! Bringing a command into the shape the rules are written for.
//!
//! The rules see the normalised text; the text as given is what runs. A normalised text can hide what
//! the raw one shows (a wide quotation mark becomes a real one), so the rules look at both.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};

/// Terminal sequences and NUL taken out, compatibility forms folded, continued lines joined.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    let mut result = Cow::Borrowed(text);
    if text.contains(['\u{1b}', '\u{9b}', '\0']) {
        // The one-character form of `ESC [` is not known to the stripper.
        let text = text.replace('\0', "").replace('\u{9b}', "\u{1b}[");
        result = Cow::Owned(anstream::adapter::strip_str(&text).to_string());
    }
    if !result.is_ascii()
        && is_nfkc_quick(result.chars()) != unicode_normalization::IsNormalized::Yes
    {
        result = Cow::Owned(result.nfkc().collect());
    }
    if result.contains("\\\n") || result.contains("\\\r\n") {
        result = Cow::Owned(join_lines(&result));
    }
    result
}

/// The text without NUL bytes: what a shell would get to see of it.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Drops a line break behind an odd number of backslashes, together with the last of them.
fn join_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('\\') {
        out.push_str(before);
        let joined = tail
            .strip_prefix('\n')
            .or_else(|| tail.strip_prefix("\r\n"));
        rest = joined.unwrap_or_else(|| {
            let mut chars = tail.chars();
            out.push('\\');
            out.extend(chars.next());
            chars.as_str()
        });
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_and_wide_letters_are_normalised() {
        assert_eq!(normalise("\u{1b}[31mls\u{1b}[0m"), "ls");
        assert_eq!(normalise("\u{1b}]0;title\u{7}ls"), "ls");
        assert_eq!(normalise("r\0m"), "rm");
        assert_eq!(normalise("ｒｍ -rf /"), "rm -rf /");
        assert_eq!(normalise("r\\\nm"), "rm");
        assert_eq!(normalise("a\\\r\nb"), "ab");
        assert_eq!(normalise("a\\\\\nb"), "a\\\\\nb");
        assert!(matches!(normalise("ls -l"), Cow::Borrowed(_)));
    }

    #[test]
    fn truncated_control_sequences_do_not_panic() {
        for text in [
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[3",
            "\u{1b}]0;x",
            "\u{9b}",
            "\\",
            "a\\\r",
        ] {
            drop(normalise(text));
        }
    }
}
