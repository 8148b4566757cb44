//! Text of an answer, without what was not meant for anybody: thoughts between tags, and calls
//! written as markup instead of being made.

use std::sync::LazyLock;

use regex::Regex;

/// Tags around thoughts that some models write into their answers.
const THOUGHT_TAGS: &str = "think|thinking|reasoning|thought|REASONING_SCRATCHPAD";
/// Tags around calls that some models write as text.
const CALL_TAGS: &str = "tool_call|tool_calls|function_call|function_calls|tool_result";

/// An answer taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// What is left to show.
    pub(crate) text: String,
    /// Thoughts that stood between tags.
    pub(crate) thoughts: Option<String>,
}

/// Takes an answer apart. Text without any such tag comes back as it is.
pub(crate) fn cleaned(text: &str) -> Cleaned {
    if !text.contains('<') {
        return Cleaned {
            text: text.to_owned(),
            thoughts: None,
        };
    }
    let mut thoughts: Vec<String> = Vec::new();
    let mut rest = text.to_owned();
    for pattern in &*THOUGHTS {
        rest = pattern
            .replace_all(&rest, |found: &regex::Captures<'_>| {
                let thought = found.get(1).map_or("", |inner| inner.as_str()).trim();
                if !thought.is_empty() {
                    thoughts.push(thought.to_owned());
                }
                String::new()
            })
            .into_owned();
    }
    for pattern in &*CALLS {
        rest = pattern.replace_all(&rest, "").into_owned();
    }
    Cleaned {
        text: if rest.len() == text.len() {
            rest
        } else {
            rest.trim().to_owned()
        },
        thoughts: (!thoughts.is_empty()).then(|| thoughts.join("\n\n")),
    }
}

/// Patterns for whole blocks, then for a block at the beginning that lacks its opening tag, then for
/// one at the end that lacks its closing tag.
static THOUGHTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let blocks = THOUGHT_TAGS
        .split('|')
        .map(|tag| format!(r"(?is)<{tag}>(.*?)</{tag}>"));
    let rest = [
        format!(r"(?is)\A(.*?)</(?:{THOUGHT_TAGS})>"),
        format!(r"(?is)<(?:{THOUGHT_TAGS})>(.*)\z"),
    ];
    compiled(blocks.chain(rest))
});

static CALLS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let blocks = CALL_TAGS
        .split('|')
        .map(|tag| format!(r"(?is)<{tag}(?:\s[^>]*)?>.*?</{tag}>"));
    compiled(blocks)
});

fn compiled(patterns: impl Iterator<Item = String>) -> Vec<Regex> {
    // Fixed patterns: a test compiles each of them.
    patterns
        .filter_map(|pattern| Regex::new(&pattern).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn split(text: &str) -> (String, Option<String>) {
        let cleaned = cleaned(text);
        (cleaned.text, cleaned.thoughts)
    }

    #[test]
    fn thoughts_are_moved_out_of_the_text() {
        assert_eq!(
            split("<think>a</think>b"),
            ("b".to_owned(), Some("a".to_owned()))
        );
        assert_eq!(
            split("<THINKING>a</THINKING>\nx\n<thought>c</thought>"),
            ("x".to_owned(), Some("a\n\nc".to_owned()))
        );
        // The opening tag is part of some models' prompts and never comes.
        assert_eq!(
            split("a</think>\n\nb"),
            ("b".to_owned(), Some("a".to_owned()))
        );
        assert_eq!(
            split("b\n<think>unfinished"),
            ("b".to_owned(), Some("unfinished".to_owned()))
        );
        assert_eq!(
            split("<REASONING_SCRATCHPAD>a</REASONING_SCRATCHPAD>b"),
            ("b".to_owned(), Some("a".to_owned()))
        );
    }

    #[test]
    fn calls_written_as_text_are_removed() {
        assert_eq!(
            split("ok <tool_call>{\"name\": \"x\"}</tool_call>"),
            ("ok".to_owned(), None)
        );
        assert_eq!(split("a <b> c < d"), ("a <b> c < d".to_owned(), None));
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(THOUGHTS.len(), THOUGHT_TAGS.split('|').count() + 2);
        assert_eq!(CALLS.len(), CALL_TAGS.split('|').count());
    }
}
