//! Regular expressions that a model wrote, bounded in memory and in time.
//!
//! Matching takes time in proportion to the states of the expression times the bytes of the line, and
//! nothing can stop it in between. So an expression may have so many states, and a line it is tried on
//! so many bytes that their product is a matter of seconds at worst; between lines the deadline of the
//! search counts.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_automata::nfa::thompson::{NFA, WhichCaptures};

/// Longest expression, in bytes.
const MAX_PATTERN: usize = 32 * 1024;
/// Bytes of a compiled expression: some ten thousand states.
const MAX_COMPILED: usize = 4 * 1024 * 1024;
/// Bytes of what is learnt about an expression while it is matched.
const MAX_LEARNT: usize = 8 * 1024 * 1024;
/// States times bytes of one line: some ten seconds, if the worst comes.
const MAX_STEPS: usize = 2_000_000_000;
/// A line that needs more memory ends the search of its file, whatever the expression is.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Every expression is tried on lines of this length.
const MIN_LINE: usize = 4 * 1024;

/// An expression to look for in lines.
#[derive(Debug, Clone)]
pub(crate) struct LinePattern {
    /// As the call wrote it; it is a valid one.
    pub(crate) text: String,
    pub(crate) matcher: RegexMatcher,
    /// Bytes of the longest line it is tried on.
    pub(crate) max_line: usize,
}

impl LinePattern {
    /// Compiles an expression; the error is a sentence.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!(
                "The regular expression has {} bytes, more than {MAX_PATTERN}. Search for less at \
                 once.",
                text.len()
            ));
        }
        let matcher = RegexMatcherBuilder::new()
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_LEARNT)
            .build(text)
            .map_err(|error| {
                if error.to_string().contains("size limit") {
                    "The regular expression is too large. Use smaller repetitions, or search for \
                     less at once."
                        .to_owned()
                } else {
                    format!("Invalid regular expression: {error}")
                }
            })?;
        Ok(Self {
            text: text.to_owned(),
            matcher,
            max_line: (MAX_STEPS / states(text).max(1)).clamp(MIN_LINE, MAX_LINE),
        })
    }
}

/// How many states an expression has that could be compiled.
fn states(text: &str) -> usize {
    let config = NFA::config()
        .nfa_size_limit(Some(MAX_COMPILED))
        .which_captures(WhichCaptures::None);
    let compiled = NFA::compiler().configure(config).build(text);
    // What does not fit here is as large as can be.
    compiled.map_or(usize::MAX, |nfa| nfa.states().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_expressions_are_tried_on_long_lines() {
        for text in ["needle", r"fn\s+\w+\(", "a|b|c", r#""[a-z_]+":\s*\d+"#] {
            let pattern = LinePattern::new(text).unwrap();
            assert!(pattern.max_line >= 2 << 20, "{text}: {}", pattern.max_line);
        }
        assert_eq!(LinePattern::new("needle").unwrap().max_line, MAX_LINE);
    }

    #[test]
    fn large_expressions_are_refused_or_tried_on_short_lines() {
        for text in [r"\w{5000}", "((a{100}){100}){100}", r"(\pL{1,90}\d?){1,90}"] {
            let error = LinePattern::new(text).unwrap_err();
            assert!(error.contains("too large"), "{text}: {error}");
        }
        let wide = LinePattern::new("(?:[a-q][^u-z]{13}x){1,120}").unwrap();
        assert!(wide.max_line < 256 * 1024, "{}", wide.max_line);
        let long = "x".repeat(MAX_PATTERN + 1);
        assert!(LinePattern::new(&long).unwrap_err().contains("more than"));
        assert!(
            LinePattern::new("(")
                .unwrap_err()
                .starts_with("Invalid regular expression")
        );
    }
}
