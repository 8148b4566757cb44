//! Glob matching in linear space and without backtracking beyond the last star.
//!
//! Knows `*`, `?` and `[…]`; `*` crosses everything, newlines and slashes included, because the
//! subjects are command lines and not paths.

/// Whether letters of different case count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Sensitive,
    Insensitive,
}

/// Whether a text holds a character that means something in a pattern.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether the whole text matches the pattern.
pub(crate) fn matches(pattern: &str, text: &str, case: Case) -> bool {
    let pattern = compile(pattern, case);
    let text: Vec<char> = text.chars().map(|c| cased(c, case)).collect();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), text.get(t)) {
            (Some(Part::Star), _) => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            (Some(part), Some(&c)) if part.accepts(c) => {
                p += 1;
                t += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((after_star, from)) if from < text.len() => {
                retry = Some((after_star, from + 1));
                p = after_star;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

enum Part {
    Star,
    Any,
    One(char),
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Part {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::One(one) => *one == c,
            Self::Set { ranges, negated } => {
                ranges.iter().any(|&(low, high)| (low..=high).contains(&c)) != *negated
            }
        }
    }
}

fn cased(c: char, case: Case) -> char {
    match case {
        // One character for one, so that positions stay comparable.
        Case::Insensitive => c.to_lowercase().next().unwrap_or(c),
        Case::Sensitive => c,
    }
}

fn compile(pattern: &str, case: Case) -> Vec<Part> {
    let chars: Vec<char> = pattern.chars().map(|c| cased(c, case)).collect();
    let mut parts = Vec::with_capacity(chars.len());
    let mut at = 0;
    // Once a bracket stays open, no later one closes either.
    let mut brackets_close = true;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '*' => {
                if !matches!(parts.last(), Some(Part::Star)) {
                    parts.push(Part::Star);
                }
            }
            '?' => parts.push(Part::Any),
            '[' if brackets_close => match bracket(&chars, at) {
                Some((set, next)) => {
                    parts.push(set);
                    at = next;
                }
                None => {
                    brackets_close = false;
                    parts.push(Part::One('['));
                }
            },
            other => parts.push(Part::One(other)),
        }
    }
    parts
}

fn bracket(chars: &[char], start: usize) -> Option<(Part, usize)> {
    let negated = matches!(chars.get(start), Some('!' | '^'));
    let first = if negated { start + 1 } else { start };
    let length = chars.get(first + 1..)?.iter().position(|&c| c == ']')? + 1;
    let body = chars.get(first..first + length)?;
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(&low) = body.get(at) {
        match (body.get(at + 1), body.get(at + 2)) {
            (Some('-'), Some(&high)) => {
                ranges.push((low, high));
                at += 3;
            }
            _ => {
                ranges.push((low, low));
                at += 1;
            }
        }
    }
    Some((Part::Set { ranges, negated }, first + length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_texts() {
        for (pattern, text, expected) in [
            ("sudo *", "sudo id", true),
            ("sudo *", "sudo", false),
            ("SUDO *", "sudo id", true),
            ("*rm*", "a\nrm\nb", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("[x", "[x", true),
            ("", "", true),
            ("*", "", true),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
        ] {
            assert_eq!(
                matches(pattern, text, Case::Insensitive),
                expected,
                "{pattern:?} on {text:?}"
            );
        }
        assert!(!matches("A", "a", Case::Sensitive));
    }
}
