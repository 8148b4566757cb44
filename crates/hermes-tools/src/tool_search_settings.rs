//! When tools are found by a search instead of being listed.

use hermes_config::Config;
use serde_json::Value;

/// Most results of a search, whatever the settings say.
const MAX_RESULTS: usize = 50;

/// Whether tools are deferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Where their schemas take too much of the context window.
    #[default]
    Auto,
    Always,
    Never,
}

/// When tools are deferred, and how many a search finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolSearchSettings {
    pub mode: SearchMode,
    /// Percentage of the context window that schemas of others may take.
    pub threshold_percent: f64,
    /// Results of a search that names no limit.
    pub usual_results: usize,
    pub most_results: usize,
}

impl Default for ToolSearchSettings {
    fn default() -> Self {
        Self {
            mode: SearchMode::Auto,
            threshold_percent: 10.0,
            usual_results: 5,
            most_results: 20,
        }
    }
}

impl ToolSearchSettings {
    /// Reads the settings of a profile.
    pub fn resolve(config: &Config) -> Self {
        let usual = Self::default();
        let count = |key: &str, otherwise: usize| {
            let number = config.int(key).map(|number| number.max(1));
            let number = number.and_then(|number| usize::try_from(number).ok());
            number.unwrap_or(otherwise)
        };
        let most_results = count("tools.tool_search.max_search_limit", usual.most_results);
        let most_results = most_results.min(MAX_RESULTS);
        let threshold = config.number("tools.tool_search.threshold_pct");
        let threshold = threshold.filter(|percent| percent.is_finite());
        Self {
            mode: match config.get("tools.tool_search.enabled") {
                Some(Value::Bool(true)) => SearchMode::Always,
                Some(Value::Bool(false)) => SearchMode::Never,
                _ => SearchMode::Auto,
            },
            threshold_percent: threshold
                .unwrap_or(usual.threshold_percent)
                .clamp(0.0, 100.0),
            usual_results: count(
                "tools.tool_search.search_default_limit",
                usual.usual_results,
            )
            .min(most_results),
            most_results,
        }
    }
}
