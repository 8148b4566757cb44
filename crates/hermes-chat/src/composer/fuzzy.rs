//! Finding what was meant by a few letters of it.

/// How well a text matches the letters typed; more is better, `None` if it does not.
///
/// All letters must occur in order. Letters in a row, at the beginning and after a separator count
/// more, and short texts win over long ones.
fn score(typed: &str, text: &str) -> Option<i32> {
    let mut wanted = typed.chars().flat_map(char::to_lowercase).peekable();
    let mut total: i32 = 0;
    let mut last: Option<usize> = None;
    let mut before = '/';
    for (index, character) in text.chars().enumerate() {
        let Some(next) = wanted.peek() else {
            break;
        };
        if character.to_lowercase().next() == Some(*next) {
            wanted.next();
            total += 10;
            if last.is_some_and(|last| last + 1 == index) {
                total += 8;
            }
            if matches!(before, '/' | '_' | '-' | '.' | ' ')
                || (before.is_lowercase() && character.is_uppercase())
            {
                total += 6;
            }
            last = Some(index);
        }
        before = character;
    }
    if wanted.peek().is_some() {
        return None;
    }
    let length = i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    Some(total.saturating_mul(16).saturating_sub(length))
}

/// Positions of the texts that match, best first; equal ones keep their order.
pub(crate) fn matching<S: AsRef<str>>(typed: &str, texts: &[S], most: usize) -> Vec<usize> {
    let mut scored: Vec<(i32, usize)> = texts
        .iter()
        .enumerate()
        .filter_map(|(index, text)| Some((score(typed, text.as_ref())?, index)))
        .collect();
    scored.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    scored.truncate(most);
    scored.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn letters_in_order_match_and_the_closest_wins() {
        let files = [
            "src/main.rs",
            "src/markdown/stream.rs",
            "README.md",
            "docs/main_page.md",
        ];
        assert_eq!(matching("main", &files, 9), [0, 3]);
        assert_eq!(matching("sms", &files, 9), [1, 0]);
        assert_eq!(matching("README", &files, 9), [2]);
        assert_eq!(matching("xyz", &files, 9), Vec::<usize>::new());
        assert_eq!(matching("", &files, 2).len(), 2);
    }
}
