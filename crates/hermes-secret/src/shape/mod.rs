//! The shapes of secrets nobody told us about.
//!
//! One automaton over short triggers (`ghp_`, `token`, `://`, …) reads the text once; only where a
//! trigger stands does a scanner look closer. A line without triggers therefore costs one pass and
//! no allocation. Scanners report places and never change text; every place they report begins and
//! ends at a character boundary because they stop at ASCII bytes only.

mod bytes;
mod named;
mod token;
mod url;
mod vendor;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use vendor::VENDORS;

/// How a place is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// Ends stay visible if it is long enough.
    Log,
    /// Nothing of it is shown.
    Full,
}

impl Mask {
    pub(crate) fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Log, Self::Log) => Self::Log,
            _ => Self::Full,
        }
    }
}

/// A place in a text that must not be shown, as byte offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mask: Mask,
}

impl Span {
    fn log(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            mask: Mask::Log,
        }
    }
}

/// Which scanner looks at a trigger.
#[derive(Debug, Clone, Copy)]
enum Scanner {
    Vendor(&'static vendor::Vendor),
    Name,
    Parameter,
    Bearer,
    Url,
    Jwt,
    PrivateKey,
    Phone,
    BotToken,
}

struct Triggers {
    automaton: AhoCorasick,
    scanners: Vec<Scanner>,
}

static TRIGGERS: LazyLock<Option<Triggers>> = LazyLock::new(|| {
    let words: &[(&str, Scanner)] = &[
        ("key", Scanner::Name),
        ("token", Scanner::Name),
        ("secret", Scanner::Name),
        ("pass", Scanner::Name),
        ("pwd", Scanner::Name),
        ("cred", Scanner::Name),
        ("auth", Scanner::Name),
        ("cookie", Scanner::Name),
        ("key=", Scanner::Parameter),
        ("sig=", Scanner::Parameter),
        ("signature=", Scanner::Parameter),
        ("code=", Scanner::Parameter),
        ("jwt=", Scanner::Parameter),
        ("bearer ", Scanner::Bearer),
        ("://", Scanner::Url),
        ("eyj", Scanner::Jwt),
        ("private key", Scanner::PrivateKey),
    ];
    let digits = (b'0'..=b'9').map(char::from);
    let phones = digits
        .clone()
        .skip(1)
        .map(|d| (format!("+{d}"), Scanner::Phone));
    let bots = digits.map(|d| (format!("{d}:"), Scanner::BotToken));
    let vendors = VENDORS
        .iter()
        .map(|vendor| (vendor.prefix.to_owned(), Scanner::Vendor(vendor)));
    let (patterns, scanners): (Vec<String>, Vec<Scanner>) = words
        .iter()
        .map(|&(word, scanner)| (word.to_owned(), scanner))
        .chain(phones)
        .chain(bots)
        .chain(vendors)
        .unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        // A DFA is faster per byte but takes longer to build than most commands log.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(patterns)
        // The patterns are constants; a test proves that they compile.
        .ok()?;
    Some(Triggers {
        automaton,
        scanners,
    })
});

/// Adds the places of all secret shapes in `text`, in no particular order.
pub(crate) fn find(text: &str, spans: &mut Vec<Span>) {
    let Some(triggers) = TRIGGERS.as_ref() else {
        return;
    };
    let bytes = text.as_bytes();
    // Names are examined whole; further triggers inside one already seen are skipped.
    let mut names_seen_until = 0;
    for hit in triggers.automaton.find_overlapping_iter(bytes) {
        let (start, end) = (hit.start(), hit.end());
        match triggers.scanners.get(hit.pattern().as_usize()) {
            Some(Scanner::Vendor(vendor)) => spans.extend(vendor::token(bytes, start, vendor)),
            Some(Scanner::Name) if start < names_seen_until => {}
            Some(Scanner::Name) => {
                names_seen_until = named::value_of_name(text, start, end, spans).max(end);
            }
            Some(Scanner::Parameter) => spans.extend(named::parameter(text, start, end)),
            Some(Scanner::Bearer) => spans.extend(token::bearer(bytes, start, end)),
            Some(Scanner::Url) => spans.extend(url::userinfo(text, start, end)),
            Some(Scanner::Jwt) => spans.extend(token::jwt(bytes, start)),
            Some(Scanner::PrivateKey) => spans.extend(token::private_key(text, start, end)),
            Some(Scanner::Phone) => spans.extend(token::phone(bytes, start)),
            Some(Scanner::BotToken) => spans.extend(token::bot(bytes, start)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triggers_compile() {
        assert!(TRIGGERS.is_some());
    }
}
