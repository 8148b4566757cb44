//! What ripgrep and grep print, as records: `path NUL number : text` for a match, with `-` for a line
//! around one; or, from a grep that knows no NUL, `path NUL =` and lines without a path after it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of a line with its path: longer paths are not possible, longer texts are not shown.
pub(super) const MOST_LINE: usize = 4096 + 2100;
/// Pieces of one name: a name with more line ends is not found.
const MOST_PIECES: usize = 64;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) path: PathBuf,
    pub(super) number: u64,
    pub(super) text: &'a [u8],
    /// As opposed to a line around a match.
    pub(super) is_match: bool,
    /// Whether the line was longer.
    pub(super) is_cut: bool,
}

pub(super) struct Records<'a> {
    rest: &'a [u8],
    root: &'a [u8],
    /// The file of lines without a path.
    file: Option<PathBuf>,
    /// Lines that may be the beginning of a name.
    pieces: Vec<&'a [u8]>,
    /// How the program ended, if it said so.
    pub(super) exit_code: Option<i32>,
}

impl<'a> Records<'a> {
    /// Those in `bytes`, all of files below (or at) `root`.
    pub(super) fn new(bytes: &'a [u8], root: &'a Path) -> Self {
        Self {
            rest: bytes,
            root: root.as_os_str().as_bytes(),
            file: None,
            pieces: Vec::new(),
            exit_code: None,
        }
    }

    /// The path whose last piece is `end`.
    fn path(&mut self, end: &'a [u8]) -> Option<PathBuf> {
        let mut bytes = end.to_vec();
        let mut pieces = self.pieces.iter().rev();
        while !bytes.starts_with(self.root) {
            // A name, or the root, with a line end in it came in pieces.
            bytes = [pieces.next()?, &b"\n"[..], &bytes].concat();
        }
        // Without the `.` find was started with.
        Some(Path::new(OsStr::from_bytes(&bytes)).components().collect())
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // A last line without an end was cut off.
            let end = self.rest.iter().position(|byte| *byte == b'\n')?;
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            let is_cut = line.len() >= MOST_LINE;
            let Some(nul) = line.iter().position(|byte| *byte == 0) else {
                if let (Some(path), Some(record)) = (&self.file, record(line, is_cut)) {
                    let path = path.clone();
                    return Some(Record { path, ..record });
                }
                if self.pieces.len() >= MOST_PIECES {
                    self.pieces.clear();
                }
                self.pieces.push(line);
                continue;
            };
            let (name, text) = line.split_at(nul);
            let text = text.get(1..).unwrap_or_default();
            if name.is_empty() {
                let code = std::str::from_utf8(text).ok();
                self.exit_code = code.and_then(|code| code.parse().ok());
                continue;
            }
            let path = self.path(name);
            self.pieces.clear();
            self.file = None;
            if text == b"=" {
                self.file = path;
            } else if let (Some(path), Some(record)) = (path, record(text, is_cut)) {
                return Some(Record { path, ..record });
            }
        }
    }
}

/// The record of a line with its number, still without its path.
fn record(line: &[u8], is_cut: bool) -> Option<Record<'_>> {
    let end = line.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = line.split_at(end);
    let (sign, text) = rest.split_first()?;
    let is_match = match sign {
        b':' => true,
        b'-' => false,
        _ => return None,
    };
    Some(Record {
        path: PathBuf::new(),
        number: std::str::from_utf8(digits).ok()?.parse().ok()?,
        text,
        is_match,
        is_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn seen(bytes: &[u8]) -> Vec<(String, u64, String, bool)> {
        Records::new(bytes, Path::new("/r"))
            .map(|record| {
                let text = String::from_utf8_lossy(record.text).into_owned();
                (
                    record.path.display().to_string(),
                    record.number,
                    text,
                    record.is_match,
                )
            })
            .collect()
    }

    #[test]
    fn both_forms_are_read() {
        let record = |path: &str, number, text: &str, is_match| {
            (path.to_owned(), number, text.to_owned(), is_match)
        };
        assert_eq!(
            seen(b"/r/./a\x001:x:y\n/r/./a\x002-z\n--\n/r/a\nb\x007:n\n\x002\n/r/cut\x001:"),
            [
                record("/r/a", 1, "x:y", true),
                record("/r/a", 2, "z", false),
                record("/r/a\nb", 7, "n", true),
            ]
        );
        assert_eq!(
            seen(b"/r/a\x00=\n3:x\n4-9:y\n--\n12:z\n/r/b\nc\x00=\n1:q\nbinary\n"),
            [
                record("/r/a", 3, "x", true),
                record("/r/a", 4, "9:y", false),
                record("/r/a", 12, "z", true),
                record("/r/b\nc", 1, "q", true),
            ]
        );
    }

    #[test]
    fn a_root_may_have_line_ends_itself() {
        let bytes = b"/a\nb\x001:x\n/a\nb\n--\n/a\nb/c\nd\x002:y\n";
        let paths: Vec<_> = Records::new(bytes, Path::new("/a\nb"))
            .map(|record| record.path.display().to_string())
            .collect();
        assert_eq!(paths, ["/a\nb", "/a\nb/c\nd"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(seen(&bytes).len() <= bytes.len());
        }
    }
}
