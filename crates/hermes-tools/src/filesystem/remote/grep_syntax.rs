//! A regular expression in the words of `grep -E`: one that matches at least every line the original
//! matches, in every grep there is. What it matches beyond that is sorted out here afterwards.
//!
//! For bytes: grep runs without a locale.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Longer expressions cost grep more than they save.
const MOST_BYTES: usize = 16 * 1024;
/// Matches every line.
const EVERYTHING: &[u8] = b"^";
/// A byte of a character beyond ASCII.
const BEYOND_ASCII: &[u8] = b"[^\x01-\x7f]";

/// The expression for grep. `pattern` is one our own searcher accepts.
pub(super) fn at_least(pattern: &str) -> Vec<u8> {
    let parsed = ParserBuilder::new().utf8(false).build().parse(pattern);
    let translated = parsed.ok().and_then(|hir| whole(&hir));
    translated
        .filter(|expression| expression.len() <= MOST_BYTES)
        .unwrap_or_else(|| EVERYTHING.to_vec())
}

/// The outermost expression: only there do anchors mean the same everywhere.
fn whole(hir: &Hir) -> Option<Vec<u8>> {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(hir),
    };
    let is_start = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::Start | Look::StartLF));
    let is_end = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::End | Look::EndLF));
    let mut out = Vec::new();
    if parts.first().is_some_and(is_start) {
        out.push(b'^');
    }
    for part in parts {
        out.extend(expression(part).unwrap_or_default());
    }
    if parts.last().is_some_and(is_end) {
        out.push(b'$');
    }
    (!out.is_empty()).then_some(out)
}

/// The expression, `None` if nothing needs to be there.
fn expression(hir: &Hir) -> Option<Vec<u8>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Literal(literal) => Some(literal.0.iter().flat_map(|b| byte(*b)).collect()),
        HirKind::Class(class) => {
            let OneOf { byte, several } = one_of(class);
            Some([byte.as_slice(), if several { b"+" } else { b"" }].concat())
        }
        HirKind::Capture(capture) => expression(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sign = match (repetition.min, repetition.max) {
                (_, Some(0)) => return None,
                (1, Some(1)) => return expression(&repetition.sub),
                (0, Some(1)) => b"?",
                (0, _) => b"*",
                _ => b"+",
            };
            if let HirKind::Class(class) = repetition.sub.kind() {
                // Repeated bytes hold repeated characters; a repetition in a repetition would cost
                // some greps dearly.
                let OneOf { byte, several } = one_of(class);
                let sign = if several && sign == b"?" { b"*" } else { sign };
                return Some([byte.as_slice(), sign].concat());
            }
            let inner = expression(&repetition.sub)?;
            Some([group(inner).as_slice(), sign].concat())
        }
        HirKind::Concat(parts) => {
            let parts: Vec<u8> = parts.iter().filter_map(expression).flatten().collect();
            (!parts.is_empty()).then_some(parts)
        }
        HirKind::Alternation(parts) => {
            let choices: Vec<Vec<u8>> = parts.iter().filter_map(expression).collect();
            if choices.is_empty() {
                return None;
            }
            let may_be_nothing = choices.len() < parts.len();
            let mut choice = group(choices.join(&b'|'));
            if may_be_nothing {
                choice.push(b'?');
            }
            Some(choice)
        }
    }
}

fn group(inner: Vec<u8>) -> Vec<u8> {
    [b"(", inner.as_slice(), b")"].concat()
}

/// One byte that stands for itself.
fn byte(byte: u8) -> Vec<u8> {
    match byte {
        // Cannot be an argument, and is in no text file.
        0 => b".".to_vec(),
        b'.' | b'[' | b']' | b'(' | b')' | b'*' | b'+' | b'?' | b'{' | b'}' | b'|' | b'^'
        | b'$' | b'\\' => vec![b'\\', byte],
        _ => vec![byte],
    }
}

/// A set of characters as grep sees it.
struct OneOf {
    /// One byte of one of them.
    byte: Vec<u8>,
    /// Whether a character may have several.
    several: bool,
}

fn one_of(class: &Class) -> OneOf {
    let (ascii, beyond): (Vec<(u8, u8)>, bool) = match class {
        Class::Unicode(class) => {
            let ranges = class.ranges();
            let low = |c: char| u8::try_from(c).unwrap_or(0x7f).min(0x7f);
            let ascii = ranges.iter().filter(|range| range.start().is_ascii());
            (
                ascii.map(|r| (low(r.start()), low(r.end()))).collect(),
                ranges.iter().any(|range| !range.end().is_ascii()),
            )
        }
        Class::Bytes(class) => {
            let ranges = class.ranges();
            let ascii = ranges.iter().filter(|range| range.start().is_ascii());
            (
                ascii.map(|r| (r.start(), r.end().min(0x7f))).collect(),
                ranges.iter().any(|range| !range.end().is_ascii()),
            )
        }
    };
    let left_out = 0x80
        - ascii
            .iter()
            .map(|(a, b)| usize::from(b - a) + 1)
            .sum::<usize>();
    if beyond && left_out <= 2 {
        // The dot, which leaves out the ends of lines.
        return OneOf {
            byte: b".".to_vec(),
            several: true,
        };
    }
    let mut bracket = Vec::new();
    let mut choices = Vec::new();
    for (start, end) in ascii {
        let (mut start, mut end) = (start.max(1), end);
        // These mean something in brackets, so they do not stand at the end of a range.
        let is_special = |byte: u8| b"[]^-\\".contains(&byte);
        while start <= end && is_special(start) {
            choices.push(byte(start));
            start += 1;
        }
        while end > start && is_special(end) {
            choices.push(byte(end));
            end -= 1;
        }
        match start.cmp(&end) {
            std::cmp::Ordering::Greater => {}
            std::cmp::Ordering::Equal => bracket.push(start),
            std::cmp::Ordering::Less => bracket.extend([start, b'-', end]),
        }
    }
    if !bracket.is_empty() {
        choices.push([b"[", bracket.as_slice(), b"]"].concat());
    }
    if beyond {
        choices.push(BEYOND_ASCII.to_vec());
    }
    let byte = match choices.len() {
        // A class of nothing matches nothing, of which this is a part too.
        0 => b".".to_vec(),
        1 => choices.concat(),
        _ => group(choices.join(&b'|')),
    };
    OneOf {
        byte,
        several: beyond,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::disallowed_methods,
        reason = "real greps judge the translation"
    )]

    use std::io::Write;
    use std::process::{Command, Stdio};

    use grep_matcher::Matcher;
    use grep_regex::RegexMatcherBuilder;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written() {
        let shown = |pattern: &str| String::from_utf8(at_least(pattern)).unwrap();
        assert_eq!(shown("line(?:[0-9]+)?$"), "line([0-9]+)?$");
        assert_eq!(shown(r"^a\.b\{"), r"^a\.b\{");
        assert_eq!(shown("foo|bar"), "(foo|bar)");
        assert_eq!(shown("(?-u:[!-~])"), "[!-~]");
        assert_eq!(shown(r"[\[\]^-]x"), r"(-|\[|\]|\^)x");
        assert_eq!(shown("x{3,5}?y{0}"), "(x)+");
        assert_eq!(shown(r"\bfoo\b"), "foo");
        assert_eq!(shown("a.*?b"), "a.*b");
        assert_eq!(shown("a.?b."), "a.*b.+");
        assert_eq!(shown("(?:ab)+(?i)k"), "(ab)+([Kk]|[^\u{1}-\u{7f}])+");
        assert_eq!(shown("(a|)b"), "(a)?b");
        assert_eq!(shown("x*^"), "(x)*");
        assert_eq!(shown(r"\b"), "^");
        assert_eq!(shown(&"é".repeat(9000)), "^");
    }

    /// Lines of the text that a grep keeps.
    fn kept(program: &[&str], expression: &[u8], text: &[u8]) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let (name, first) = program.split_first().unwrap();
        let mut child = Command::new(name)
            .args(first)
            .arg("-E")
            .arg("-e")
            .arg(std::ffi::OsStr::from_bytes(expression))
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code().unwrap() < 2, "{program:?}");
        output.stdout
    }

    const PIECES: &[&str] = &[
        "a", "b", "é", "日", ".", r"\d", r"\w", r"\s", r"\W", r"\b", "[a-c]", "[^a]", "[^é]",
        r"\.", "[-x]", r"[\]\\]", "(?i:É)", "x", "-", r"\$", r"\{",
    ];
    const TIMES: &[&str] = &["", "", "", "*", "+", "?", "{2}", "{1,3}", "*?"];
    const LINES: &str =
        "a\nab\nbé\né日x\n  \na.b\n--\n]\\\nÉé\n1 2\naaa\n$ {\nxx-x\n日日\n.\n\nabc\n";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_line_is_missed(
            parts in proptest::collection::vec((0..PIECES.len(), 0..TIMES.len()), 1..5),
            alternative in proptest::option::of(0..PIECES.len()),
        ) {
            let mut pattern = String::new();
            for (piece, times) in parts {
                pattern.push_str(&format!("(?:{}){}", PIECES[piece], TIMES[times]));
            }
            if let Some(alternative) = alternative {
                pattern = format!("(?:{pattern}|{})", PIECES[alternative]);
            }
            let matcher = RegexMatcherBuilder::new()
                .line_terminator(Some(b'\n'))
                .build(&pattern)
                .unwrap();
            let expression = at_least(&pattern);
            for program in [&["grep", "-a"] as &[&str], &["busybox", "grep"]] {
                let kept = kept(program, &expression, LINES.as_bytes());
                let kept = String::from_utf8(kept).unwrap();
                let kept: Vec<&str> = kept.lines().collect();
                for line in LINES.lines() {
                    let matches = matcher.is_match(line.as_bytes()).unwrap();
                    prop_assert!(
                        !matches || kept.contains(&line),
                        "{:?} lost {:?} as {:?}",
                        pattern, line, String::from_utf8_lossy(&expression)
                    );
                }
            }
        }
    }
}
