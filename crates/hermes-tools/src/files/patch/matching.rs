//! Finding a piece of text that a model quoted from memory, exactly or approximately.
//!
//! Each kind of match is tried only when the stricter ones found nothing. Those that may be wrong count
//! only when exactly one place fits. What the new text becomes at a place is decided in `replacement`.

use std::borrow::Cow;
use std::ops::Range;

use similar::TextDiff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchKind {
    /// Byte for byte.
    Exact,
    /// Lines equal apart from blanks at both ends, so also with other indentation.
    Trimmed,
    /// Lines equal when runs of blanks count as one.
    Whitespace,
    /// Runs of blanks inside of lines count as one; the piece need not consist of whole lines.
    Blanks,
    /// Exact or trimmed after characters written as escapes are resolved.
    Escapes(Escapes),
    /// Trimmed, without blank lines at the ends of the quoted piece.
    Boundary,
    /// Lines equal when typographic quotes, dashes and blanks count as plain ones.
    Unicode(EmDash),
    /// First and last line equal, what is between similar.
    BlockAnchor,
    /// At least half of the lines similar.
    Context,
}

/// Which escapes were written once too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `\'` and `\"`. A file may well have `\n` in a string.
    Quotes,
    /// `\t`.
    Tabs,
    /// All of them, and `\n`, `\r`, `\\`.
    All,
}

/// What a long dash is typed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmDash {
    Single,
    Double,
}

/// Places in a text, in order, not overlapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextMatches {
    pub(super) kind: MatchKind,
    pub(super) ranges: Vec<Range<usize>>,
}

/// Fuzzy matching compares every window of lines; beyond this many comparisons it is not tried.
const MAX_FUZZY_COMPARISONS: usize = 400_000;
/// Lines this similar count as equal in the last kind.
const SIMILAR_LINE: f32 = 0.8;
/// The part of a block that must be similar.
const SIMILAR_BLOCK: f32 = 0.5;

/// Looks for `wanted` in `text`. Nothing found: `None`.
pub(super) fn find(text: &str, wanted: &str) -> Option<TextMatches> {
    if wanted.is_empty() {
        return None;
    }
    let found = |kind, ranges: Vec<Range<usize>>| {
        (!ranges.is_empty()).then_some(TextMatches { kind, ranges })
    };
    let by_line = |kind, normal: fn(&str) -> String| found(kind, windows(text, wanted, normal));
    found(MatchKind::Exact, exact(text, wanted))
        .or_else(|| by_line(MatchKind::Trimmed, trimmed))
        .or_else(|| by_line(MatchKind::Whitespace, one_blank))
        .or_else(|| {
            let place = within_lines(text, wanted);
            found(MatchKind::Blanks, place.into_iter().collect())
        })
        .or_else(|| {
            let kinds = [Escapes::Quotes, Escapes::Tabs, Escapes::All];
            kinds.into_iter().find_map(|escapes| {
                let plain = unescape(wanted, escapes);
                if plain == wanted {
                    return None;
                }
                let kind = MatchKind::Escapes(escapes);
                found(kind, exact(text, &plain))
                    .or_else(|| found(kind, windows(text, &plain, trimmed)))
            })
        })
        .or_else(|| {
            let inner = without_blank_ends(wanted);
            (inner != wanted && !inner.is_empty())
                .then(|| found(MatchKind::Boundary, windows(text, &inner, trimmed)))?
        })
        .or_else(|| {
            by_line(MatchKind::Unicode(EmDash::Single), |line| {
                one_blank(&plain(line, EmDash::Single))
            })
        })
        .or_else(|| {
            by_line(MatchKind::Unicode(EmDash::Double), |line| {
                one_blank(&plain(line, EmDash::Double))
            })
        })
        .or_else(|| fuzzy(text, wanted))
}

fn trimmed(line: &str) -> String {
    line.trim().to_owned()
}

/// The one place that fits when runs of blanks count as one.
fn within_lines(text: &str, wanted: &str) -> Option<Range<usize>> {
    let (wanted, _) = with_single_blanks(wanted);
    if wanted.trim().is_empty() {
        return None;
    }
    let (hay, places) = with_single_blanks(text);
    let mut found = hay.match_indices(&wanted);
    let (start, _) = found.next()?;
    let end = start + wanted.len();
    let only = found.next().is_none();
    only.then(|| Some(*places.get(start)?..*places.get(end)?))?
}

/// A text with one blank for each run of them, and where each byte of it and its end come from.
fn with_single_blanks(text: &str) -> (String, Vec<usize>) {
    let mut out = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    let mut after_blank = false;
    for (at, c) in text.char_indices() {
        let blank = matches!(c, ' ' | '\t');
        if blank && after_blank {
            continue;
        }
        after_blank = blank;
        out.push(if blank { ' ' } else { c });
        places.resize(out.len(), at);
    }
    places.push(text.len());
    (out, places)
}

fn exact(text: &str, wanted: &str) -> Vec<Range<usize>> {
    text.match_indices(wanted)
        .map(|(start, piece)| start..start + piece.len())
        .collect()
}

/// A line and its place, the line end not included.
type PlacedLine<'a> = (&'a str, Range<usize>);

fn placed_lines(text: &str) -> Vec<PlacedLine<'_>> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end + 1;
            (line, range)
        })
        .collect()
}

/// The lines of a quoted piece; a final line end is not one more line.
fn wanted_lines(wanted: &str) -> Vec<&str> {
    wanted
        .strip_suffix('\n')
        .unwrap_or(wanted)
        .split('\n')
        .collect()
}

/// From the start of the first line to the end of the last, with its line end if the quoted piece
/// has one too.
fn span(text: &str, lines: &[PlacedLine<'_>], wanted: &str) -> Option<Range<usize>> {
    let (first, last) = (lines.first()?, lines.last()?);
    let mut end = last.1.end;
    if wanted.ends_with('\n') && text.get(end..)?.starts_with('\n') {
        end += 1;
    }
    Some(first.1.start..end)
}

fn windows(text: &str, wanted: &str, normal: fn(&str) -> String) -> Vec<Range<usize>> {
    let needle: Vec<String> = wanted_lines(wanted).into_iter().map(normal).collect();
    if needle.iter().all(String::is_empty) {
        return Vec::new();
    }
    let lines = placed_lines(text);
    let hay: Vec<String> = lines.iter().map(|(line, _)| normal(line)).collect();
    let mut ranges = Vec::new();
    let mut next = 0;
    while let Some(window) = hay.get(next..next + needle.len()) {
        if window == needle {
            let placed = lines.get(next..next + needle.len()).unwrap_or_default();
            ranges.extend(span(text, placed, wanted));
            next += needle.len();
        } else {
            next += 1;
        }
    }
    ranges
}

fn one_blank(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Typographic characters as typed ones.
fn plain(line: &str, em_dash: EmDash) -> String {
    line.chars().map(|c| typed(c, em_dash)).collect()
}

/// What people type for a character; empty for one without width.
pub(super) fn typed(c: char, em_dash: EmDash) -> Cow<'static, str> {
    Cow::Borrowed(match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{2032}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2033}' => "\"",
        '\u{2014}' if em_dash == EmDash::Double => "--",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => " ",
        '\u{200b}' | '\u{feff}' => "",
        other => return Cow::Owned(other.to_string()),
    })
}

/// The text with escapes of these kinds resolved.
pub(super) fn unescape(text: &str, which: Escapes) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let resolved = match (which, c, chars.peek()) {
            (Escapes::Quotes | Escapes::All, '\\', Some(quote @ ('"' | '\''))) => *quote,
            (Escapes::Tabs | Escapes::All, '\\', Some('t')) => '\t',
            (Escapes::All, '\\', Some('n')) => '\n',
            (Escapes::All, '\\', Some('r')) => '\r',
            (Escapes::All, '\\', Some('\\')) => '\\',
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(resolved);
    }
    out
}

pub(super) fn without_blank_ends(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_full = |line: &&str| !line.trim().is_empty();
    let (Some(first), Some(last)) = (
        lines.iter().position(is_full),
        lines.iter().rposition(is_full),
    ) else {
        return String::new();
    };
    lines.get(first..=last).unwrap_or_default().join("\n")
}

fn fuzzy(text: &str, wanted: &str) -> Option<TextMatches> {
    let needle: Vec<&str> = wanted_lines(wanted).into_iter().map(str::trim).collect();
    let lines = placed_lines(text);
    // One or two lines say too little to be recognised by likeness.
    if needle.len() < 3 || lines.len().saturating_mul(needle.len()) > MAX_FUZZY_COMPARISONS {
        return None;
    }
    let blocks = || lines.windows(needle.len());
    let anchored = blocks().filter(|block| {
        let ends = |n: usize| block.get(n).map(|(line, _)| line.trim()) == needle.get(n).copied();
        ends(0) && ends(needle.len() - 1) && middle_likeness(block, &needle) >= SIMILAR_BLOCK
    });
    let in_context = blocks().filter(|block| likeness(block, &needle) >= SIMILAR_BLOCK);
    let only = |kind, mut candidates: Vec<Range<usize>>| {
        (candidates.len() == 1).then(|| TextMatches {
            kind,
            ranges: std::mem::take(&mut candidates),
        })
    };
    let spans = |block: &[PlacedLine<'_>]| span(text, block, wanted);
    only(MatchKind::BlockAnchor, anchored.filter_map(spans).collect())
        .or_else(|| only(MatchKind::Context, in_context.filter_map(spans).collect()))
}

fn ratio(one: &str, other: &str) -> f32 {
    if one == other {
        return 1.0;
    }
    // Cheap bound: no diff of lines whose lengths alone forbid likeness, nor of huge ones.
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if long > 2000 || short * 2 < long {
        return 0.0;
    }
    TextDiff::from_chars(one, other).ratio()
}

fn middle_likeness(block: &[PlacedLine<'_>], needle: &[&str]) -> f32 {
    let inner = |count: usize| 1..count.saturating_sub(1);
    let joined: String = block
        .get(inner(block.len()))
        .unwrap_or_default()
        .iter()
        .map(|(line, _)| line.trim())
        .collect::<Vec<_>>()
        .join("\n");
    ratio(
        &joined,
        &needle
            .get(inner(needle.len()))
            .unwrap_or_default()
            .join("\n"),
    )
}

/// The part of the lines that are similar.
fn likeness(block: &[PlacedLine<'_>], needle: &[&str]) -> f32 {
    let full = needle.iter().filter(|line| !line.is_empty()).count();
    let alike = block
        .iter()
        .zip(needle)
        .filter(|(placed, line)| !line.is_empty() && ratio(placed.0.trim(), line) >= SIMILAR_LINE)
        .count();
    #[expect(clippy::cast_precision_loss, reason = "counts of lines in one edit")]
    let part = alike as f32 / full.max(1) as f32;
    part
}

/// The lines of the text that look most like the first line of the quoted piece, with neighbours
/// and numbers, for an error message.
pub(super) fn nearest(text: &str, wanted: &str) -> Option<String> {
    let first = wanted
        .split('\n')
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    let lines: Vec<&str> = text.split('\n').take(50_000).collect();
    let (best, likeness) = lines
        .iter()
        .map(|line| ratio(line.trim(), first))
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    if likeness < 0.5 {
        return None;
    }
    let start = best.saturating_sub(2);
    let shown = lines.iter().enumerate().skip(start).take(best + 5 - start);
    let shown: Vec<String> = shown
        .map(|(index, line)| {
            let line: String = line.chars().take(200).collect();
            format!("{:6}|{line}", index + 1)
        })
        .collect();
    Some(shown.join("\n"))
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
