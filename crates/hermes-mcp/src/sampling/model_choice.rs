//! Which model answers a server.

use super::settings::SamplingConfig;

/// The model, `None` for that of `auxiliary.mcp`, or why none may answer.
///
/// What a server would like counts only among the models that the settings allow: names that servers
/// hint at are families more often than models, and the user pays.
pub(super) fn chosen(config: &SamplingConfig, hints: &[String]) -> Result<Option<String>, String> {
    let allowed = &config.allowed_models;
    if let Some(model) = &config.model {
        if !allowed.is_empty() && !allowed.contains(model) {
            return Err(format!(
                "The model '{model}' of the settings is not among `allowed_models`."
            ));
        }
        return Ok(Some(model.clone()));
    }
    if allowed.is_empty() || hints.is_empty() {
        return Ok(None);
    }
    let meant = |hint: &String| {
        let same = allowed.iter().find(|model| *model == hint);
        same.or_else(|| allowed.iter().find(|model| model.contains(hint.as_str())))
    };
    match hints.iter().find_map(meant) {
        Some(model) => Ok(Some(model.clone())),
        None => Err(format!(
            "None of the models asked for is allowed. Allowed: {}.",
            allowed.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sampling::SamplingLog;

    fn choice(
        model: Option<&str>,
        allowed: &[&str],
        hints: &[&str],
    ) -> Result<Option<String>, String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let config = SamplingConfig {
            model: model.map(str::to_owned),
            allowed_models: texts(allowed),
            max_tokens: 1,
            timeout: Duration::from_secs(1),
            requests_a_minute: 1,
            tool_rounds: 1,
            log: SamplingLog::Info,
        };
        let hints: Vec<String> = texts(hints);
        chosen(&config, &hints)
    }

    #[test]
    fn a_hint_counts_only_among_allowed_models() {
        assert_eq!(choice(None, &[], &["opus"]), Ok(None));
        assert_eq!(choice(None, &["a"], &[]), Ok(None));
        let allowed = ["claude-haiku-4", "gpt-5-mini"];
        let some = |model: &str| Ok(Some(model.to_owned()));
        assert_eq!(
            choice(None, &allowed, &["opus", "haiku"]),
            some("claude-haiku-4")
        );
        assert_eq!(choice(None, &allowed, &["gpt-5-mini"]), some("gpt-5-mini"));
        let refused = choice(None, &allowed, &["opus"]).unwrap_err();
        assert!(refused.contains("claude-haiku-4, gpt-5-mini"), "{refused}");
    }

    #[test]
    fn the_model_of_the_settings_wins() {
        assert_eq!(choice(Some("m"), &[], &["x"]), Ok(Some("m".to_owned())));
        assert!(choice(Some("m"), &["n"], &[]).is_err());
    }
}
