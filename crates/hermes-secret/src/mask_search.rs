//! Finds masks that stand where a secret belongs: text with one was made from text that was shown
//! masked, and writing it back would destroy the secret.

use std::ops::Range;

use crate::Sink;
use crate::mask::is_masked;
use crate::shape::{self, begins_like_a_token};

const GAP: &str = "...";
const HEAD: usize = 6;
const TAIL: usize = 4;

/// The masks of a text, in order. Three stars or a gap alone are none: they must be the value of a
/// name that announces a secret, stand in an address or header, or begin as tokens begin.
pub fn masks_in(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    shape::find(text, Sink::Log, &mut spans);
    let mut found: Vec<Range<usize>> = spans
        .into_iter()
        .map(|span| span.start..span.end)
        .filter(|span| text.get(span.clone()).is_some_and(is_masked))
        .chain(token_masks(text))
        .collect();
    found.sort_by_key(|span| (span.start, span.end));
    found.dedup();
    found
}

/// `ghp_Ab...Qr12`: both ends of a token around a gap.
fn token_masks(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(GAP).filter_map(move |(gap, _)| {
        let (before, after) = (text.get(..gap)?, text.get(gap + GAP.len()..)?);
        let start = before.trim_end_matches(is_token).len();
        let end = text.len() - after.trim_start_matches(is_token).len();
        let head = text.get(start..gap)?;
        let whole = head.len() == HEAD && end - gap - GAP.len() == TAIL;
        // The numbers of a bot token; `eyJ` begins any JSON web token.
        let is_known = begins_like_a_token(head)
            || head.starts_with("eyJ")
            || head.bytes().all(|byte| byte.is_ascii_digit());
        (whole && is_known).then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::Redactor;

    fn found(text: &str) -> Vec<&str> {
        let masks = masks_in(text).into_iter();
        masks.map(|span| text.get(span).unwrap()).collect()
    }

    #[test]
    fn masks_are_found_where_a_secret_belongs() {
        for (text, expected) in [
            ("OPENAI_API_KEY=***", vec!["***"]),
            (
                "export DB_PASSWORD='***'\nX=1\nAPI_TOKEN=abcdef...wxyz\n",
                vec!["***", "abcdef...wxyz"],
            ),
            ("{\"api_key\": \"***\"}", vec!["***"]),
            ("password: ***", vec!["***"]),
            ("client_secret = \"***\"", vec!["***"]),
            ("key = 'sk-abc...uvwx'", vec!["sk-abc...uvwx"]),
            ("t = github...uvwx", vec!["github...uvwx"]),
            ("eyJhbG...0123", vec!["eyJhbG...0123"]),
            ("TELEGRAM: 123456...3456", vec!["123456...3456"]),
            ("postgres://bob:***@db/x", vec!["***"]),
            ("Authorization: Bearer ***", vec!["***"]),
            (
                "-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----",
                vec!["***"],
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn stars_and_dots_of_other_meaning_are_no_masks() {
        for text in [
            "***bold*** and ***",
            "* * *\n***\n",
            "Saving...done, Loading...next",
            "int ***p = x; a ***= b",
            "wait...what about foobar...bazz",
            "password=hunter2 and password: required",
            "sk-abcdefghijklmnopqrstuvwxyz",
            "API_KEY=<your key>",
            "range(1...10), 123456...",
            "",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn every_mask_the_redactor_makes_is_found() {
        for text in [
            "OPENAI_API_KEY=hunter2",
            "token=abcdefghijklmnopqrstuvwxyz",
            "x ghp_Ab3dEfGh1jKlMnOpQrSt y",
            "x AKIAABCDEFGHIJ012345 y",
            "https://a1b2c3d4e5f6a7b8c9d0@host/x.git",
            "postgres://bob:hunter2@db:5432/x",
            "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123 back",
            "bot 12345678:AAEabcdefghijklmnopqrstuvwxyz_0123456 up",
            "Authorization: Bearer abc",
            "Cookie: sid=ab12cd",
            "run --api-key ab12cd34ef -v",
        ] {
            let shown = Redactor::default().redact(text).into_owned();
            assert_ne!(shown, text);
            assert!(!masks_in(&shown).is_empty(), "{shown}");
        }
    }
}
