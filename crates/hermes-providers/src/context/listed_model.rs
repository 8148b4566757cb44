//! A model as a server lists it.

use serde_json::{Value, json};

/// Words in the names of models that answer no questions.
const NOT_FOR_CHAT: &[&str] = &[
    "embed",
    "rerank",
    "whisper",
    "tts",
    "transcribe",
    "moderation",
    "dall-e",
    "imagen",
    "image-generation",
    "gpt-image",
    "sora",
    "veo-",
    "realtime",
    "text-to-",
    "speech",
    "babbage",
    "davinci",
];

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    pub input: f64,
    pub output: f64,
}

/// A model that a server offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedModel {
    pub name: String,
    /// Context window in tokens, if stated.
    pub window: Option<u64>,
    /// Price, if stated.
    pub price: Option<TokenPrice>,
    /// When the model came out, in seconds since 1970; 0 if not stated.
    pub created: i64,
    /// Whether the model can answer questions and call tools, as far as the list says.
    pub is_for_agents: bool,
}

impl ListedModel {
    /// A model of which only the name is known.
    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            window: None,
            price: None,
            created: 0,
            is_for_agents: is_for_chat(name),
        }
    }

    pub(crate) fn read(model: &Value, window: Option<u64>) -> Option<Self> {
        let mut names = ["id", "slug", "name"].into_iter();
        let name = names.find_map(|key| model[key].as_str())?;
        let is_hidden = matches!(model["visibility"].as_str(), Some("hide" | "hidden"));
        if is_hidden || model["model_picker_enabled"] == false {
            return None;
        }
        // Gemini lists its models under the name of the collection.
        let name = name.trim().trim_start_matches("models/");
        if name.is_empty() || name.chars().any(char::is_control) {
            return None;
        }
        let parameters = model["supported_parameters"].as_array();
        // Copilot lists what completes lines and makes vectors, too.
        let is_other_kind = model["capabilities"]["type"]
            .as_str()
            .is_some_and(|kind| kind != "chat");
        let takes_tools = parameters.is_none_or(|list| list.iter().any(|one| one == "tools"));
        Some(Self {
            window,
            price: price(&model["pricing"]),
            created: created(model),
            is_for_agents: takes_tools && !is_other_kind && is_for_chat(name),
            name: name.to_owned(),
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "window": self.window,
            "input_price": self.price.map(|price| price.input),
            "output_price": self.price.map(|price| price.output),
            "created": self.created,
            "for_agents": self.is_for_agents,
        })
    }

    pub(crate) fn from_json(name: &str, details: &Value) -> Self {
        let number = |key: &str| details[key].as_f64();
        let price = number("input_price").zip(number("output_price"));
        Self {
            window: details["window"].as_u64(),
            price: price.map(|(input, output)| TokenPrice { input, output }),
            created: details["created"].as_i64().unwrap_or(0),
            is_for_agents: details["for_agents"].as_bool().unwrap_or(true),
            name: name.to_owned(),
        }
    }
}

fn is_for_chat(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !NOT_FOR_CHAT.iter().any(|word| name.contains(word))
}

/// Prices are stated per token, as text.
fn price(pricing: &Value) -> Option<TokenPrice> {
    let dollars = |key: &str| {
        let value = &pricing[key];
        let stated = value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok());
        stated.filter(|dollars: &f64| dollars.is_finite() && *dollars >= 0.0)
    };
    Some(TokenPrice {
        input: dollars("prompt")? * 1e6,
        output: dollars("completion")? * 1e6,
    })
}

fn created(model: &Value) -> i64 {
    let stated = model["created"].as_i64();
    let text = || {
        let at: jiff::Timestamp = model["created_at"].as_str()?.parse().ok()?;
        Some(at.as_second())
    };
    stated.or_else(text).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn prices_and_dates_are_read_in_the_forms_that_servers_use() {
        let router = json!({
            "id": "a/b", "created": 1_700_000_000,
            "pricing": {"prompt": "0.000003", "completion": "0.000015"},
            "supported_parameters": ["tools"],
        });
        let read = ListedModel::read(&router, Some(200_000)).unwrap();
        let price = read.price.unwrap();
        assert!((price.input - 3.0).abs() < 1e-9 && (price.output - 15.0).abs() < 1e-9);
        assert_eq!((read.window, read.created), (Some(200_000), 1_700_000_000));
        assert!(read.is_for_agents);
        let dated = json!({"id": "models/x", "created_at": "2026-01-01T00:00:00Z"});
        let read = ListedModel::read(&dated, None).unwrap();
        assert_eq!((read.name.as_str(), read.price), ("x", None));
        assert!(read.created > 0);
        assert_eq!(ListedModel::from_json("x", &read.to_json()), read);
    }

    #[test]
    fn models_without_tools_or_talk_are_not_for_agents() {
        let no_tools = json!({"id": "a", "supported_parameters": ["temperature"]});
        assert!(!ListedModel::read(&no_tools, None).unwrap().is_for_agents);
        for name in ["text-embedding-3", "whisper-1", "gpt-4o-realtime-preview"] {
            assert!(!ListedModel::named(name).is_for_agents, "{name}");
        }
        assert!(ListedModel::named("gpt-5").is_for_agents);
        let hostile = json!({"id": "a\u{1b}[2J"});
        assert_eq!(ListedModel::read(&hostile, None), None);
    }
}
