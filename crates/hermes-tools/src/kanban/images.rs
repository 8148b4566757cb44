//! Images that the text of a card refers to, so that a worker sees them from its first turn.

use std::path::{Path, PathBuf};

const ENDINGS: [&str; 9] = [
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "tif", "heic",
];

/// What may follow a reference and is no part of it.
const TRAILING: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '>'];
/// What may stand before one.
const LEADING: &[char] = &['(', '[', '<', '"', '\'', '!'];

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageReference {
    File(PathBuf),
    Url(String),
}

/// The images a text refers to, in order, each once: absolute paths and those below `~/` of files
/// that `exists` knows, and web addresses. What stands in code is an example, no reference.
pub fn images_in(
    text: &str,
    user_home: &Path,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<ImageReference> {
    let mut found = Vec::new();
    for word in without_code(text).split_whitespace() {
        for part in parts(word) {
            let reference = reference(part, user_home, exists);
            if let Some(reference) = reference
                && !found.contains(&reference)
            {
                found.push(reference);
            }
        }
    }
    found
}

/// A word, and what stands in the brackets of a Markdown link at its end.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let inside = word.rsplit_once("](").map(|(_, target)| target);
    inside.into_iter().chain(inside.is_none().then_some(word))
}

fn reference(
    word: &str,
    user_home: &Path,
    exists: &dyn Fn(&Path) -> bool,
) -> Option<ImageReference> {
    let word = word.trim_start_matches(LEADING);
    let word = word
        .trim_end_matches(['"', '\''])
        .trim_end_matches(TRAILING);
    let word = word.trim_end_matches(['"', '\'']);
    let lower = word.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        let address = word.split(['?', '#']).next().unwrap_or(word);
        let host = address.split_once("://").map(|(_, rest)| rest)?;
        let path = host.split_once('/').map(|(_, path)| path)?;
        return has_image_ending(path).then(|| ImageReference::Url(word.to_owned()));
    }
    let path = match word.strip_prefix("~/") {
        Some(below) => user_home.join(below),
        None => PathBuf::from(word),
    };
    (path.is_absolute() && has_image_ending(word) && exists(&path))
        .then_some(ImageReference::File(path))
}

/// Whether the name at the end of a path is that of an image.
pub fn has_image_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && ENDINGS
                .iter()
                .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// The text with blanks in place of code, fenced or inline.
fn without_code(text: &str) -> String {
    let mut outside = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                outside.push_str(&without_inline_code(line));
                outside.push('\n');
            }
        }
    }
    outside
}

/// A line with blanks in place of what stands between backticks; a backtick alone is just one.
fn without_inline_code(line: &str) -> String {
    let mut outside = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('`') {
        outside.push_str(before);
        let more = after.len() - after.trim_start_matches('`').len();
        let mark = "`".repeat(more + 1);
        let inside = after.trim_start_matches('`');
        match inside.split_once(mark.as_str()) {
            Some((_, behind)) => {
                outside.push(' ');
                rest = behind;
            }
            None => {
                outside.push_str(&mark);
                rest = inside;
            }
        }
    }
    outside.push_str(rest);
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<String> {
        let exists = |path: &Path| !path.display().to_string().contains("missing");
        images_in(text, Path::new("/home/u"), &exists)
            .into_iter()
            .map(|reference| match reference {
                ImageReference::File(path) => path.display().to_string(),
                ImageReference::Url(url) => url,
            })
            .collect()
    }

    #[test]
    fn paths_and_addresses_of_images_are_found_once_and_in_order() {
        let text = "See /srv/a.png, ~/shots/b.JPEG; and (https://x.example/c.webp?w=1&h=2).\n\
                    Again /srv/a.png! And <https://x.example/d.heic>: \"/srv/e.tif\".";
        assert_eq!(
            found(text),
            [
                "/srv/a.png",
                "/home/u/shots/b.JPEG",
                "https://x.example/c.webp?w=1&h=2",
                "https://x.example/d.heic",
                "/srv/e.tif",
            ]
        );
        let linked = "![shot](/srv/a.png) and [b](https://x.example/b.gif), done";
        assert_eq!(found(linked), ["/srv/a.png", "https://x.example/b.gif"]);
    }

    #[test]
    fn what_is_no_image_or_not_there_is_left_alone() {
        for text in [
            "a.png relative/b.png ./c.png",
            "/srv/missing.png ~/missing.gif",
            "/srv/a.pdf https://x.example/page https://x.example/?i=a.png",
            "https://png https://x.png ftp://x.example/a.png",
            "/srv/.png /srv/a.png.bak",
            "",
        ] {
            assert_eq!(found(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn code_is_no_reference() {
        let text = "Run `cp /srv/a.png x` or ``/srv/b.png ` `` here:\n```sh\n/srv/c.png\n~~~\n\
                    /srv/d.png\n```\n~~~\n/srv/e.png\n~~~\nthen /srv/f.png and ` /srv/g.png";
        assert_eq!(found(text), ["/srv/f.png", "/srv/g.png"]);
        assert_eq!(found("```\n/srv/a.png"), [] as [&str; 0]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[`~/a-z.png()!\\[\\] \n:?é]{0,200}") {
            for reference in found(&text) {
                prop_assert!(reference.starts_with('/') || reference.starts_with("http"));
            }
        }
    }
}
