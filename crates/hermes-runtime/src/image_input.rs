//! `agent.image_input_mode`: whether the model gets images, or words about them.

use hermes_agent::{TurnInput, describe_image};
use hermes_config::Config;
use hermes_proc::Wake;
use hermes_providers::AuxiliaryModels;
use hermes_session::SessionId;
use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

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

/// Whether images of a turn are described to this model instead of being sent.
pub(crate) fn wants_text(config: &Config, model: &str) -> bool {
    match config.text("agent.image_input_mode") {
        "native" => false,
        "text" => true,
        // A model that is not known to see gets words only where a model for them is set up; any other
        // server is asked, and its refusal remembered.
        _ => has_vision_model(config) && !sees(model),
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

/// The input with a description in place of each image. An image that nobody can describe is sent as
/// it is.
pub(crate) fn described(
    mut input: TurnInput,
    models: &AuxiliaryModels,
    interrupt: &Wake,
    session: &SessionId,
    context: &Context,
    person: &dyn Person,
) -> TurnInput {
    let account = Some((context.location.home.clone(), session.clone()));
    let images = std::mem::take(&mut input.images);
    for (at, image) in images.into_iter().enumerate() {
        if interrupt.is_raised() {
            input.images.push(image);
            continue;
        }
        match describe_image(models, &image, &input.text, interrupt, &account) {
            Ok(text) => {
                let words = format!("[Image {}, described by another model: {text}]", at + 1);
                let whole = format!("{}\n\n{words}", input.text);
                whole.trim().clone_into(&mut input.text);
            }
            Err(reason) => {
                person.warn(&format!("the image could not be described: {reason}"), None);
                input.images.push(image);
            }
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_see_are_known_by_name() {
        for model in ["anthropic/claude-sonnet-4", "gpt-4o-mini", "qwen2.5-VL-7b"] {
            assert!(sees(model), "{model}");
        }
        for model in ["deepseek-chat", "qwen3-coder", "llama-3.3-70b"] {
            assert!(!sees(model), "{model}");
        }
    }
}
