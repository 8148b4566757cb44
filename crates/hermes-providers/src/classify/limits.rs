//! Limits that a provider states in an error about length. Nothing is guessed.

use std::sync::LazyLock;

use regex::Regex;

/// Plausible context windows; other numbers are ignored.
pub(crate) const PLAUSIBLE_WINDOW: std::ops::RangeInclusive<u64> = 1_024..=10_000_000;

fn compiled(patterns: &[&str]) -> Vec<Regex> {
    // The tests below count the compiled patterns.
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
}

static WINDOW: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compiled(&[
        r"maximum (?:context|model|prompt|input|sequence)[a-z ]{0,20}(?:length|size|window|tokens)[^0-9]{0,20}([0-9][0-9,_]{3,})",
        r"context[_ ](?:length|window|size|limit)[^0-9]{0,24}([0-9][0-9,_]{3,})",
        r"\bn_ctx\b[^0-9]{0,8}([0-9]{4,})",
        r"max_model_len[^0-9]{0,8}([0-9]{4,})",
        r">=?\s*([0-9][0-9,_]{3,})\s*(?:tokens\s*)?(?:maximum|max|limit)",
        r"([0-9][0-9,_]{3,})[- ]token (?:limit|context|window)",
        r"limit (?:is|of|to|:)\s*([0-9][0-9,_]{3,})",
        r"maximum (?:is|of|allowed is)\s*([0-9][0-9,_]{3,})",
        r"exceeds? the (?:maximum number of tokens allowed|limit of)[^0-9]{0,8}([0-9][0-9,_]{3,})",
    ])
});

static AVAILABLE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compiled(&[
        r"available[_ ]tokens[:\s]+([0-9,_]+)",
        r"([0-9,_]+) tokens? (?:are |is )?available for (?:the )?(?:output|completion)",
    ])
});

/// `188240 + 21333 > 200000`: prompt, requested answer and window.
static SUM: LazyLock<Vec<Regex>> =
    LazyLock::new(|| compiled(&[r"([0-9]{3,})\s*\+\s*([0-9]{2,})\s*>\s*([0-9]{4,})"]));

/// The context window, if the text states it.
pub(super) fn stated_window(text: &str) -> Option<u64> {
    WINDOW.iter().find_map(|pattern| {
        let found = pattern.captures(text)?;
        number(found.get(1)?.as_str()).filter(|tokens| PLAUSIBLE_WINDOW.contains(tokens))
    })
}

/// Tokens left for the answer, if the text says that `max_tokens` is too large.
pub(super) fn available_output(text: &str) -> Option<u64> {
    if !text.contains("max_tokens") && !text.contains("max_completion_tokens") {
        return None;
    }
    if let Some(found) = AVAILABLE.iter().find_map(|pattern| pattern.captures(text)) {
        return number(found.get(1)?.as_str()).filter(|tokens| *tokens > 0);
    }
    let found = SUM.iter().find_map(|pattern| pattern.captures(text))?;
    let prompt = number(found.get(1)?.as_str())?;
    let window = number(found.get(3)?.as_str())?;
    window.checked_sub(prompt).filter(|left| *left > 64)
}

fn number(text: &str) -> Option<u64> {
    text.replace([',', '_'], "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(WINDOW.len(), 9);
        assert_eq!(AVAILABLE.len(), 2);
        assert_eq!(SUM.len(), 1);
    }

    #[test]
    fn stated_window_is_read_and_other_numbers_ignored() {
        let cases = [
            (
                "this model's maximum context length is 32768 tokens. however, you requested 40000 tokens",
                Some(32_768),
            ),
            (
                "prompt is too long: 210000 tokens > 200000 maximum",
                Some(200_000),
            ),
            (
                "the input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
                Some(1_048_576),
            ),
            (
                "requested tokens (9000) exceed context window of 8,192",
                Some(8_192),
            ),
            ("context length exceeded", None),
            ("your prompt of 50000 tokens is too long", None),
            ("maximum context length is 12 tokens", None),
        ];
        for (text, expected) in cases {
            assert_eq!(stated_window(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_left_for_the_answer_are_read() {
        assert_eq!(
            available_output(
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
            ),
            Some(11_760)
        );
        assert_eq!(
            available_output("max_tokens is too large, available_tokens: 4096"),
            Some(4_096)
        );
        assert_eq!(available_output("available_tokens: 4096"), None);
        assert_eq!(available_output("max_tokens 999999999 too large"), None);
    }
}
