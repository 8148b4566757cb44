//! Finds every secret of a text and replaces it by its mask.
//!
//! Known values and token shapes are looked for in the untouched text, their places are united,
//! and only then is anything replaced: a short known value inside a long token must not break the
//! token's shape and let the rest through. It never decides by context where the text goes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use crate::assignments::are_assignments;
use crate::mask::{FULL, log_mask};
use crate::shape::{self, Mask, Span};
use crate::{SecretString, Sink};

/// Shorter values would mask half of every text.
const SHORTEST_KNOWN_VALUE: usize = 8;

/// Masking can complete another shape (a mask ends a word that was too long before). Two rounds
/// are the rule; the bound only guards against a text made to go on for ever.
const MOST_ROUNDS: usize = 8;

/// Replaces secrets by masks. Built once at start, so nothing that happens later can switch it off.
#[derive(Clone)]
pub struct Redactor {
    known: Vec<SecretString>,
    /// Compiled at the first text: most commands never log a line.
    automaton: OnceLock<Option<AhoCorasick>>,
    enabled: bool,
    sink: Sink,
}

impl Redactor {
    /// A redactor for these values and all known token shapes, for [`Sink::Log`].
    ///
    /// Values under eight characters are left to the shapes. Each value is also recognised as it
    /// looks inside JSON and inside a URL. A known value becomes `***` whatever its length: nothing
    /// is known about which part of it may be shown.
    pub fn new<V: Into<SecretString>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut known: Vec<SecretString> = Vec::new();
        for value in values {
            add_forms(&value.into(), &mut known);
        }
        Self {
            known,
            automaton: OnceLock::new(),
            enabled: true,
            sink: Sink::Log,
        }
    }

    /// The same values, with the shapes that count where the text goes.
    #[must_use]
    pub fn for_sink(&self, sink: Sink) -> Self {
        Self {
            sink,
            ..self.clone()
        }
    }

    /// A redactor that masks this value as well, for a secret that came up later and is soon
    /// forgotten again.
    #[must_use]
    pub fn that_knows(&self, value: &SecretString) -> Self {
        let mut known = self.known.clone();
        add_forms(value, &mut known);
        Self {
            known,
            automaton: OnceLock::new(),
            ..*self
        }
    }

    /// The same, ready for the first text: for one that is copied, as the copies then share the work.
    #[must_use]
    pub fn compiled(self) -> Self {
        self.automaton();
        self
    }

    /// A redactor that lets everything through, for `security.redact_secrets: false`.
    pub fn disabled() -> Self {
        Self {
            enabled: false,
            ..Self::default()
        }
    }

    /// Whether anything is masked at all.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The text with every secret masked; borrowed when there was none.
    ///
    /// Applying it again changes nothing.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.enabled {
            return Cow::Borrowed(text);
        }
        let sink = match self.sink {
            Sink::Output if are_assignments(text) => Sink::Variables,
            sink => sink,
        };
        let mut result = Cow::Borrowed(text);
        for _ in 0..MOST_ROUNDS {
            match self.round(&result, sink) {
                Some(changed) if changed != *result => result = Cow::Owned(changed),
                _ => break,
            }
        }
        result
    }

    /// Places without which there is no secret, in order: a part of the text that none of them touches
    /// is left by [`Self::redact`] as it is. One look at many texts together, which costs less than one
    /// at each.
    pub fn traces(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        if !self.enabled {
            return places;
        }
        if let Some(automaton) = self.automaton() {
            // One that overlaps another touches what the other one is in.
            places.extend(
                automaton
                    .find_iter(text)
                    .map(|found| found.start()..found.end()),
            );
        }
        shape::traces(text, &mut places);
        places.sort_unstable_by_key(|place| place.start);
        places
    }

    fn round(&self, text: &str, sink: Sink) -> Option<String> {
        let mut spans = Vec::new();
        if let Some(automaton) = self.automaton() {
            // Overlapping, so that of two values that share characters neither survives in part.
            spans.extend(automaton.find_overlapping_iter(text).map(|found| Span {
                start: found.start(),
                end: found.end(),
                mask: Mask::Full,
            }));
        }
        shape::find(text, sink, &mut spans);
        spans.retain(|span| span.mask != Mask::Present);
        if spans.is_empty() {
            return None;
        }
        Some(replace(text, unite(spans)))
    }

    fn automaton(&self) -> Option<&AhoCorasick> {
        if self.known.is_empty() {
            return None;
        }
        self.automaton
            .get_or_init(|| {
                // Building fails only for more than 2^31 bytes of patterns; the shapes still work.
                AhoCorasick::new(self.known.iter().map(SecretString::expose)).ok()
            })
            .as_ref()
    }
}

impl Default for Redactor {
    /// Shapes only, no known values.
    fn default() -> Self {
        Self::new(std::iter::empty::<SecretString>())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Redactor")
            .field("enabled", &self.enabled)
            .field("known", &self.known.len())
            .finish_non_exhaustive()
    }
}

/// Adds a value as it looks in plain text, in JSON and in a URL.
fn add_forms(value: &SecretString, known: &mut Vec<SecretString>) {
    let value = value.expose().trim();
    if value.chars().count() < SHORTEST_KNOWN_VALUE {
        return;
    }
    for form in [value.to_owned(), in_json(value), in_url(value)] {
        let form = SecretString::from(form);
        if !known.contains(&form) {
            known.push(form);
        }
    }
}

/// Joins spans that share a byte. A span that merely touches the next stays apart.
fn unite(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut united: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match united.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                last.mask = last.mask.max(span.mask);
            }
            _ => united.push(span),
        }
    }
    united
}

fn replace(text: &str, spans: Vec<Span>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        // Spans begin and end beside ASCII or at the ends of a valid string, so both exist.
        let (Some(before), Some(secret)) =
            (text.get(done..span.start), text.get(span.start..span.end))
        else {
            continue;
        };
        out.push_str(before);
        match span.mask {
            Mask::Log => out.push_str(&log_mask(secret)),
            Mask::Full => out.push_str(FULL),
            Mask::Present => out.push_str(secret),
        }
        done = span.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

fn in_json(value: &str) -> String {
    let pairs = [
        ('\\', "\\\\"),
        ('"', "\\\""),
        ('\n', "\\n"),
        ('\r', "\\r"),
        ('\t', "\\t"),
    ];
    pairs
        .into_iter()
        .fold(value.to_owned(), |text, (c, escaped)| {
            text.replace(c, escaped)
        })
}

fn in_url(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = value.bytes().map(|byte| match byte {
        byte if is_plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}

#[cfg(test)]
#[path = "redactor_tests.rs"]
mod tests;
