//! The wire format of an address.

use super::host::{host_of, is_host};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiMode {
    Chat,
    Responses,
    Anthropic,
}

impl ApiMode {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "chat_completions" | "chat" | "openai" => Self::Chat,
            "codex_responses" | "responses" => Self::Responses,
            "anthropic_messages" | "anthropic" => Self::Anthropic,
            _ => return None,
        })
    }

    /// The default wire format of an address.
    pub(crate) fn of_url(base_url: &str) -> Self {
        let host = host_of(base_url);
        let path = base_url.trim_end_matches('/');
        if is_host(&host, "api.openai.com") || is_host(&host, "api.x.ai") {
            Self::Responses
        } else if path.ends_with("/anthropic")
            || is_host(&host, "api.anthropic.com")
            || (is_host(&host, "api.kimi.com") && path.contains("/coding"))
        {
            Self::Anthropic
        } else {
            Self::Chat
        }
    }

    /// The address of one request.
    pub(crate) fn endpoint(self, base_url: &str) -> String {
        match self {
            Self::Chat => format!("{base_url}/chat/completions"),
            Self::Responses => format!("{base_url}/responses"),
            Self::Anthropic if base_url.ends_with("/v1") => format!("{base_url}/messages"),
            Self::Anthropic => format!("{base_url}/v1/messages"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_follows_from_the_address() {
        for (url, mode) in [
            ("https://api.openai.com/v1", ApiMode::Responses),
            ("https://api.x.ai/v1/", ApiMode::Responses),
            ("https://api.anthropic.com", ApiMode::Anthropic),
            ("https://api.minimax.io/anthropic/", ApiMode::Anthropic),
            ("https://api.kimi.com/coding", ApiMode::Anthropic),
            ("https://openrouter.ai/api/v1", ApiMode::Chat),
            ("https://evil.example/api.openai.com", ApiMode::Chat),
            ("http://127.0.0.1:8000/v1", ApiMode::Chat),
        ] {
            assert_eq!(ApiMode::of_url(url), mode, "{url}");
        }
        assert_eq!(
            ApiMode::Anthropic.endpoint("https://x/v1"),
            "https://x/v1/messages"
        );
    }
}
