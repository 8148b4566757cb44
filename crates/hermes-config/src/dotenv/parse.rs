//! Reading `.env`: encodings, quotes, comments.

use std::path::Path;

/// Largest `.env` we read.
const MAX_BYTES: u64 = 1 << 20;

/// A `.env` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DotEnvError {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error("the text is {0}, which cannot be read")]
    Encoding(&'static str),
}

/// A line, or several if a quoted value spans them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The bytes as they stand, line break included.
    pub(super) raw: String,
    pub(super) assignment: Option<(String, String)>,
}

/// A `.env` in memory. Never printed: values are secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DotEnv {
    pub(super) lines: Vec<Line>,
}

impl std::fmt::Debug for DotEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl DotEnv {
    /// Reads a file; one that does not exist is empty.
    pub fn load(path: &Path) -> Result<Self, DotEnvError> {
        match hermes_fs::read_optional(path, MAX_BYTES)? {
            Some(bytes) => Ok(Self::parse(&decode(&bytes)?)),
            None => Ok(Self::default()),
        }
    }

    /// Parses decoded text.
    pub fn parse(text: &str) -> Self {
        let mut lines = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (raw, assignment) = next_line(rest);
            lines.push(Line {
                raw: raw.to_owned(),
                assignment,
            });
            rest = rest.get(raw.len()..).unwrap_or_default();
        }
        Self { lines }
    }

    /// The value of a name; of several lines the last, as dotenv readers have it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.lines
            .iter()
            .rev()
            .find_map(|line| match &line.assignment {
                Some((key, value)) if key == name => Some(value.as_str()),
                _ => None,
            })
    }

    /// Line number of the assignment that [`DotEnv::get`] finds, from 1.
    pub fn line_of(&self, name: &str) -> Option<usize> {
        let index = self
            .lines
            .iter()
            .rposition(|line| line.assignment.as_ref().is_some_and(|(key, _)| key == name))?;
        let before = self.lines.get(..index)?;
        Some(
            before
                .iter()
                .map(|line| line.raw.matches('\n').count().max(1))
                .sum::<usize>()
                + 1,
        )
    }

    /// Names that are assigned, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.lines
            .iter()
            .filter_map(|line| line.assignment.as_ref().map(|(key, _)| key.as_str()))
    }

    /// The text, byte for byte.
    pub fn to_text(&self) -> String {
        self.lines.iter().map(|line| line.raw.as_str()).collect()
    }
}

/// Bytes of a `.env` as text: UTF-8 with or without mark, or marked UTF-16. NULs are dropped.
pub fn decode(bytes: &[u8]) -> Result<String, DotEnvError> {
    let text = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err(DotEnvError::Encoding("UTF-32"));
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            std::str::from_utf8(bytes)
                .map_err(|_| DotEnvError::Encoding("neither UTF-8 nor marked UTF-16"))?
                .to_owned()
        }
    };
    Ok(if text.contains('\0') {
        text.replace('\0', "")
    } else {
        text
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DotEnvError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(DotEnvError::Encoding("broken UTF-16"));
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .collect::<Result<String, _>>()
        .map_err(|_| DotEnvError::Encoding("broken UTF-16"))
}

/// The first line of `text` with its break, and what it assigns.
fn next_line(text: &str) -> (&str, Option<(String, String)>) {
    let end = text.find('\n').map_or(text.len(), |at| at + 1);
    let line = text.get(..end).unwrap_or(text);
    let body = line.trim_start();
    if body.starts_with('#') {
        return (line, None);
    }
    let body = body.strip_prefix("export ").map_or(body, str::trim_start);
    let Some((name, value)) = body.split_once('=') else {
        return (line, None);
    };
    let name = name.trim();
    if !super::is_valid_name(name) {
        return (line, None);
    }
    let value = value.trim_start_matches([' ', '\t']);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        // From the quote on, in the whole rest: a quoted value may hold line breaks.
        let offset = line.len() - value.len() + 1;
        if let Some((value, used)) = text.get(offset..).and_then(|rest| quoted(rest, quote)) {
            let after = offset + used;
            let tail = text.get(after..).unwrap_or_default();
            let end = tail.find('\n').map_or(text.len(), |at| after + at + 1);
            return (
                text.get(..end).unwrap_or(text),
                Some((name.to_owned(), value)),
            );
        }
    }
    (line, Some((name.to_owned(), unquoted(value).to_owned())))
}

/// A quoted value and the bytes it took, closing quote included. `None` if it never closes.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((value, at + c.len_utf8())),
            '\\' => match chars.next()?.1 {
                escaped if escaped == quote || escaped == '\\' => value.push(escaped),
                'n' if quote == '"' => value.push('\n'),
                'r' if quote == '"' => value.push('\r'),
                't' if quote == '"' => value.push('\t'),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

/// An unquoted value: up to the end of the line or a `#` behind white space.
fn unquoted(value: &str) -> &str {
    let value = value.trim_end();
    if value.starts_with('#') {
        return "";
    }
    let comment = value.match_indices('#').find(|(at, _)| {
        value
            .get(..*at)
            .is_some_and(|before| before.ends_with([' ', '\t']))
    });
    comment
        .and_then(|(at, _)| value.get(..at))
        .unwrap_or(value)
        .trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn lines_of_every_kind() {
        let text = "\
# comment
export A=1
B = two words   # note
C=\"q # not a comment \\\"x\\\"\\n\" # note
D='s \\n'
E=a#b
F=
not an assignment
G=\"multi
line\"
1X=no
A=2
H=\"never closed
";
        let env = DotEnv::parse(text);
        assert_eq!(env.to_text(), text);
        let pairs: Vec<_> = env
            .names()
            .map(|name| (name, env.get(name).unwrap()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("A", "2"),
                ("B", "two words"),
                ("C", "q # not a comment \"x\"\n"),
                ("D", "s \\n"),
                ("E", "a#b"),
                ("F", ""),
                ("G", "multi\nline"),
                ("A", "2"),
                ("H", "\"never closed"),
            ]
        );
        assert_eq!(env.line_of("A"), Some(12));
        assert_eq!(env.line_of("H"), Some(13));
    }

    #[test]
    fn encodings() {
        let le: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("A=é\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(decode(&le).unwrap(), "A=é\n");
        assert_eq!(decode(b"\xef\xbb\xbfA=1").unwrap(), "A=1");
        assert_eq!(decode(b"A=\x001").unwrap(), "A=1");
        assert!(matches!(
            decode(&[0xff, 0xfe, 0, 0, 65, 0, 0, 0]),
            Err(DotEnvError::Encoding("UTF-32"))
        ));
        assert!(decode(&[0xff, 0xfe, 65]).is_err());
        assert!(decode(b"A=\xff").is_err());
    }
}
