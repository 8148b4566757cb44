//! What the new text becomes at a place that was found: with the indentation, the typography and the
//! line ends of the file, and without escapes that do not belong there.

use std::time::Duration;

use similar::{Algorithm, DiffOp, TextDiff};

use super::matching::{EmDash, MatchKind, typed, unescape, without_blank_ends};

/// A comparison of old and new that takes longer is broken off, and is then coarser.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// A quoted piece and what takes its place, as the call has them.
#[derive(Clone, Copy)]
pub(super) struct Replacement<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
}

impl Replacement<'_> {
    /// The new text for a piece of a file that was found this way. The error is a sentence.
    pub(super) fn at(self, file: &str, piece: &str, kind: MatchKind) -> Result<String, String> {
        let Self { old, new } = self;
        let fitted = match kind {
            MatchKind::Exact => new.to_owned(),
            MatchKind::Escapes(which) => {
                let (old, new) = (unescape(old, which), unescape(new, which));
                reindented(&new, &old, piece)
            }
            MatchKind::Boundary => {
                let new = without_same_ends(new, old);
                reindented(new, &without_blank_ends(old), piece)
            }
            MatchKind::Unicode(em_dash) => restored(old, new, piece, em_dash),
            MatchKind::Blanks => restored(old, new, piece, EmDash::Single),
            _ => reindented(new, old, piece),
        };
        if !matches!(kind, MatchKind::Exact | MatchKind::Escapes(_)) {
            refuse_escapes(old, new, piece)?;
        }
        Ok(with_tabs(fitted, file))
    }
}

/// Quotes that are escaped in both texts of the call but not in the file were escaped on their way here.
fn refuse_escapes(old: &str, new: &str, piece: &str) -> Result<(), String> {
    for escaped in ["\\'", "\\\""] {
        if new.contains(escaped) && old.contains(escaped) && !piece.contains(escaped) {
            let quote = escaped.trim_start_matches('\\');
            return Err(format!(
                "The call has {escaped} where the file has {quote}: its arguments were escaped once too \
                 often. Read the file and pass the text as it is there, without backslashes before \
                 quotes."
            ));
        }
    }
    Ok(())
}

/// Escaped tabs at the start of lines as real ones, in a file that is indented with tabs and has no
/// line that begins with a backslash.
fn with_tabs(new: String, file: &str) -> String {
    let escaped = |line: &str| line.trim_start_matches('\t').starts_with("\\t");
    if !new.split('\n').any(escaped) {
        return new;
    }
    let tabs = file.split('\n').any(|line| line.starts_with('\t'));
    let backslashes = file
        .split('\n')
        .any(|line| line.trim_start().starts_with('\\'));
    if !tabs || backslashes {
        return new;
    }
    let lines = new.split('\n').map(|line| {
        let mut rest = line;
        let mut out = String::with_capacity(line.len());
        while let Some(behind) = rest.strip_prefix("\\t").or_else(|| rest.strip_prefix('\t')) {
            out.push('\t');
            rest = behind;
        }
        out + rest
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The new text without the blank lines at its ends that the quoted piece has there too.
fn without_same_ends<'a>(new: &'a str, old: &str) -> &'a str {
    let mut new = new;
    let is_blank = |line: &str| line.trim().is_empty();
    let mut old_lines: Vec<&str> = old.split('\n').collect();
    while let (Some(first), Some((line, rest))) = (old_lines.first(), new.split_once('\n')) {
        if !is_blank(first) || !is_blank(line) {
            break;
        }
        new = rest;
        old_lines.remove(0);
    }
    while let (Some(last), Some((rest, line))) = (old_lines.last(), new.rsplit_once('\n')) {
        if !is_blank(last) || !is_blank(line) {
            break;
        }
        new = rest;
        old_lines.pop();
    }
    new
}

/// The new text as it belongs at a place that was found with other indentation.
fn reindented(new: &str, wanted: &str, at: &str) -> String {
    let Some((quoted, there)) = first_indents(wanted, at) else {
        return new.to_owned();
    };
    if quoted == there {
        return new.to_owned();
    }
    let lines = new.split('\n').map(|line| match line.strip_prefix(quoted) {
        Some(rest) if !line.trim().is_empty() => format!("{there}{rest}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn first_indents<'a>(wanted: &'a str, at: &'a str) -> Option<(&'a str, &'a str)> {
    let indent = |text: &'a str| {
        let line = text.split('\n').find(|line| !line.trim().is_empty())?;
        line.get(..line.len() - line.trim_start().len())
    };
    Some((indent(wanted)?, indent(at)?))
}

/// The new text with the characters of the file wherever it says the same as the quoted piece, which
/// has typed characters for typographic ones, or other blanks.
fn restored(old: &str, new: &str, piece: &str, em_dash: EmDash) -> String {
    let new = reindented(new, old, piece);
    let old = reindented(old, old, piece);
    let groups = aligned(&old, piece, em_dash);
    let new_chars: Vec<char> = new.chars().collect();
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .timeout(DIFF_TIME)
        .diff_chars(old.as_str(), new.as_str());
    let mut out = String::with_capacity(new.len());
    for op in diff.ops() {
        let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *op
        else {
            out.extend(new_chars.get(op.new_range()).unwrap_or_default());
            continue;
        };
        let mut at = old_index;
        let end = old_index + len;
        while at < end {
            match groups.get(&at) {
                Some((length, text)) if at + length <= end => {
                    out.push_str(text);
                    at += length;
                }
                _ => {
                    out.extend(new_chars.get(new_index + at - old_index));
                    at += 1;
                }
            }
        }
    }
    out
}

/// For characters of the quoted piece, by number: how many of them stand for which part of the file.
type Groups<'a> = std::collections::HashMap<usize, (usize, &'a str)>;

/// One character as typed: which character of its text it comes from, and the bytes of that.
struct Typed {
    c: char,
    number: usize,
    bytes: std::ops::Range<usize>,
}

fn typed_chars(text: &str, em_dash: EmDash) -> Vec<Typed> {
    let chars = text.char_indices().enumerate();
    chars
        .flat_map(|(number, (at, c))| {
            let typed: Vec<char> = typed(c, em_dash).chars().collect();
            typed.into_iter().map(move |typed| Typed {
                c: if typed == '\t' { ' ' } else { typed },
                number,
                bytes: at..at + c.len_utf8(),
            })
        })
        .collect()
}

/// Pairs the characters of the quoted piece with those of the file, blanks that only one of them has
/// left out.
fn aligned<'a>(old: &str, piece: &'a str, em_dash: EmDash) -> Groups<'a> {
    let (wanted, there) = (typed_chars(old, em_dash), typed_chars(piece, em_dash));
    let mut pairs: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(one), Some(other)) = (wanted.get(i), there.get(j)) {
        if one.c == other.c {
            pairs.push((one.number, other.bytes.clone()));
            i += 1;
            j += 1;
        } else if other.c == ' ' {
            // Blanks of the file go with what is before them.
            if let Some((_, bytes)) = pairs.last_mut() {
                bytes.end = other.bytes.end;
            }
            j += 1;
        } else if one.c == ' ' {
            i += 1;
        } else {
            break;
        }
    }
    let mut groups: Vec<(usize, usize, std::ops::Range<usize>)> = Vec::new();
    for (number, bytes) in pairs {
        match groups.last_mut() {
            // `...` for `…`, and the other way round.
            Some((_, last, open)) if bytes.start < open.end || *last == number => {
                *last = number;
                open.end = open.end.max(bytes.end);
            }
            _ => groups.push((number, number, bytes)),
        }
    }
    groups
        .into_iter()
        .filter_map(|(first, last, bytes)| Some((first, (last + 1 - first, piece.get(bytes)?))))
        .collect()
}

#[cfg(test)]
#[path = "replacement_tests.rs"]
mod tests;
