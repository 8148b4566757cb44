//! A page of a text file: which lines are shown, how, and how it is told from data.
//!
//! Needs memory for the page only, however large the file is. Never opens a file itself.

use std::io::BufRead;
use std::path::Path;

use serde_json::{Value, json};

/// Longer lines are cut, in characters.
const MAX_LINE_CHARS: usize = 2000;
/// Bytes of a line that are kept while reading: enough for [`MAX_LINE_CHARS`] of any characters.
pub(super) const MAX_LINE_BYTES: usize = MAX_LINE_CHARS * 4 + 4;
/// Lines of a larger file are not counted to the end.
pub(super) const MAX_COUNTED_BYTES: u64 = 1024 * 1024 * 1024;
/// What is looked at to tell text from data.
pub(super) const SNIFFED_BYTES: u64 = 8192;

const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff"];

/// The lines a call asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageWanted {
    /// Number of the first, from 1.
    pub(crate) offset: u64,
    /// How many.
    pub(crate) limit: u64,
    /// Most characters of them all.
    pub(crate) max_chars: usize,
}

impl PageWanted {
    /// The number after the last.
    pub(super) fn end(self) -> u64 {
        self.offset.saturating_add(self.limit)
    }
}

/// The lines of a page, as they are shown.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    shown: Vec<String>,
    /// Lines of the file, as far as they were counted.
    pub(super) total: u64,
    /// Whether bytes were shown that are not UTF-8.
    lossy: bool,
    /// Whether the file goes on after the lines that were counted.
    pub(super) uncounted: bool,
}

impl Lines {
    /// Takes the page out of a reader whose first line has the number `first`. The error is a
    /// sentence.
    pub(super) fn read(
        reader: &mut impl BufRead,
        first: u64,
        wanted: PageWanted,
        path: &Path,
    ) -> Result<Self, String> {
        let lost = |error| format!("could not read {}: {error}", path.display());
        let mut lines = Self {
            total: first.saturating_sub(1),
            ..Self::default()
        };
        let mut chars = 0;
        let mut scanned = 0;
        let mut line = Vec::new();
        loop {
            let number = lines.total + 1;
            let is_wanted = number >= wanted.offset && number < wanted.end();
            line.clear();
            let length = next_line(reader, is_wanted.then_some(&mut line)).map_err(lost)?;
            if length == 0 {
                break;
            }
            lines.total = number;
            scanned += length;
            if is_wanted {
                let text = shown_line(number, &line, &mut lines.lossy);
                chars += text.chars().count() + 1;
                if chars > wanted.max_chars {
                    return Err(format!(
                        "Lines {} to {} of {} have more than {} characters. Ask for fewer lines \
                         with 'limit', or find the place with search_files first.",
                        wanted.offset,
                        wanted.end() - 1,
                        path.display(),
                        wanted.max_chars
                    ));
                }
                lines.shown.push(text);
            } else if number >= wanted.end() && scanned > MAX_COUNTED_BYTES {
                lines.uncounted = true;
                break;
            }
        }
        Ok(lines)
    }

    /// The result of a call.
    pub(super) fn to_json(&self, offset: u64, size: u64) -> Value {
        let last = offset + self.shown.len() as u64 - 1;
        let truncated = last < self.total || self.uncounted;
        let mut result = json!({
            "content": self.shown.join("\n"),
            "total_lines": self.total,
            "file_size": size,
            "truncated": truncated,
            "is_binary": false,
            "is_image": false,
        });
        let mut hints = Vec::new();
        if self.shown.is_empty() && self.total > 0 {
            hints.push(format!("The file ends at line {}.", self.total));
        } else if truncated {
            hints.push(format!(
                "Lines {offset} to {last} of {}{}; go on with offset={}.",
                if self.uncounted { "more than " } else { "" },
                self.total,
                last + 1
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

/// Reads one line, its end included in the returned length; keeps at most [`MAX_LINE_BYTES`].
fn next_line(reader: &mut impl BufRead, mut keep: Option<&mut Vec<u8>>) -> std::io::Result<u64> {
    let mut length = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(length);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        if let Some(line) = keep.as_deref_mut() {
            let room = MAX_LINE_BYTES.saturating_sub(line.len());
            let text = end.unwrap_or(buffer.len()).min(room);
            line.extend_from_slice(buffer.get(..text).unwrap_or_default());
        }
        reader.consume(taken);
        length += taken as u64;
        if end.is_some() {
            return Ok(length);
        }
    }
}

fn shown_line(number: u64, line: &[u8], lossy: &mut bool) -> String {
    let full = line.len() < MAX_LINE_BYTES;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    // The cap may have cut the last character of a long line in two; that is ours, not the file's.
    *lossy |= full && matches!(text, std::borrow::Cow::Owned(_));
    let text = if number == 1 {
        text.strip_prefix('\u{feff}').unwrap_or(&text)
    } else {
        &text
    };
    if text.chars().count() > MAX_LINE_CHARS {
        let start: String = text.chars().take(MAX_LINE_CHARS).collect();
        format!("{number:6}|{start}... [truncated]")
    } else {
        format!("{number:6}|{text}")
    }
}

/// A file that is not shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Data {
    is_binary: bool,
    is_image: bool,
}

impl Data {
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

    /// The result of a call.
    pub(super) fn to_json(self, size: u64) -> Value {
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
