//! Context windows by model family. The longest key contained in the model name wins.

const FAMILIES: &[(&str, u64)] = &[
    ("claude", 200_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4.6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4.7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-4.8", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-4.6", 1_000_000),
    ("gpt-5", 400_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5.5", 1_050_000),
    ("gpt-4", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gemini", 1_048_576),
    ("gemma", 8_192),
    ("gemma-3", 131_072),
    ("deepseek", 128_000),
    ("deepseek-v4", 1_000_000),
    ("deepseek-chat", 1_000_000),
    ("deepseek-reasoner", 1_000_000),
    ("qwen", 131_072),
    ("qwen3-coder", 262_144),
    ("kimi", 262_144),
    ("glm", 202_752),
    ("minimax", 204_800),
    ("grok-4", 256_000),
    ("grok-4-fast", 2_000_000),
    ("llama", 131_072),
];

/// The context window of a known model family.
pub(crate) fn family_window(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    FAMILIES
        .iter()
        .filter(|(key, _)| model.contains(key))
        .max_by_key(|(key, _)| key.len())
        .map(|(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_family_name_wins() {
        for (model, window) in [
            ("anthropic/claude-3-haiku", Some(200_000)),
            ("anthropic/Claude-Opus-4.6", Some(1_000_000)),
            ("openai/gpt-5.4-mini", Some(1_050_000)),
            ("gpt-5-codex", Some(400_000)),
            ("x-ai/grok-4-fast:free", Some(2_000_000)),
            ("gemma-3-27b", Some(131_072)),
            ("my-own-model", None),
        ] {
            assert_eq!(family_window(model), window, "{model}");
        }
    }
}
