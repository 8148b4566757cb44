//! Removes reasoning between tags, and tool calls written as markup, from the text of an answer.
//!
//! Answers may also be about such tags: code is never touched, and an unpaired tag counts only where
//! reasoning can begin or end. Reasoning is moved, not dropped.

use hermes_policy::injection::is_fence;

/// Tags of reasoning in the text of some models.
const REASONING_TAGS: &[&str] = &[
    "think",
    "thinking",
    "reasoning",
    "thought",
    "reasoning_scratchpad",
];
/// Tags of tool calls that some models write as text.
const CALL_TAGS: &[&str] = &[
    "tool_call",
    "tool_calls",
    "function_call",
    "function_calls",
    "tool_result",
];

/// The answer without reasoning and markup. Text without tags is returned unchanged.
pub(crate) fn cleaned(text: &str) -> String {
    continued("", text).0
}

/// The same for the continuation of a truncated answer, and the reasoning between tags.
pub(crate) fn continued(before: &str, text: &str) -> (String, Option<String>) {
    if !text.contains('<') {
        return (text.to_owned(), None);
    }
    let mut parser = AnswerParser {
        text,
        at: 0,
        kept: String::with_capacity(text.len()),
        reasoning: Vec::new(),
        is_beginning: before.is_empty(),
        in_fence: before.lines().filter(|line| is_fence(line)).count() % 2 == 1,
    };
    parser.read();
    let reasoning = (!parser.reasoning.is_empty()).then(|| parser.reasoning.join("\n\n"));
    if parser.kept.len() == text.len() {
        return (parser.kept, reasoning);
    }
    (parser.kept.trim().to_owned(), reasoning)
}

/// Parses an answer once, from left to right.
struct AnswerParser<'a> {
    text: &'a str,
    at: usize,
    kept: String,
    reasoning: Vec<String>,
    /// Whether there is no text yet, also not before.
    is_beginning: bool,
    in_fence: bool,
}

impl<'a> AnswerParser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn starts_line(&self) -> bool {
        let said = self.text.get(..self.at).unwrap_or_default();
        let line = said.rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    }

    fn keep(&mut self, length: usize) {
        let kept = self.rest().get(..length).unwrap_or(self.rest());
        self.kept.push_str(kept);
        self.at += kept.len().max(1);
    }

    fn add_reasoning(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.reasoning.push(text.to_owned());
        }
    }

    fn read(&mut self) {
        while !self.rest().is_empty() {
            let line_length = self
                .rest()
                .find('\n')
                .map_or(self.rest().len(), |end| end + 1);
            let line = self.rest().get(..line_length).unwrap_or_default();
            if self.begins_line() && is_fence(line) {
                self.in_fence = !self.in_fence;
                self.keep(line_length);
                continue;
            }
            if self.in_fence {
                self.keep(line_length);
                continue;
            }
            match self.rest().find(['`', '<', '\n']) {
                None => self.keep(self.rest().len()),
                Some(0) => self.special(),
                Some(length) => self.keep(length),
            }
        }
    }

    fn begins_line(&self) -> bool {
        let said = self.text.get(..self.at).unwrap_or_default();
        said.is_empty() || said.ends_with('\n')
    }

    /// Handles a backtick, an angle bracket or a new line.
    fn special(&mut self) {
        let rest = self.rest();
        if rest.starts_with('\n') {
            return self.keep(1);
        }
        if rest.starts_with('`') {
            return self.keep(code_length(rest));
        }
        if let Some((tag, inside)) = opening(rest, REASONING_TAGS) {
            return self.reasoning_block(tag, inside);
        }
        if let Some(behind) = closing(rest, REASONING_TAGS).filter(|behind| self.is_end(behind)) {
            // The opening tag is part of some models' prompts and missing here.
            let reasoning = std::mem::take(&mut self.kept);
            self.add_reasoning(&reasoning);
            self.at = self.text.len() - behind.len();
            self.is_beginning = false;
            return;
        }
        if let Some((tag, inside)) = opening(rest, CALL_TAGS)
            && let Some((call, behind)) = split_at_closing(inside, tag)
            && (self.starts_line() || call.trim_start().starts_with(['{', '[', '<']))
        {
            self.at = self.text.len() - behind.len();
            return;
        }
        self.keep(1);
    }

    /// Handles reasoning with both tags, or without a closing one.
    fn reasoning_block(&mut self, tag: &'static str, inside: &str) {
        self.is_beginning = false;
        if let Some((reasoning, behind)) = split_at_closing(inside, tag) {
            self.add_reasoning(reasoning);
            self.at = self.text.len() - behind.len();
        } else if self.starts_line() {
            self.add_reasoning(inside);
            self.at = self.text.len();
        } else {
            self.keep(1);
        }
    }

    /// Whether an unpaired closing tag ends reasoning that began with the answer: it is the first tag,
    /// and at the beginning or end of a line.
    fn is_end(&self, behind: &str) -> bool {
        let line = behind.lines().next().unwrap_or_default();
        self.is_beginning
            && self.reasoning.is_empty()
            && (line.trim().is_empty() || self.starts_line())
    }
}

/// The length of the inline code at the start of a text: up to the same number of backticks in the
/// paragraph, or the backticks alone.
fn code_length(text: &str) -> usize {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let inside = text.get(ticks..).unwrap_or_default();
    let paragraph = inside.split("\n\n").next().unwrap_or_default();
    let mut at = 0;
    while let Some(found) = paragraph.get(at..).and_then(|rest| rest.find('`')) {
        let run = paragraph.get(at + found..).unwrap_or_default();
        let length = run.len() - run.trim_start_matches('`').len();
        if length == ticks {
            return ticks + at + found + length;
        }
        at += found + length;
    }
    ticks
}

/// The opening tag at the start of a text, and the text after it.
fn opening<'a>(text: &'a str, tags: &[&'static str]) -> Option<(&'static str, &'a str)> {
    let inside = text.strip_prefix('<')?;
    tags.iter().find_map(|tag| {
        let rest = strip_prefix_folded(inside, tag)?;
        if let Some(rest) = rest.strip_prefix('>') {
            return Some((*tag, rest));
        }
        // Calls may carry attributes.
        let (attributes, rest) = rest.split_once('>')?;
        let is_tag = attributes.starts_with(char::is_whitespace) && !attributes.contains('<');
        (is_tag && CALL_TAGS.contains(tag)).then_some((*tag, rest))
    })
}

/// The text after the closing tag at its start.
fn closing<'a>(text: &'a str, tags: &[&'static str]) -> Option<&'a str> {
    let inside = text.strip_prefix("</")?;
    tags.iter()
        .find_map(|tag| strip_prefix_folded(inside, tag)?.strip_prefix('>'))
}

/// The text before and after the closing tag.
fn split_at_closing<'a>(text: &'a str, tag: &'static str) -> Option<(&'a str, &'a str)> {
    text.match_indices("</").find_map(|(at, _)| {
        let behind = closing(text.get(at..)?, &[tag])?;
        Some((text.get(..at)?, behind))
    })
}

fn strip_prefix_folded<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix)
        .then(|| text.get(prefix.len()..))
        .flatten()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn split(text: &str) -> (String, Option<String>) {
        continued("", text)
    }

    fn parts(text: &str, reasoning: &str) -> (String, Option<String>) {
        (text.to_owned(), Some(reasoning.to_owned()))
    }

    #[test]
    fn reasoning_is_moved_out_of_the_text() {
        assert_eq!(split("<think>a</think>b"), parts("b", "a"));
        assert_eq!(
            split("<THINKING>a</THINKING>\nx\n<thought>c</thought>"),
            parts("x", "a\n\nc")
        );
        assert_eq!(split("Well. <think>a</think> b"), parts("Well.  b", "a"));
        assert_eq!(
            split("<think>with `code` and\n```\na fence</think>b"),
            parts("b", "with `code` and\n```\na fence")
        );
        // The opening tag is part of some models' prompts and never comes.
        assert_eq!(split("a</think>\n\nb"), parts("b", "a"));
        assert_eq!(split("a\n</think> b"), parts("b", "a"));
        assert_eq!(split("b\n<think>unfinished"), parts("b", "unfinished"));
        assert_eq!(
            split("<REASONING_SCRATCHPAD>a</REASONING_SCRATCHPAD>b"),
            parts("b", "a")
        );
    }

    #[test]
    fn answers_about_tags_are_unchanged() {
        for text in [
            "Write the tag `<thinking>` before your plan, then call make. The rest matters.",
            "Important: the parser splits the text at `</think>` and keeps the end.",
            "The tag <think> opens it, and the rest of this line is not a thought.",
            "It ends at </think>, as the manual says.",
            "```xml\n<think>\nplan\n</think>\n```\nThat is the form.",
            "~~~\n<tool_call>{}</tool_call>\n~~~",
            "Models write `<tool_call>{\"name\": \"x\"}</tool_call>` here.",
            "``a ` <think>b</think>`` is code.",
            "Use <tool_call> and </tool_call> around it.",
            "a <b> c < d",
            "ends with <",
            "half a tag: <think",
            "é<think",
        ] {
            assert_eq!(split(text), (text.to_owned(), None), "{text}");
        }
    }

    #[test]
    fn calls_written_as_text_are_removed() {
        assert_eq!(
            split("ok <tool_call>{\"name\": \"x\"}</tool_call>"),
            ("ok".to_owned(), None)
        );
        assert_eq!(
            split("ok\n<function_calls id=\"1\">\nx\n</function_calls>"),
            ("ok".to_owned(), None)
        );
    }

    #[test]
    fn continuation_knows_whether_it_begins_in_code() {
        let code = "<think>\nplan\n</think>\n```\nThat is it.";
        assert_eq!(continued("Look:\n```xml\n", code).0, code);
        assert_eq!(continued("Look:", "x </think>\ny").0, "x </think>\ny");
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_dropped(parts in proptest::collection::vec(0..10_usize, 0..20)) {
            let all = ["<think>", "</think>", "`", "```\n", "\n", "one ", "two ", "\n\n", "<", "</"];
            let text: String = parts.iter().map(|at| all[*at]).collect();
            let (left, reasoning) = continued("", &text);
            let left = left + &reasoning.unwrap_or_default();
            for word in ["one", "two"] {
                proptest::prop_assert_eq!(
                    left.matches(word).count(),
                    text.matches(word).count(),
                    "{:?}", text
                );
            }
        }
    }
}
