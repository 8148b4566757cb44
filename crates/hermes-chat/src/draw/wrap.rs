//! Fitting styled text into columns: by words, by whole graphemes, with a hanging indent.

use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Line, Span};

/// Columns of a text.
pub(crate) fn display_width(text: &str) -> usize {
    text.width()
}

/// A grapheme with its style.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// Lines of at most `width` columns. The first begins with `first`, the others with `next`.
pub(crate) fn wrap(line: &Line, width: usize, first: &[Span], next: &[Span]) -> Vec<Line> {
    let pieces: Vec<Piece<'_>> = line
        .spans
        .iter()
        .flat_map(|span| {
            let style = span.style;
            span.content.graphemes(true).map(move |text| Piece {
                text,
                style,
                width: text.width(),
            })
        })
        .collect();
    let mut lines = Vec::new();
    let mut start = 0;
    loop {
        let prefix = if lines.is_empty() { first } else { next };
        let taken: usize = prefix.iter().map(|span| span.content.width()).sum();
        // However narrow the screen is, a line takes at least one grapheme.
        let room = width.saturating_sub(taken).max(2);
        let rest = pieces.get(start..).unwrap_or_default();
        let (count, skip) = fitting(rest, room);
        let shown = rest.get(..count).unwrap_or_default();
        lines.push(built(prefix, shown));
        start += count + skip;
        if start >= pieces.len() {
            return lines;
        }
    }
}

/// How many pieces go into a line, and how many blanks after them are dropped.
fn fitting(pieces: &[Piece<'_>], room: usize) -> (usize, usize) {
    let mut used = 0;
    let mut last_blank = None;
    for (index, piece) in pieces.iter().enumerate() {
        if used + piece.width > room && index > 0 {
            if piece.text == " " {
                let blanks = blanks_from(pieces, index);
                return (index, blanks);
            }
            return match last_blank {
                Some(blank) => {
                    let end = trimmed_end(pieces, blank);
                    if end == 0 {
                        // Nothing but an indent before the word: it is cut where the line ends.
                        (index, 0)
                    } else {
                        (end, blank + 1 - end)
                    }
                }
                None => (index, 0),
            };
        }
        if piece.text == " " {
            last_blank = Some(index);
        }
        used += piece.width;
    }
    (pieces.len(), 0)
}

fn blanks_from(pieces: &[Piece<'_>], from: usize) -> usize {
    let rest = pieces.get(from..).unwrap_or_default();
    rest.iter().take_while(|piece| piece.text == " ").count()
}

fn trimmed_end(pieces: &[Piece<'_>], end: usize) -> usize {
    let before = pieces.get(..end).unwrap_or_default();
    let blanks = before
        .iter()
        .rev()
        .take_while(|one| one.text == " ")
        .count();
    end - blanks
}

fn built(prefix: &[Span], pieces: &[Piece<'_>]) -> Line {
    let mut spans: Vec<Span> = prefix.to_vec();
    let mut run: Option<(String, Style)> = None;
    for piece in pieces {
        match &mut run {
            Some((text, style)) if *style == piece.style => text.push_str(piece.text),
            _ => {
                if let Some((text, style)) = run.take() {
                    spans.push(Span::styled(text, style));
                }
                run = Some((piece.text.to_owned(), piece.style));
            }
        }
    }
    if let Some((text, style)) = run {
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

/// At most `width` columns of a text, with `ellipsis` where something is cut at its end.
pub(crate) fn clip(text: &str, width: usize, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ellipsis.width());
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > room {
            break;
        }
        kept.push_str(grapheme);
    }
    kept.push_str(ellipsis);
    kept
}

/// At most `width` columns, cut in the middle: of a path both ends matter.
pub(crate) fn cut_middle(text: &str, width: usize, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ellipsis.width());
    let tail_room = room - room / 2;
    let head = clip(text, room / 2, "");
    let mut tail: Vec<&str> = Vec::new();
    let mut used = 0;
    for grapheme in text.graphemes(true).rev() {
        used += grapheme.width();
        if used > tail_room {
            break;
        }
        tail.push(grapheme);
    }
    tail.reverse();
    format!("{head}{ellipsis}{}", tail.concat())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let lines = wrap(&Line::from(text.to_owned()), width, &[], &[]);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one two", 7), ["one two"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("  indented text", 10), ["  indented", "text"]);
    }

    #[test]
    fn wide_and_combining_characters_are_never_split() {
        assert_eq!(wrapped("日本語日本", 5), ["日本", "語日", "本"]);
        assert_eq!(
            wrapped("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
        assert_eq!(wrapped("日", 1), ["日"]);
    }

    #[test]
    fn every_character_survives_wrapping() {
        let text = "a 日本 b\u{301}c  dd    eeeeeeeeeeeeeee f";
        for width in 1..40 {
            let joined: String = wrapped(text, width).concat();
            let words = |text: &str| text.replace(' ', "");
            assert_eq!(words(&joined), words(text), "width {width}");
        }
    }

    #[test]
    fn clipping_marks_what_is_missing() {
        assert_eq!(clip("abcdef", 4, "…"), "abc…");
        assert_eq!(clip("日本語", 4, "…"), "日…");
        assert_eq!(cut_middle("/home/me/src/project", 11, "…"), "/home…oject");
        assert_eq!(cut_middle("short", 11, "…"), "short");
    }
}
