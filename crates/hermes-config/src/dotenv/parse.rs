//! Reading `.env` as python-dotenv does: encodings, quotes, comments, line ends.
//!
//! What a value means once `${NAME}` is filled in stands in [`super::resolve`].

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
    pub(super) content: Content,
}

/// What a line says.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing, a comment, or a name without a value.
    Nothing,
    Assignment {
        name: String,
        value: String,
    },
    /// Neither; python-dotenv leaves it out as well.
    Unreadable,
}

impl Line {
    /// The name and value it assigns.
    pub(super) fn assignment(&self) -> Option<(&str, &str)> {
        match &self.content {
            Content::Assignment { name, value } => Some((name, value)),
            Content::Nothing | Content::Unreadable => None,
        }
    }
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
    /// Reads a file as it is written, for changing it; one that does not exist is empty.
    pub fn load(path: &Path) -> Result<Self, DotEnvError> {
        match hermes_fs::read_optional(path, MAX_BYTES)? {
            Some(bytes) => Ok(Self::parse(&decode(&bytes)?)),
            None => Ok(Self::default()),
        }
    }

    /// Parses decoded text.
    pub fn parse(text: &str) -> Self {
        let mut lines = Vec::new();
        let mut cursor = Cursor { text, at: 0 };
        while cursor.at < text.len() {
            let start = cursor.at;
            let content = cursor.line();
            lines.push(Line {
                raw: text.get(start..cursor.at).unwrap_or_default().to_owned(),
                content,
            });
        }
        Self { lines }
    }

    /// The value of a name; of several lines the last, as dotenv readers have it.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut assignments = self.lines.iter().rev().filter_map(Line::assignment);
        assignments.find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Line number of the assignment that [`DotEnv::get`] finds, from 1.
    pub fn line_of(&self, name: &str) -> Option<usize> {
        let assigns = |line: &Line| line.assignment().is_some_and(|(key, _)| key == name);
        let index = self.lines.iter().rposition(assigns)?;
        Some(self.number_of(index))
    }

    /// The number, from 1, of the line in the file on which an entry begins.
    pub(super) fn number_of(&self, index: usize) -> usize {
        let before = self.lines.get(..index).unwrap_or_default();
        before.iter().map(|line| breaks(&line.raw)).sum::<usize>() + 1
    }

    /// Names that are assigned, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let assignments = self.lines.iter().filter_map(Line::assignment);
        assignments.map(|(name, _)| name)
    }

    /// The text, byte for byte.
    pub fn to_text(&self) -> String {
        self.lines.iter().map(|line| line.raw.as_str()).collect()
    }
}

/// Line breaks of a text: `\n`, `\r\n` or a lone `\r`.
fn breaks(text: &str) -> usize {
    text.matches('\n').count() + text.matches('\r').count() - text.matches("\r\n").count()
}

/// Bytes of a `.env` as text: UTF-8 with or without mark, marked UTF-16, else Latin-1, in which
/// every byte is a character. NULs are dropped.
fn decode(bytes: &[u8]) -> Result<String, DotEnvError> {
    let text = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err(DotEnvError::Encoding("UTF-32"));
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => bytes.iter().copied().map(char::from).collect(),
            }
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

/// White space as Python's `\s` has it: Unicode's, and four separators of ASCII.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

fn is_blank(c: char) -> bool {
    is_space(c) && !is_break(c)
}

/// A position in the text, always at the beginning of a character.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes characters as long as they are of a kind.
    fn take(&mut self, of_kind: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !of_kind(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn take_break(&mut self) {
        if self.rest().starts_with("\r\n") {
            self.at += 2;
        } else if self.peek().is_some_and(is_break) {
            self.at += 1;
        }
    }

    /// One line with its break. Blank lines are lines of their own.
    fn line(&mut self) -> Content {
        let start = self.at;
        let white = self.take(is_space);
        if let Some(last) = white.rfind(is_break) {
            self.at = start + last + 1;
            return Content::Nothing;
        }
        if self.at == self.text.len() {
            return Content::Nothing;
        }
        let content = self.binding().filter(|_| self.ends_here());
        if content.is_none() {
            self.take(|c| !is_break(c));
            self.take_break();
        }
        content.unwrap_or(Content::Unreadable)
    }

    /// `export NAME = VALUE`, any part of which but the name may be missing.
    fn binding(&mut self) -> Option<Content> {
        if let Some(after) = self.rest().strip_prefix("export")
            && after.starts_with(is_blank)
        {
            self.at += "export".len();
            self.take(is_blank);
        }
        let name = match self.peek() {
            Some('#') => return Some(Content::Nothing),
            Some('\'') => {
                let (name, _) = self.rest().get(1..)?.split_once('\'')?;
                self.at += name.len() + 2;
                name
            }
            _ => self.take(|c| !is_space(c) && !matches!(c, '=' | '#')),
        };
        if name.is_empty() {
            return None;
        }
        self.take(is_blank);
        if self.peek() != Some('=') {
            return Some(Content::Nothing);
        }
        self.at += 1;
        self.take(is_blank);
        Some(Content::Assignment {
            name: name.to_owned(),
            value: self.value()?,
        })
    }

    fn value(&mut self) -> Option<String> {
        let quote = self.peek().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            return Some(unquoted(self.take(|c| !is_break(c))));
        };
        let inside = self.rest().get(1..)?;
        let end = closing_quote(inside, quote)?;
        self.at += end + 2;
        Some(unescaped(inside.get(..end)?, quote))
    }

    /// Whether nothing but a comment follows on this line; takes that and the break.
    fn ends_here(&mut self) -> bool {
        self.take(is_blank);
        if self.peek() == Some('#') {
            self.take(|c| !is_break(c));
        }
        if !self.peek().is_none_or(is_break) {
            return false;
        }
        self.take_break();
        true
    }
}

/// The first quote without a backslash before it; if all have one, the last of them.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some(at);
        }
        if c == '\\'
            && let Some((at, _)) = chars.next_if(|(_, next)| *next == quote)
        {
            escaped = Some(at);
        }
    }
    escaped
}

/// A quoted value without its escapes and with line breaks of one kind.
fn unescaped(text: &str, quote: char) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        let mut after = chars.clone();
        let meant = after.next().and_then(|next| escape(next, quote));
        match meant {
            Some(meant) => {
                value.push(meant);
                chars = after;
            }
            None => value.push('\\'),
        }
    }
    value
}

/// What a backslash before this character means.
fn escape(c: char, quote: char) -> Option<char> {
    Some(match c {
        '\\' | '\'' => c,
        _ if quote != '"' => return None,
        '"' => '"',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        _ => return None,
    })
}

/// An unquoted value: up to the end of the line or a `#` behind white space.
fn unquoted(value: &str) -> String {
    let comment = value.match_indices('#').find(|(at, _)| {
        let before = value.get(..*at);
        before.is_some_and(|before| before.ends_with(is_space))
    });
    let value = comment.and_then(|(at, _)| value.get(..at)).unwrap_or(value);
    value.trim_end_matches(is_space).to_owned()
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
