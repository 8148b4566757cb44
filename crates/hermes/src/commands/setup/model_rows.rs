//! Models in the order in which they are offered, and what is told about each.

use hermes_providers::{ListedModel, TokenPrice};

use crate::ui::Choice;

/// Families of models that do an agent's work well, the first choice first; the newest of a family
/// counts.
const PREFERRED: &[&str] = &[
    "anthropic/claude-sonnet",
    "claude-sonnet",
    "openai/gpt-5",
    "gpt-5",
    "gemini-3-pro",
    "gemini-2.5-pro",
    "grok-4",
    "deepseek-v4",
    "deepseek-chat",
    "glm-5",
    "glm-4",
    "kimi-k",
    "minimax-m",
    "qwen3-coder",
    "qwen3-max",
    "hermes-4",
];

/// The models worth offering, the one to begin with first, then by name.
pub(super) fn ordered(models: Vec<ListedModel>) -> Vec<ListedModel> {
    let any_for_agents = models.iter().any(|model| model.is_for_agents);
    let mut models: Vec<ListedModel> = models
        .into_iter()
        .filter(|model| model.is_for_agents || !any_for_agents)
        .collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    models.dedup_by(|one, other| one.name == other.name);
    let first = PREFERRED.iter().find_map(|family| {
        let of_family = models.iter().enumerate().filter(|(_, model)| {
            let name = model.name.to_ascii_lowercase();
            name.starts_with(family)
                && !["mini", "nano", "preview", ":free"]
                    .iter()
                    .any(|small| name.contains(small))
        });
        of_family
            .max_by(|(_, one), (_, other)| {
                (one.created, &one.name).cmp(&(other.created, &other.name))
            })
            .map(|(at, _)| at)
    });
    if let Some(at) = first {
        let model = models.remove(at);
        models.insert(0, model);
    }
    models
}

/// The rows of a picker.
pub(super) fn rows(models: &[ListedModel]) -> Vec<Choice> {
    models
        .iter()
        .map(|model| Choice::new(&model.name, facts(model)))
        .collect()
}

/// Window and price, as far as they are known.
pub(crate) fn facts(model: &ListedModel) -> String {
    let window = model
        .window
        .map(|tokens| format!("{} window", thousands(tokens)));
    let parts: Vec<String> = window.into_iter().chain(model.price.map(price)).collect();
    parts.join(", ")
}

fn price(price: TokenPrice) -> String {
    if price.input == 0.0 && price.output == 0.0 {
        return "free".to_owned();
    }
    let dollars = |amount: f64| {
        let text = format!("{amount:.2}");
        let text = text.strip_suffix(".00").unwrap_or(&text);
        format!("${text}")
    };
    format!(
        "{} in, {} out per million tokens",
        dollars(price.input),
        dollars(price.output)
    )
}

fn thousands(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens % 1_000_000 < 100_000 => format!("{}M", tokens / 1_000_000),
        1_000_000.. => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
        1_000.. => format!("{}K", tokens / 1_000),
        _ => tokens.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn named(name: &str) -> ListedModel {
        ListedModel {
            name: name.to_owned(),
            is_for_agents: !name.contains("embed"),
            ..ListedModel::default()
        }
    }

    #[test]
    fn newest_model_of_a_preferred_family_comes_first() {
        let model = |name: &str, created| ListedModel {
            created,
            ..named(name)
        };
        let listed = vec![
            model("zephyr", 9),
            model("gpt-5-mini", 8),
            model("gpt-5", 5),
            model("gpt-5.5", 7),
            model("text-embedding-3", 9),
            model("gpt-5", 5),
        ];
        let names: Vec<String> = ordered(listed).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["gpt-5.5", "gpt-5", "gpt-5-mini", "zephyr"]);
        let odd = ordered(vec![model("embed-only", 1)]);
        assert_eq!(odd.len(), 1);
    }

    #[test]
    fn window_and_price_are_short() {
        let model = ListedModel {
            window: Some(1_048_576),
            price: Some(TokenPrice {
                input: 3.0,
                output: 0.25,
            }),
            ..named("a")
        };
        assert_eq!(
            facts(&model),
            "1M window, $3 in, $0.25 out per million tokens"
        );
        assert_eq!(thousands(1_250_000), "1.2M");
        assert_eq!(thousands(131_072), "131K");
        assert_eq!(facts(&named("b")), "");
    }
}
