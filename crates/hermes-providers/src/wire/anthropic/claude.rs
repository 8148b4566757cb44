//! Limits and reasoning of Claude models, by name.

use serde_json::{Value, json};

use crate::request::Effort;

/// Tokens for the answer beyond the reasoning budget.
const ANSWER_RESERVE: u32 = 4_096;

/// The name on Anthropic's servers.
pub(super) fn wire_name(model: &str) -> String {
    let bare = model.strip_prefix("anthropic/").unwrap_or(model);
    if bare.contains("claude") {
        bare.replace('.', "-")
    } else {
        model.to_owned()
    }
}

/// Major and minor version of a Claude model, before or after the family name.
pub(super) fn version(model: &str) -> Option<(u32, u32)> {
    let model = wire_name(model).to_ascii_lowercase();
    let after = model.split_once("claude")?.1.to_owned();
    let mut numbers = after
        .split('-')
        .map(|word| word.parse::<u32>().ok())
        .skip_while(Option::is_none)
        // A date ends a version.
        .map_while(|number| number.filter(|number| *number < 100));
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

/// Maximum output tokens of a model.
pub(super) fn output_ceiling(model: &str) -> u32 {
    let name = wire_name(model).to_ascii_lowercase();
    if name.contains("minimax") {
        return 131_072;
    }
    if name.contains("qwen3") {
        return 65_536;
    }
    match version(model) {
        Some((4, 6..)) if name.contains("opus") => 128_000,
        Some((4, 5)) if name.contains("opus") => 64_000,
        Some((4, _)) if name.contains("opus") => 32_000,
        Some((4, _)) => 64_000,
        Some((3, 5)) => 8_192,
        Some((3, 0)) => 4_096,
        _ => 128_000,
    }
}

/// Request fields for reasoning.
pub(super) struct Thinking {
    pub(super) fields: Vec<(&'static str, Value)>,
    /// Minimum of `max_tokens`.
    pub(super) min_tokens: u32,
}

/// The request fields for reasoning, if enabled.
pub(super) fn thinking(model: &str, effort: Option<Effort>) -> Option<Thinking> {
    let effort = effort.filter(|effort| *effort != Effort::None)?;
    let version = version(model)?;
    if model.to_ascii_lowercase().contains("haiku") {
        return None;
    }
    if version >= (4, 6) {
        let name = match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh if version >= (4, 7) => "xhigh",
            Effort::XHigh => "max",
        };
        return Some(Thinking {
            fields: vec![
                (
                    "thinking",
                    json!({"type": "adaptive", "display": "summarized"}),
                ),
                ("output_config", json!({"effort": name})),
            ],
            min_tokens: 0,
        });
    }
    let budget = match effort {
        Effort::None | Effort::Minimal | Effort::Low => 4_000,
        Effort::Medium => 8_000,
        Effort::High => 16_000,
        Effort::XHigh => 32_000,
    };
    Some(Thinking {
        fields: vec![
            (
                "thinking",
                json!({"type": "enabled", "budget_tokens": budget}),
            ),
            ("temperature", json!(1)),
        ],
        min_tokens: budget + ANSWER_RESERVE,
    })
}

/// Whether a model accepts sampling parameters.
pub(super) fn accepts_sampling(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_before_and_after_the_family() {
        for (model, expected) in [
            ("claude-opus-4-6", Some((4, 6))),
            ("anthropic/claude-opus-4.6", Some((4, 6))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-3-haiku-20240307", Some((3, 0))),
            ("minimax-m2", None),
        ] {
            assert_eq!(version(model), expected, "{model}");
        }
        assert_eq!(wire_name("anthropic/claude-opus-4.6"), "claude-opus-4-6");
        assert_eq!(wire_name("MiniMax-M2.5"), "MiniMax-M2.5");
    }

    #[test]
    fn output_limits_are_as_published() {
        for (model, most) in [
            ("claude-opus-4-8", 128_000),
            ("claude-opus-4-5", 64_000),
            ("claude-opus-4-1", 32_000),
            ("claude-sonnet-4-5", 64_000),
            ("claude-haiku-4-5", 64_000),
            ("claude-3-7-sonnet", 128_000),
            ("claude-3-5-sonnet", 8_192),
            ("claude-3-opus", 4_096),
            ("MiniMax-M2", 131_072),
            ("qwen3-max", 65_536),
            ("something", 128_000),
        ] {
            assert_eq!(output_ceiling(model), most, "{model}");
        }
    }

    #[test]
    fn reasoning_fields_depend_on_the_version() {
        let new = thinking("claude-opus-4-6", Some(Effort::XHigh)).unwrap();
        assert_eq!(new.fields[1].1, json!({"effort": "max"}));
        let old = thinking("claude-sonnet-4-5", Some(Effort::High)).unwrap();
        assert_eq!(old.min_tokens, 20_096);
        assert!(thinking("claude-haiku-4-5", Some(Effort::High)).is_none());
        assert!(thinking("claude-opus-4-6", None).is_none());
        assert!(thinking("claude-opus-4-6", Some(Effort::None)).is_none());
        assert!(!accepts_sampling("claude-opus-4-7"));
    }
}
