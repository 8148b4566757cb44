//! Glob matching in linear space and without backtracking beyond the last star.
//!
//! Knows `*`, `?` and `[…]`; `*` crosses everything, newlines and slashes included, because the
//! subjects are command lines and not paths.

use std::str::Chars;

/// Whether letters of different case count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Sensitive,
    Insensitive,
}

/// Whether a text holds a character that means something in a pattern.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether the whole text matches the pattern.
pub fn matches(pattern: &str, text: &str, case: Case) -> bool {
    Pattern::new(pattern, case).matches(text)
}

/// A pattern taken apart, for those who have many texts for it.
pub struct Pattern {
    parts: Vec<Part>,
    case: Case,
}

impl Pattern {
    /// Takes a pattern apart.
    pub fn new(pattern: &str, case: Case) -> Self {
        let parts = compile(pattern, case);
        Self { parts, case }
    }

    /// Whether it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let mut parts = self.parts.as_slice();
        let mut chars = text.chars();
        // Behind the last star: the parts, and the text they were tried on.
        let mut retry: Option<(&[Part], Chars<'_>)> = None;
        loop {
            let mut behind = chars.clone();
            match (parts.split_first(), behind.next()) {
                (Some((Part::Star, rest)), _) => {
                    retry = Some((rest, chars.clone()));
                    parts = rest;
                    continue;
                }
                (Some((part, rest)), Some(c)) if part.accepts(cased(c, self.case)) => {
                    (parts, chars) = (rest, behind);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((after_star, from)) = &mut retry else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            (parts, chars) = (after_star, from.clone());
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
        Case::Insensitive if c.is_ascii() => c.to_ascii_lowercase(),
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
