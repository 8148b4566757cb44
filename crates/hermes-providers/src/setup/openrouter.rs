//! What only OpenRouter understands: who may serve a request, its router for code, its cache.

use hermes_config::Config;
use serde_json::{Map, Value, json};

/// Adds what the settings say to the requests of a model.
pub(super) fn add_options(
    config: &Config,
    model: &str,
    body: &mut Map<String, Value>,
    headers: &mut Vec<(&'static str, String)>,
) {
    let routing = config.get("provider_routing").and_then(Value::as_object);
    let known = [
        "only",
        "ignore",
        "order",
        "sort",
        "require_parameters",
        "data_collection",
    ];
    let chosen: Map<String, Value> = routing
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(key, value)| known.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !chosen.is_empty() {
        body.insert("provider".to_owned(), Value::Object(chosen));
    }
    let score = config.number("openrouter.min_coding_score");
    if let Some(score) = score.filter(|score| (0.0..=1.0).contains(score))
        && model == "openrouter/pareto-code"
    {
        let router = json!([{"id": "pareto-router", "min_coding_score": score}]);
        body.insert("plugins".to_owned(), router);
    }
    if config.flag("openrouter.response_cache") {
        headers.push(("x-openrouter-cache", "true".to_owned()));
        if let Some(seconds) = config.int("openrouter.response_cache_ttl") {
            headers.push(("x-openrouter-cache-ttl", seconds.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use hermes_config::{Environment, Sources};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn least_coding_score_goes_to_the_router_for_code_alone() {
        let plugins = |model: &str, settings: &str| {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join("config.yaml");
            hermes_fs::write_atomic(&file, settings.as_bytes(), 0o600).unwrap();
            let config = Config::load_read_only(&Sources {
                env: Environment::from_pairs::<&str, &str>([]),
                home: home.path().to_owned(),
                managed_dir: None,
                tighten_dotenv: false,
            });
            let mut body = Map::new();
            add_options(&config, model, &mut body, &mut Vec::new());
            body.remove("plugins")
        };
        let score = |score: f64| Some(json!([{"id": "pareto-router", "min_coding_score": score}]));
        let router = "openrouter/pareto-code";
        assert_eq!(plugins(router, ""), score(0.65));
        assert_eq!(
            plugins(router, "openrouter: {min_coding_score: 0.9}"),
            score(0.9)
        );
        assert_eq!(plugins(router, "openrouter: {min_coding_score: 7}"), None);
        assert_eq!(plugins("vendor/m", ""), None);
    }
}
