//! Whose key a text looks like. Vendors mark their keys so that a key in the wrong place is noticed.

/// Beginnings of keys and the provider that issues them, the longest first.
const SHAPES: &[(&str, &str)] = &[
    ("github_pat_", "copilot"),
    ("sk-svcacct-", "openai-api"),
    ("sk-admin-", "openai-api"),
    ("sk-proj-", "openai-api"),
    ("sk-ant-", "anthropic"),
    ("nvapi-", "nvidia"),
    ("sk-or-", "openrouter"),
    ("AIza", "gemini"),
    ("xai-", "xai"),
    ("gho_", "copilot"),
    ("ghu_", "copilot"),
    ("hf_", "huggingface"),
    ("fw_", "fireworks"),
];

/// The provider that issues keys of this shape; `None` where several do, or nobody we know.
pub fn provider_of_key(key: &str) -> Option<&'static str> {
    let key = key.trim();
    SHAPES
        .iter()
        .find(|(start, _)| key.starts_with(start))
        .map(|(_, provider)| *provider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::builtin;

    #[test]
    fn key_shape_names_a_built_in_provider() {
        for (start, provider) in SHAPES {
            assert!(builtin(provider).is_some(), "{provider}");
            assert_eq!(
                provider_of_key(&format!(" {start}0123456789")),
                Some(*provider)
            );
        }
        assert_eq!(provider_of_key("sk-0123456789abcdef"), None);
        assert_eq!(provider_of_key(""), None);
    }
}
