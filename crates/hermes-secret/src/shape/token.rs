//! Tokens known by their inner structure: JWTs, bot tokens, bearer credentials, private keys and
//! telephone numbers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::bytes::{at, before, is_token, run, run_back};
use super::{Mask, Span};

/// Digits of the account before the colon of a bot token.
const LEAST_BOT_DIGITS: usize = 6;
/// Characters behind it. Accounts of few digits must have a secret of full length: hashes stand behind
/// small numbers, too.
const LEAST_BOT_SECRET: usize = 30;
const FULL_BOT_SECRET: usize = 35;
const FULL_BOT_DIGITS: usize = 8;
/// Digits of an international number without the plus.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;

/// `header[.payload[.signature…]]` in base64url, at `eyJ`, each part perhaps padded.
pub(super) fn jwt(bytes: &[u8], start: usize) -> Option<Span> {
    if !bytes.get(start..)?.starts_with(b"eyJ") || before(bytes, start).is_some_and(is_token) {
        return None;
    }
    let part = |start: usize| run(bytes, run(bytes, start, is_token), |byte| byte == b'=');
    let header = run(bytes, start, is_token);
    if header - start < 12 {
        return None;
    }
    let mut end = part(start);
    let payload = part(end + 1);
    if at(bytes, end) != Some(b'.') || payload - end < 5 {
        // Any JSON begins like this in base64; a header names its algorithm.
        return names_algorithm(bytes.get(start..header)?).then(|| Span::log(start, end));
    }
    end = payload;
    // A signature, or the further parts of an encrypted token, some of which may be empty.
    for _ in 0..3 {
        if at(bytes, end) != Some(b'.') {
            break;
        }
        let next = part(end + 1);
        let another = next == end + 1 && at(bytes, next) == Some(b'.');
        if next == end + 1 && !another {
            break;
        }
        end = next;
    }
    Some(Span::log(start, end))
}

/// Whether a header in base64url, perhaps cut off, has the field `alg`.
fn names_algorithm(header: &[u8]) -> bool {
    // What does not make up three bytes at the end of a part that was cut off says nothing.
    let whole = header.get(..header.len() - header.len() % 4);
    let mut decoded = whole
        .and_then(|whole| URL_SAFE_NO_PAD.decode(whole).ok())
        .unwrap_or_default();
    decoded.retain(|byte| !byte.is_ascii_whitespace());
    decoded.windows(6).any(|window| window == b"\"alg\":")
}

/// `123456789:AAE…`, at the last digit before the colon.
pub(super) fn bot(bytes: &[u8], last_digit: usize) -> Option<Span> {
    let colon = last_digit + 1;
    let start = run_back(bytes, colon, 20, |byte| byte.is_ascii_digit());
    if colon - start < LEAST_BOT_DIGITS {
        return None;
    }
    let end = run(bytes, colon + 1, is_token);
    let least = if colon - start < FULL_BOT_DIGITS {
        FULL_BOT_SECRET
    } else {
        LEAST_BOT_SECRET
    };
    (end - colon > least).then(|| Span::log(start, end))
}

/// A credential after the word `Bearer`, wherever it stands.
pub(super) fn bearer(bytes: &[u8], start: usize, end: usize) -> Option<Span> {
    if before(bytes, start).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let stop = run(bytes, end, |byte| {
        is_token(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let credential = bytes.get(end..stop)?;
    let random = credential.iter().any(u8::is_ascii_digit) || credential.len() >= 24;
    (credential.len() >= 16 && random).then(|| Span::log(end, stop))
}

/// The body of a private key block, around the words `PRIVATE KEY`. The lines that say what it was
/// stay. A block that was cut off before its end is masked as far as it looks like base64.
pub(super) fn private_key(text: &str, start: usize, end: usize) -> Option<Span> {
    let bytes = text.as_bytes();
    let label = run_back(bytes, start, 24, |byte| {
        byte.is_ascii_uppercase() || byte == b' '
    });
    // Case matters: the label run above takes the `BEGIN ` with it.
    let head = text.get(label..start)?;
    if !head.starts_with("BEGIN ") || !text.get(..label)?.ends_with("-----") {
        return None;
    }
    let rest = text.get(end..)?;
    let rest = rest.strip_prefix(" BLOCK").unwrap_or(rest);
    let body_text = rest.strip_prefix("-----")?;
    let body = text.len() - body_text.len();
    let stop = match body_text.find("-----END") {
        Some(offset) => body + offset,
        None => run(bytes, body, |byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\n' | b'\r')
        }),
    };
    (stop > body).then_some(Span {
        start: body,
        end: stop,
        mask: Mask::Full,
    })
}

/// An international telephone number, at its plus sign.
pub(super) fn phone(bytes: &[u8], start: usize) -> Option<Span> {
    let joined = |byte: Option<u8>| byte.is_some_and(|byte| is_token(byte) || byte == b'+');
    let end = run(bytes, start + 1, |byte| byte.is_ascii_digit());
    let digits = end - start - 1;
    let whole = PHONE_DIGITS.contains(&digits)
        && !joined(before(bytes, start))
        && !at(bytes, end).is_some_and(|byte| byte.is_ascii_alphanumeric());
    whole.then(|| Span::log(start, end))
}
