//! The deferred tools of a session, and the search among them: BM25 over names, descriptions and the
//! names of arguments.

use std::collections::HashMap;

use crate::tool::{CallContext, ToolSpec};

/// How soon more mentions of a word stop to matter.
const SATURATION: f64 = 1.5;
/// How much longer texts are held back.
const LENGTH_WEIGHT: f64 = 0.75;

/// The tools that a session can find. Made for every search, since servers come and go.
pub(super) struct Catalog<'a> {
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    tool: ToolSpec<'a>,
    words: Vec<String>,
}

impl<'a> Catalog<'a> {
    /// The deferrable tools that the session may use.
    pub(super) fn of_session(context: &'a CallContext) -> Self {
        let specs = context.registry.iter().map(crate::tool::Tool::spec);
        let entries = specs
            .filter(|tool| tool.is_deferrable && context.may_call(tool.name))
            .map(|tool| Entry {
                words: words(&searched_text(&tool)),
                tool,
            });
        Self {
            entries: entries.collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&ToolSpec<'a>> {
        let mut tools = self.entries.iter().map(|entry| &entry.tool);
        tools.find(|tool| tool.name == name)
    }

    /// The tools that fit best, best first.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<&ToolSpec<'a>> {
        let asked = words(query);
        let scores = self.scores(&asked);
        let mut found: Vec<(f64, &ToolSpec<'a>)> = scores
            .into_iter()
            .zip(&self.entries)
            .filter(|(score, _)| *score > 0.0)
            .map(|(score, entry)| (score, &entry.tool))
            .collect();
        if found.is_empty() && !asked.is_empty() {
            let part = query.trim().to_lowercase();
            let tools = self.entries.iter().map(|entry| &entry.tool);
            let named = tools.filter(|tool| tool.name.to_lowercase().contains(&part));
            found.extend(named.map(|tool| (0.0, tool)));
        }
        // Equal ones stay in the order of the registry.
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        found.truncate(limit);
        found.into_iter().map(|(_, tool)| tool).collect()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of words and tools are small"
    )]
    fn scores(&self, asked: &[String]) -> Vec<f64> {
        let count = self.entries.len() as f64;
        let lengths = self.entries.iter().map(|entry| entry.words.len());
        let average = (lengths.sum::<usize>() as f64 / count.max(1.0)).max(1.0);
        let rarity = |word: &str| {
            let holds = |entry: &&Entry<'_>| entry.words.iter().any(|one| one == word);
            let holding = self.entries.iter().filter(holds).count() as f64;
            (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln()
        };
        let rarities: HashMap<&str, f64> = asked
            .iter()
            .map(|word| (word.as_str(), rarity(word)))
            .collect();
        let score = |entry: &Entry<'_>| -> f64 {
            let held_back =
                1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * entry.words.len() as f64 / average;
            let of_word = |word: &String| {
                let times = entry.words.iter().filter(|one| *one == word).count() as f64;
                let rarity = rarities.get(word.as_str()).copied().unwrap_or_default();
                rarity * times * (SATURATION + 1.0) / (times + SATURATION * held_back)
            };
            asked.iter().map(of_word).sum()
        };
        self.entries.iter().map(score).collect()
    }
}

fn searched_text(tool: &ToolSpec<'_>) -> String {
    let schema = tool.schema();
    let arguments = schema["properties"].as_object();
    let arguments = arguments
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str());
    let mut text = format!("{} {}", tool.name, tool.description);
    for argument in arguments {
        text.push(' ');
        text.push_str(argument);
    }
    text
}

/// Letters and digits in lower case; everything else parts words, the `_` of names as well.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
