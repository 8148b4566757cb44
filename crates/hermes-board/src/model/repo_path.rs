//! The name of a file in a repository: any bytes, written as git writes them.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Serialize, Serializer};

/// A path relative to the top of a workspace. Its text is the path itself, or, if that holds control
/// characters, quotes, backslashes or bytes that are no UTF-8, the path in quotes with escapes: one
/// text for one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// The path with these bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The path that a text stands for: a quoted one, or the path itself.
    pub fn parse(text: &OsStr) -> Self {
        let bytes = text.as_bytes();
        match unquote(bytes) {
            Some((path, [])) => Self(path),
            _ => Self(bytes.to_owned()),
        }
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = std::str::from_utf8(&self.0).ok();
        let is_plain = |text: &&str| !text.contains(|c: char| c.is_control() || "\"\\".contains(c));
        if let Some(text) = plain.filter(is_plain) {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    '"' | '\\' => write!(f, "\\{char}")?,
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    '\r' => f.write_str("\\r")?,
                    char if char.is_control() => {
                        let mut buffer = [0; 4];
                        for byte in char.encode_utf8(&mut buffer).bytes() {
                            write!(f, "\\{byte:03o}")?;
                        }
                    }
                    char => write!(f, "{char}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\{byte:03o}")?;
            }
        }
        f.write_str("\"")
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Takes a name in quotes, with git's escapes, off the beginning of a text; gives it and the rest.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut path = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((path, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first()?;
                rest = after;
                path.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        let mut value = escape - b'0';
                        for digit in digits {
                            if !(b'0'..=b'7').contains(digit) {
                                return None;
                            }
                            value = value * 8 + (digit - b'0');
                        }
                        value
                    }
                    _ => return None,
                });
            }
            byte => path.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn odd_names_are_quoted_as_git_quotes_them() {
        for (bytes, text) in [
            (&b"src/a b.rs"[..], "src/a b.rs"),
            ("größe".as_bytes(), "größe"),
            (b"a\nb\x1b[31m", "\"a\\nb\\033[31m\""),
            (b"caf\xe9", "\"caf\\351\""),
            (b"say \"hi\"", "\"say \\\"hi\\\"\""),
        ] {
            let path = RepoPath::from_bytes(bytes);
            assert_eq!(path.to_string(), text);
            assert_eq!(RepoPath::parse(OsStr::new(text)), path);
        }
        // A name of which only the beginning is quoted is no quoted name.
        let path = RepoPath::parse(OsStr::new("\"a\"b"));
        assert_eq!(path.as_bytes(), b"\"a\"b");
    }

    proptest! {
        #[test]
        fn every_path_survives_its_text(bytes in proptest::collection::vec(1_u8.., 1..40)) {
            let path = RepoPath::from_bytes(bytes);
            prop_assert_eq!(RepoPath::parse(OsStr::new(&path.to_string())), path);
        }
    }
}
