//! A page of a text file: which lines are shown and how, and how text is told from binary data.
//!
//! Needs memory for the page only, however large the file is. Never opens a file itself.

use std::io::BufRead;
use std::path::Path;

use serde_json::{Value, json};

use super::deadline::ReadStopped;

/// Lines of a larger file are not counted to the end.
pub(super) const MAX_COUNTED_BYTES: u64 = 1024 * 1024 * 1024;
/// Bytes that are inspected to tell text from binary data.
pub(super) const SNIFFED_BYTES: u64 = 8192;

const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff"];

/// The lines a call asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRequest {
    /// Number of the first, from 1.
    pub(crate) offset: u64,
    pub(crate) limit: u64,
    /// Most characters of them all.
    pub(crate) max_chars: usize,
    /// Longer lines are cut, in characters.
    pub(crate) max_line_chars: usize,
}

impl PageRequest {
    /// The number after the last.
    pub(super) fn end(self) -> u64 {
        self.offset.saturating_add(self.limit)
    }

    /// Bytes of a line that are kept while reading: enough for the longest that is shown, of any
    /// characters, and for seeing that one is longer.
    pub(super) fn max_line_bytes(self) -> usize {
        self.max_line_chars.saturating_mul(4).saturating_add(4)
    }
}

/// The lines of a page, as they are shown.
#[derive(Debug, Default)]
pub(crate) struct PageLines {
    shown: Vec<String>,
    /// Lines of the file, as far as they were counted.
    pub(super) total: u64,
    /// Whether bytes were shown that are not UTF-8.
    lossy: bool,
    /// The first line of which only a beginning is shown, and how much of it.
    cut: Option<(u64, usize)>,
    /// Whether the file goes on after the lines that were counted.
    pub(super) uncounted: bool,
}

impl PageLines {
    /// Takes the page out of a reader whose first line has the number `first`. The error is a
    /// sentence.
    pub(super) fn read(
        reader: &mut impl BufRead,
        first: u64,
        wanted: PageRequest,
        path: &Path,
    ) -> Result<Self, String> {
        let mut lines = Self {
            total: first.saturating_sub(1),
            ..Self::default()
        };
        let mut chars = 0;
        let mut scanned: u64 = 0;
        let mut line = Vec::new();
        loop {
            let number = lines.total + 1;
            let is_behind = number >= wanted.end();
            let is_wanted = number >= wanted.offset && !is_behind;
            line.clear();
            let keep = if is_wanted {
                wanted.max_line_bytes()
            } else {
                0
            };
            let counted_on = is_behind.then(|| MAX_COUNTED_BYTES.saturating_sub(scanned));
            let stop_after = counted_on.unwrap_or(u64::MAX);
            let length = match next_line(reader, keep, stop_after, &mut line) {
                Ok(length) => length,
                // The page is there; only how much follows it is not known.
                Err(error) if is_behind && ReadStopped::from_error(&error).is_some() => {
                    lines.uncounted = true;
                    break;
                }
                Err(error) => return Err(not_read(&error, number, path)),
            };
            if length == 0 {
                break;
            }
            scanned += length;
            if is_behind && scanned >= MAX_COUNTED_BYTES {
                lines.uncounted = true;
                break;
            }
            lines.total = number;
            if is_wanted {
                let text = lines.shown_line(&line, wanted);
                chars += text.chars().count() + 1;
                if chars > wanted.max_chars {
                    return Err(format!(
                        "Lines {} to {} of {} have more than {} characters. Ask for fewer lines \
                         with 'limit', or locate the passage with search_files first.",
                        wanted.offset,
                        wanted.end() - 1,
                        path.display(),
                        wanted.max_chars
                    ));
                }
                lines.shown.push(text);
            }
        }
        Ok(lines)
    }

    /// The line that was just counted, as it is shown.
    fn shown_line(&mut self, line: &[u8], wanted: PageRequest) -> String {
        let number = self.total;
        let whole = line.len() < wanted.max_line_bytes();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = String::from_utf8_lossy(line);
        // The cap may have cut the last character of a long line in two; that is ours, not the
        // file's.
        self.lossy |= whole && matches!(text, std::borrow::Cow::Owned(_));
        let text = if number == 1 {
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        } else {
            &text
        };
        if text.chars().count() > wanted.max_line_chars {
            self.cut.get_or_insert((number, wanted.max_line_chars));
            let start = hermes_text::cut(text, wanted.max_line_chars);
            format!("{number:6}|{start}... [truncated]")
        } else {
            format!("{number:6}|{text}")
        }
    }

    pub(crate) fn to_json(&self, offset: u64, size: u64) -> Value {
        let last = offset + self.shown.len() as u64 - 1;
        let goes_on = last < self.total || self.uncounted;
        let mut result = json!({
            "content": self.shown.join("\n"),
            "total_lines": self.total,
            "file_size": size,
            "truncated": goes_on || self.cut.is_some(),
            "is_binary": false,
            "is_image": false,
        });
        let mut hints = Vec::new();
        if self.shown.is_empty() && self.total > 0 {
            hints.push(format!("The file ends at line {}.", self.total));
        } else if goes_on {
            hints.push(format!(
                "Lines {offset} to {last} of {}{}; continue with offset={}.",
                if self.uncounted { "more than " } else { "" },
                self.total,
                last + 1
            ));
        }
        if let Some((number, shown)) = self.cut {
            hints.push(format!(
                "Lines of more than {shown} characters are cut, line {number} first; read the rest \
                 in the terminal: sed -n {number}p FILE | cut -c {}-{}",
                shown + 1,
                shown * 2
            ));
        }
        if self.lossy {
            hints.push("Bytes that are not UTF-8 are shown as \u{fffd}.".to_owned());
        }
        if !hints.is_empty() {
            result["hint"] = json!(hints.join(" "));
        }
        result
    }
}

/// Reads one line, its end included in the returned length; keeps `keep` bytes of it in `line`, and
/// gives it up after `stop_after`.
fn next_line(
    reader: &mut impl BufRead,
    keep: usize,
    stop_after: u64,
    line: &mut Vec<u8>,
) -> std::io::Result<u64> {
    let mut length = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(length);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        let room = keep.saturating_sub(line.len());
        let text = end.unwrap_or(buffer.len()).min(room);
        line.extend_from_slice(buffer.get(..text).unwrap_or_default());
        reader.consume(taken);
        length += taken as u64;
        if end.is_some() || length >= stop_after {
            return Ok(length);
        }
    }
}

fn not_read(error: &std::io::Error, number: u64, path: &Path) -> String {
    match ReadStopped::from_error(error) {
        Some(ReadStopped::Interrupted) => "The call was interrupted.".to_owned(),
        Some(ReadStopped::TooLong) => format!(
            "Reading {} took too long: the page does not start within the first {} lines. Find the \
             place with a program in the terminal.",
            path.display(),
            number.saturating_sub(1)
        ),
        None => format!("could not read {}: {error}", path.display()),
    }
}

/// A file that is not shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BinaryFile {
    is_binary: bool,
    is_image: bool,
}

impl BinaryFile {
    /// What a file of this name with this beginning is, unless it is text.
    pub(super) fn recognised(path: &Path, head: &[u8]) -> Option<Self> {
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .map(str::to_ascii_lowercase);
        let data = Self {
            is_binary: is_binary(head),
            is_image: extension.is_some_and(|extension| IMAGES.contains(&extension.as_str())),
        };
        (data.is_binary || data.is_image).then_some(data)
    }

    pub(crate) fn to_json(self, size: u64) -> Value {
        let hint = if self.is_image {
            "This is an image; look at it with vision_analyze."
        } else {
            "This is a binary file; use a program in the terminal that understands its format."
        };
        json!({
            "content": "",
            "total_lines": 0,
            "file_size": size,
            "truncated": false,
            "is_binary": self.is_binary,
            "is_image": self.is_image,
            "hint": hint,
        })
    }
}

/// NUL bytes, or more than a third of what is no UTF-8.
fn is_binary(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let bad = text.chars().filter(|c| *c == '\u{fffd}').count();
    head.contains(&0) || bad * 3 > text.chars().count()
}
