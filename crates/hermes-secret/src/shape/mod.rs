//! The shapes of secrets nobody told us about.
//!
//! One automaton over short triggers (`ghp_`, `token`, `://`, …) reads the text once; only where a
//! trigger stands does a scanner look closer. A line without triggers therefore costs one pass and
//! no allocation. Scanners report places and never change text; every place they report begins and
//! ends at a character boundary because they stop at ASCII bytes only.

mod bytes;
mod form;
mod lanes;
mod named;
mod template;
mod token;
mod url;
mod vendor;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::dfa::DFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, StartKind};

use lanes::{Hit, LANES};

use crate::Sink;
use vendor::VENDORS;
pub(crate) use vendor::begins_like_a_token;

/// How a place is masked, the stricter way last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mask {
    /// It is a mask already.
    Present,
    /// Ends stay visible if it is long enough.
    Log,
    /// Nothing of it is shown.
    Full,
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

/// Texts longer than this are worth the time it takes to build the faster automaton.
const LONG: usize = 64 * 1024;

/// What is looked for, and by whom.
static TRIGGERS: LazyLock<(Vec<String>, Vec<Scanner>)> = LazyLock::new(triggers);

/// For lines of a log: quickly built. The patterns are constants; a test proves that they compile.
static FOR_LINES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(&TRIGGERS.0)
        .ok()
});

/// For outputs of commands: quickly run.
static FOR_LONG_TEXTS: LazyLock<Option<DFA>> = LazyLock::new(|| {
    DFA::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .start_kind(StartKind::Unanchored)
        .build(&TRIGGERS.0)
        .ok()
});

fn triggers() -> (Vec<String>, Vec<Scanner>) {
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
    words
        .iter()
        .map(|&(word, scanner)| (word.to_owned(), scanner))
        .chain(phones)
        .chain(bots)
        .chain(vendors)
        .unzip()
}

/// Adds the places of all secret shapes in `text`, in no particular order.
pub(crate) fn find(text: &str, sink: Sink, spans: &mut Vec<Span>) {
    let mut examiner = Examiner {
        text,
        sink,
        spans,
        names_seen_until: [0; LANES],
    };
    each_trigger(text, &mut |hit| examiner.look_at(hit));
}

/// Adds the places of all triggers: a text without any has no secret of a known shape, whatever stands
/// before and behind it.
pub(crate) fn traces(text: &str, places: &mut Vec<Range<usize>>) {
    each_trigger(text, &mut |hit| places.push(hit.start..hit.end));
}

fn each_trigger(text: &str, found: &mut impl FnMut(Hit)) {
    if text.len() > LONG {
        if let Some(automaton) = FOR_LONG_TEXTS.as_ref() {
            lanes::find(automaton, text.as_bytes(), found);
        }
    } else if let Some(automaton) = FOR_LINES.as_ref() {
        for hit in automaton.find_overlapping_iter(text) {
            found(Hit {
                start: hit.start(),
                end: hit.end(),
                pattern: hit.pattern().as_usize(),
                lane: 0,
            });
        }
    }
}

/// Looks closer where a trigger stands.
struct Examiner<'a> {
    text: &'a str,
    sink: Sink,
    spans: &'a mut Vec<Span>,
    /// Names are examined whole; further triggers inside one already seen are skipped.
    names_seen_until: [usize; LANES],
}

impl Examiner<'_> {
    fn look_at(&mut self, hit: Hit) {
        let Self {
            text, spans, sink, ..
        } = self;
        let bytes = text.as_bytes();
        let Hit {
            start,
            end,
            pattern,
            lane,
        } = hit;
        match TRIGGERS.1.get(pattern) {
            Some(Scanner::Vendor(vendor)) => spans.extend(vendor::token(bytes, start, vendor)),
            Some(Scanner::Name) => {
                if let Some(seen) = self
                    .names_seen_until
                    .get_mut(lane)
                    .filter(|seen| start >= **seen)
                {
                    *seen = named::value_of_name(text, start, end, *sink, spans).max(end);
                }
            }
            Some(Scanner::Parameter) => spans.extend(named::parameter(text, start, end, *sink)),
            Some(Scanner::Bearer) => spans.extend(token::bearer(bytes, start, end)),
            Some(Scanner::Url) => spans.extend(url::userinfo(text, start, end, *sink)),
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_triggers_compile() {
        assert!(FOR_LINES.is_some() && FOR_LONG_TEXTS.is_some());
    }

    #[test]
    fn long_texts_are_read_like_short_ones() {
        let short = "curl https://user:hunter2@host -H 'Authorization: Bearer abc.def-0123456789'\n\
                     GH=ghp_Ab3dEfGh1jKlMnOpQrSt +15551234567 password=hunter2\n";
        let mut expected = Vec::new();
        find(short, Sink::Log, &mut expected);
        assert!(expected.len() > 3, "{expected:?}");
        let long = "plain words\n".repeat(LONG / 8) + short;
        let offset = long.len() - short.len();
        let mut found = Vec::new();
        find(&long, Sink::Log, &mut found);
        let moved = found.iter().map(|span| Span {
            start: span.start - offset,
            end: span.end - offset,
            ..*span
        });
        assert_eq!(moved.collect::<Vec<_>>(), expected);
        // The same everywhere: also across the places where the reading is divided.
        let many = short.repeat(LONG / short.len() + 3);
        let mut found = Vec::new();
        find(&many, Sink::Log, &mut found);
        let places = |spans: &[Span]| spans.iter().map(|span| span.start).collect::<BTreeSet<_>>();
        let copies = many.len() / short.len();
        assert_eq!(places(&found).len(), places(&expected).len() * copies);
    }
}
