//! When tools are deferred, and what the model is offered instead.

use serde_json::json;

use super::tools::standing_in_specs;
use crate::tool::ToolSpec;
use crate::tool_search_settings::{SearchMode, ToolSearchSettings};
use crate::toolset::ToolOffer;

/// Characters of a schema that make a token, roughly, with every provider.
const CHARS_PER_TOKEN: u64 = 4;
/// Tokens of schemas that are too many where the context window is not known.
const MANY_TOKENS: u64 = 20_000;

impl ToolOffer<'_> {
    /// Defers the tools of others if their schemas take too much of a context window of so many
    /// tokens; 0 if its size is not known.
    pub fn defer(&mut self, settings: &ToolSearchSettings, window: u64) {
        let others = self.tools.iter().filter(|tool| tool.is_deferrable);
        let characters: u64 = others.map(characters).sum();
        if characters == 0 || !defers(settings, characters.div_ceil(CHARS_PER_TOKEN), window) {
            return;
        }
        let (others, mut listed): (Vec<_>, Vec<_>) =
            self.tools.drain(..).partition(|tool| tool.is_deferrable);
        listed.extend(standing_in_specs());
        self.tools = listed;
        self.deferred = others.into_iter().map(|tool| tool.name).collect();
    }
}

/// Whether schemas of so many tokens are too much.
fn defers(settings: &ToolSearchSettings, tokens: u64, window: u64) -> bool {
    match settings.mode {
        SearchMode::Never => false,
        SearchMode::Always => true,
        SearchMode::Auto if window == 0 => tokens >= MANY_TOKENS,
        SearchMode::Auto => {
            #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^52")]
            let (tokens, window) = (tokens as f64, window as f64);
            tokens >= (window * settings.threshold_percent / 100.0).floor()
        }
    }
}

/// Characters of a tool in a request.
fn characters(tool: &ToolSpec<'_>) -> u64 {
    let text = json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema(),
        },
    });
    u64::try_from(text.to_string().chars().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "deferral_tests.rs"]
mod tests;
