//! Providers whose wire format depends on the model, and the names they know models by.

use crate::route::ApiMode;

/// Families that Azure serves in the responses format only.
const AZURE_RESPONSES: &[&str] = &["codex", "gpt-5", "o1", "o3", "o4"];

/// The format in which a provider serves a model; `None` where one format is for all of them.
pub(super) fn format_of(provider: &str, model: &str) -> Option<ApiMode> {
    let model = model.to_ascii_lowercase();
    let starts = |start: &str| model.starts_with(start);
    Some(match provider {
        "opencode-zen" if starts("claude-") || starts("qwen") => ApiMode::Anthropic,
        "opencode-zen" if starts("gpt-") => ApiMode::Responses,
        "opencode-go" if starts("minimax-") || starts("qwen") => ApiMode::Anthropic,
        "opencode-zen" | "opencode-go" => ApiMode::Chat,
        super::registry::COPILOT if is_responses_model_of_copilot(&model) => ApiMode::Responses,
        super::registry::COPILOT => ApiMode::Chat,
        super::registry::AZURE => {
            let bare = model.rsplit('/').next().unwrap_or_default();
            let mut families = AZURE_RESPONSES.iter();
            return families
                .any(|family| bare.starts_with(family))
                .then_some(ApiMode::Responses);
        }
        _ => return None,
    })
}

/// GPT from version 5 on, but for its small one.
fn is_responses_model_of_copilot(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else {
        return false;
    };
    let digits = version.split(|c: char| !c.is_ascii_digit()).next();
    let major: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    major.is_some_and(|major| major >= 5) && !model.starts_with("gpt-5-mini")
}

/// The name by which a provider knows a model that other providers spell otherwise.
pub(super) fn name_at(provider: &str, model: String) -> String {
    match provider {
        "opencode-zen" | "opencode-go" => {
            let own = model
                .split_once('/')
                .filter(|(vendor, _)| vendor.eq_ignore_ascii_case(provider));
            own.map_or(model.clone(), |(_, bare)| bare.to_owned())
        }
        super::registry::COPILOT => {
            let bare = model
                .split_once('/')
                .map_or(model.as_str(), |(_, bare)| bare);
            with_dotted_version(bare)
        }
        _ => model,
    }
}

/// Copilot writes `claude-opus-4.6` where Anthropic writes `claude-opus-4-6`, and leaves out a zero.
fn with_dotted_version(model: &str) -> String {
    let digits = |text: &str| text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = model.strip_prefix("claude-").and_then(|_| {
        let (before, minor) = model.rsplit_once('-')?;
        let (_, major) = before.rsplit_once('-')?;
        let both = !minor.is_empty() && !major.is_empty() && digits(minor) && digits(major);
        both.then_some((before, minor))
    });
    match version {
        Some((before, "0")) => before.to_owned(),
        Some((before, minor)) => format!("{before}.{minor}"),
        None => model.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_follows_from_the_model() {
        use ApiMode::{Anthropic, Chat, Responses};
        for (provider, model, format) in [
            ("opencode-zen", "claude-opus-4-6", Some(Anthropic)),
            ("opencode-zen", "gpt-5.3-codex", Some(Responses)),
            ("opencode-zen", "Qwen3.7-max", Some(Anthropic)),
            ("opencode-zen", "minimax-m2.5", Some(Chat)),
            ("opencode-go", "minimax-m2.7", Some(Anthropic)),
            ("opencode-go", "gpt-oss", Some(Chat)),
            ("opencode-go", "glm-5", Some(Chat)),
            ("copilot", "gpt-5.2", Some(Responses)),
            ("copilot", "gpt-10", Some(Responses)),
            ("copilot", "gpt-5-mini", Some(Chat)),
            ("copilot", "gpt-4.1", Some(Chat)),
            ("copilot", "gpt-", Some(Chat)),
            ("copilot", "claude-opus-4.6", Some(Chat)),
            ("azure-foundry", "gpt-5-mini", Some(Responses)),
            ("azure-foundry", "openai/o3-mini", Some(Responses)),
            ("azure-foundry", "gpt-4o", None),
            ("openrouter", "openai/gpt-5", None),
        ] {
            assert_eq!(format_of(provider, model), format, "{provider} {model}");
        }
    }

    #[test]
    fn models_are_named_as_the_provider_names_them() {
        for (provider, given, expected) in [
            ("opencode-zen", "opencode-zen/gpt-5", "gpt-5"),
            ("opencode-zen", "other/gpt-5", "other/gpt-5"),
            ("copilot", "openai/gpt-5", "gpt-5"),
            ("copilot", "anthropic/claude-opus-4-6", "claude-opus-4.6"),
            ("copilot", "claude-sonnet-4-0", "claude-sonnet-4"),
            ("copilot", "claude-sonnet-4", "claude-sonnet-4"),
            ("copilot", "claude-3-5-sonnet", "claude-3-5-sonnet"),
            (
                "copilot",
                "claude-sonnet-4-20250514",
                "claude-sonnet-4-20250514",
            ),
            (
                "openrouter",
                "anthropic/claude-opus-4-6",
                "anthropic/claude-opus-4-6",
            ),
        ] {
            assert_eq!(name_at(provider, given.to_owned()), expected, "{given}");
        }
    }
}
