//! When tools are deferred, and what the model is offered instead.

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
        if settings.mode == SearchMode::Never {
            return;
        }
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

/// A tool in a request, without what is its own.
const FRAME: &str = r#"{"function":{"description":,"name":,"parameters":},"type":"function"}"#;

/// Characters of a tool in a request.
fn characters(tool: &ToolSpec<'_>) -> u64 {
    let mut counter = CharacterCount(FRAME.len());
    let counted = match tool.given_schema {
        Some(schema) => serde_json::to_writer(&mut counter, schema),
        None => serde_json::to_writer(&mut counter, &tool.schema()),
    };
    let counted = counted
        .and_then(|()| serde_json::to_writer(&mut counter, tool.name))
        .and_then(|()| serde_json::to_writer(&mut counter, tool.description));
    // Counting does not fail.
    drop(counted);
    u64::try_from(counter.0).unwrap_or(u64::MAX)
}

/// Counts the characters that are written to it.
struct CharacterCount(usize);

impl std::io::Write for CharacterCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // All bytes but those that continue a character.
        self.0 += bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "deferral_tests.rs"]
mod tests;
