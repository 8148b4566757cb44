//! "Did you mean": the known name that is nearest to a misspelt one.

use strsim::normalized_damerau_levenshtein;

/// Below this similarity a suggestion would only confuse.
const THRESHOLD: f64 = 0.6;

/// The candidate that needs the fewest changes of `word`, unless it is a different word.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .into_iter()
        .map(|candidate| (normalized_damerau_levenshtein(word, candidate), candidate))
        .filter(|(score, _)| *score >= THRESHOLD)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_suggested() {
        let names = ["terminal.backend", "terminal.timeout", "model.default"];
        assert_eq!(closest("terminal.bakend", names), Some("terminal.backend"));
        assert_eq!(closest("terminal.tiemout", names), Some("terminal.timeout"));
        assert_eq!(closest("zzz", names), None);
    }
}
