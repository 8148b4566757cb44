//! `agent.image_input_mode`: whether a model gets images, or words about them.

use hermes_config::Config;
use serde_json::Value;

/// Parts of the names of models that see.
const SEEING: [&str; 22] = [
    "claude",
    "gpt-4o",
    "gpt-4.1",
    "gpt-5",
    "o3",
    "o4",
    "gemini",
    "gemma-3",
    "gemma3",
    "grok-4",
    "vision",
    "-vl",
    "vl-",
    "llava",
    "pixtral",
    "llama-4",
    "llama4",
    "glm-4.5v",
    "glm-4.6v",
    "kimi-k2.5",
    "minicpm-v",
    "internvl",
];

/// How models get images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageMode {
    #[default]
    Native,
    /// A description in words, by the model of `auxiliary.vision`.
    Text,
    /// Words for models that are not known to see.
    TextUnlessSeeing,
}

impl ImageMode {
    /// Reads the settings of a profile.
    pub fn resolve(config: &Config) -> Self {
        match config.text("agent.image_input_mode") {
            "native" => Self::Native,
            "text" => Self::Text,
            // A model that is not known to see gets words only where a model for them is set up; any
            // other server is asked, and its refusal remembered.
            _ if has_vision_model(config) => Self::TextUnlessSeeing,
            _ => Self::Native,
        }
    }

    /// Whether this model gets words instead of images.
    pub fn wants_text(self, model: &str) -> bool {
        match self {
            Self::Native => false,
            Self::Text => true,
            Self::TextUnlessSeeing => !sees(model),
        }
    }
}

fn sees(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    SEEING.iter().any(|part| model.contains(part))
}

fn has_vision_model(config: &Config) -> bool {
    let settings = config.get("auxiliary.vision");
    ["model", "base_url"].iter().any(|key| {
        let value = settings.map(|settings| &settings[*key]);
        value
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_see_are_known_by_name() {
        let mode = ImageMode::TextUnlessSeeing;
        for model in ["anthropic/claude-sonnet-4", "gpt-4o-mini", "qwen2.5-VL-7b"] {
            assert!(!mode.wants_text(model), "{model}");
        }
        for model in ["deepseek-chat", "qwen3-coder", "llama-3.3-70b"] {
            assert!(mode.wants_text(model), "{model}");
        }
    }
}
