//! Finding references in a message. Pure.

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// Changes that are not staged.
    Diff,
    /// Changes that are.
    Staged,
    /// A file, or some of its lines: from, to.
    File(String, Option<(usize, usize)>),
    Folder(String),
    Git(usize),
    Url(String),
}

/// A reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    /// As it was typed.
    pub(super) written: String,
    pub(super) named: Named,
}

/// Marks around a value with blanks in it.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// What ends a sentence rather than a value.
const PUNCTUATION: [char; 7] = [',', '.', ';', '!', '?', ')', ']'];

/// The references of a message, each once, in the order they stand.
pub(super) fn references(text: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let mut before: Option<char> = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let begins = character == '@' && before.is_none_or(|c| !c.is_alphanumeric() && c != '@');
        let here = begins.then(|| reference(rest)).flatten();
        let length = match here {
            Some((reference, length)) => {
                if found.iter().all(|known| known.named != reference.named) {
                    found.push(reference);
                }
                length
            }
            None => character.len_utf8(),
        };
        before = rest.get(..length).and_then(|taken| taken.chars().last());
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// The reference that a text begins with, and its length.
fn reference(text: &str) -> Option<(Reference, usize)> {
    let after = text.strip_prefix('@')?;
    for (word, named) in [("diff", Named::Diff), ("staged", Named::Staged)] {
        let behind = after.strip_prefix(word).map(|behind| behind.chars().next());
        if let Some(next) = behind
            && next.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | ':' | '/'))
        {
            return Some(found(text, 1 + word.len(), named));
        }
    }
    let (kind, behind) = after.split_once(':')?;
    let start = 1 + kind.len() + 1;
    let (value, length) = value(behind)?;
    let end = start + length;
    match kind {
        "file" => {
            let (path, lines, more) = match lines_of(value, behind.get(length..)?) {
                Lines::Inside(path, lines) => (path, Some(lines), 0),
                Lines::Behind(lines, more) => (value, Some(lines), more),
                Lines::All => (value, None, 0),
            };
            let named = Named::File(path.to_owned(), lines);
            Some(found(text, end + more, named))
        }
        "folder" => Some(found(text, end, Named::Folder(value.to_owned()))),
        "git" => {
            let count = value.parse().ok().filter(|count| *count > 0)?;
            Some(found(text, end, Named::Git(count)))
        }
        "url" => Some(found(text, end, Named::Url(value.to_owned()))),
        _ => None,
    }
}

fn found(text: &str, length: usize, named: Named) -> (Reference, usize) {
    let written = text.get(..length).unwrap_or(text).to_owned();
    (Reference { written, named }, length)
}

/// The value at the beginning, and how much of the text it takes.
fn value(text: &str) -> Option<(&str, usize)> {
    let quote = text.chars().next()?;
    if QUOTES.contains(&quote) {
        let (inner, _) = text.get(1..)?.split_once(quote)?;
        return (!inner.is_empty()).then_some((inner, inner.len() + 2));
    }
    let word = text.split(char::is_whitespace).next()?;
    let word = word.trim_end_matches(PUNCTUATION);
    (!word.is_empty()).then_some((word, word.len()))
}

enum Lines<'a> {
    All,
    /// The value ends with them.
    Inside(&'a str, (usize, usize)),
    /// They stand behind a quoted value and take so much of the text.
    Behind((usize, usize), usize),
}

fn lines_of<'a>(value: &'a str, behind: &str) -> Lines<'a> {
    if let Some((path, range)) = value.rsplit_once(':')
        && !path.is_empty()
        && let Some(lines) = range_of(range)
    {
        return Lines::Inside(path, lines);
    }
    if let Some(after) = behind.strip_prefix(':') {
        let range: String = after
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '-')
            .collect();
        if let Some(lines) = range_of(&range) {
            return Lines::Behind(lines, 1 + range.len());
        }
    }
    Lines::All
}

fn range_of(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from > 0 && to >= from).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn named(text: &str) -> Vec<(String, Named)> {
        let references = references(text).into_iter();
        references.map(|one| (one.written, one.named)).collect()
    }

    fn file(path: &str, lines: Option<(usize, usize)>) -> Named {
        Named::File(path.to_owned(), lines)
    }

    #[test]
    fn references_are_found_where_they_stand() {
        for (text, expected) in [
            (
                "see @file:src/a.rs, please",
                vec![("@file:src/a.rs", file("src/a.rs", None))],
            ),
            (
                "@file:a.rs:3-7",
                vec![("@file:a.rs:3-7", file("a.rs", Some((3, 7))))],
            ),
            (
                "@file:a.rs:3.",
                vec![("@file:a.rs:3", file("a.rs", Some((3, 3))))],
            ),
            (
                "@file:\"a b.txt\":2-4 and @file:'c d'",
                vec![
                    ("@file:\"a b.txt\":2-4", file("a b.txt", Some((2, 4)))),
                    ("@file:'c d'", file("c d", None)),
                ],
            ),
            (
                "(@folder:src)",
                vec![("@folder:src", Named::Folder("src".to_owned()))],
            ),
            (
                "@diff and @staged!",
                vec![("@diff", Named::Diff), ("@staged", Named::Staged)],
            ),
            ("@git:3", vec![("@git:3", Named::Git(3))]),
            (
                "@url:https://a.example/x?y=1.",
                vec![(
                    "@url:https://a.example/x?y=1",
                    Named::Url("https://a.example/x?y=1".to_owned()),
                )],
            ),
            ("@diff @diff", vec![("@diff", Named::Diff)]),
        ] {
            let expected: Vec<(String, Named)> = expected
                .into_iter()
                .map(|(written, named)| (written.to_owned(), named))
                .collect();
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn other_words_with_an_at_are_words() {
        for text in [
            "mail me@file:x",
            "@someone @differs @diff-tool @staged_x",
            "@file:",
            "@file:\"\"",
            "@file:\"never closed",
            "@git:0 @git:x",
            "@unknown:thing",
            "@",
            "@@diff",
            "@file",
        ] {
            assert_eq!(named(text), [], "{text}");
        }
    }

    #[test]
    fn odd_ranges_belong_to_the_name() {
        assert_eq!(named("@file:a:7-3")[0].1, file("a:7-3", None));
        assert_eq!(named("@file:a:0")[0].1, file("a:0", None));
        assert_eq!(named("@file:ä/ö:1-2 ü")[0].1, file("ä/ö", Some((1, 2))));
    }
}
