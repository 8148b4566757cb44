//! Finding commented lines again after the file has changed.

use hermes_text::cut;

/// Characters of a line that are kept and compared.
const LINE: usize = 400;
/// Lines that are kept and compared.
const LINES: usize = 20;

/// The beginning of lines, as it is kept with a comment.
pub(super) fn quote<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let lines: Vec<&str> = lines.take(LINES).map(|line| cut(line, LINE)).collect();
    lines.join("\n")
}

/// The line at which quoted lines stand now: where they were, else the nearest place with the same
/// text. Blank lines stand everywhere, and so are only looked for where they were.
pub(super) fn find(lines: &[String], quoted: &str, first: u32) -> Option<u32> {
    let quoted: Vec<&str> = quoted.split('\n').collect();
    let is_at = |start: usize| {
        let found = lines.get(start..start.checked_add(quoted.len())?)?;
        let mut pairs = found.iter().zip(&quoted);
        pairs
            .all(|(line, quoted)| cut(line, LINE) == *quoted)
            .then_some(start)
    };
    let before = usize::try_from(first).ok()?.checked_sub(1)?;
    let found = is_at(before).or_else(|| {
        if quoted.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        let places = (0..lines.len()).filter_map(is_at);
        places.min_by_key(|place| place.abs_diff(before))
    })?;
    u32::try_from(found + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_found_where_they_were_or_nearby() {
        let text = lines("a\nb\nc\n\nb\nc");
        assert_eq!(find(&text, "b\nc", 2), Some(2));
        assert_eq!(find(&text, "b\nc", 4), Some(5));
        assert_eq!(find(&text, "b\nc", 900), Some(5));
        assert_eq!(find(&text, "b\nd", 2), None);
        assert_eq!(find(&text, "", 4), Some(4));
        assert_eq!(find(&text, "", 3), None);
        assert_eq!(find(&[], "a", 1), None);
    }

    #[test]
    fn long_lines_are_known_by_their_beginning() {
        let long = "x".repeat(5000);
        let quoted = quote([long.as_str(), "y"].into_iter());
        assert!(quoted.len() < 500);
        assert_eq!(
            find(&[String::new(), long, "y".to_owned()], &quoted, 1),
            Some(2)
        );
    }
}
