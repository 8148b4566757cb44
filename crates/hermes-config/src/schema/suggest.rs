//! "Did you mean": the nearest known word.

/// Below this a suggestion would only confuse.
const THRESHOLD: f64 = 0.6;

/// 1.0 for equal words, 0.0 for words with nothing in common (edit distance over length).
pub fn similarity(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "lengths of words")]
    let ratio = distance(&a, &b) as f64 / longest as f64;
    1.0 - ratio
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows: [Vec<usize>; 3] = [
        vec![0; b.len() + 1],
        (0..=b.len()).collect(),
        vec![0; b.len() + 1],
    ];
    for (i, left) in a.iter().enumerate() {
        let [before, above, current] = &mut rows;
        if let Some(first) = current.first_mut() {
            *first = i + 1;
        }
        for (j, right) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let substitution = at(above, j) + usize::from(left != right);
            let mut best = substitution
                .min(at(above, j + 1) + 1)
                .min(at(current, j) + 1);
            let swapped =
                i > 0 && j > 0 && a.get(i - 1) == Some(right) && b.get(j - 1) == Some(left);
            if swapped {
                best = best.min(at(before, j - 1) + 1);
            }
            if let Some(cell) = current.get_mut(j + 1) {
                *cell = best;
            }
        }
        rows.rotate_left(1);
    }
    rows.get(1).and_then(|row| row.last()).copied().unwrap_or(0)
}

/// The candidate most like `word`, if any is like enough.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .into_iter()
        .map(|candidate| (similarity(word, candidate), candidate))
        .filter(|(score, _)| *score >= THRESHOLD)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_find_their_word() {
        let words = ["terminal.backend", "terminal.timeout", "model.default"];
        assert_eq!(closest("terminal.bakend", words), Some("terminal.backend"));
        assert_eq!(closest("terminal.tiemout", words), Some("terminal.timeout"));
        assert_eq!(closest("zzz", words), None);
        assert!((similarity("abcd", "abdc") - 0.75).abs() < 1e-9);
        assert!((similarity("", "") - 1.0).abs() < 1e-9);
    }
}
