//! `read_file`: a page of a text file with line numbers. Changes nothing, shows no credentials, and
//! needs memory for the page only, however large the file is.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::credential_stores::CredentialStores;
use super::ledger::{Page, Reading, Stamp};
use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::tool::{Tool, error};

const DEFAULT_LIMIT: u64 = 500;
const MAX_LIMIT: i64 = 2000;
/// Longer lines are cut, in characters.
const MAX_LINE_CHARS: usize = 2000;
/// Bytes of a line that are kept while reading: enough for [`MAX_LINE_CHARS`] of any characters.
const MAX_LINE_BYTES: usize = MAX_LINE_CHARS * 4 + 4;
/// Lines of a larger file are not counted to the end.
const MAX_COUNTED_BYTES: u64 = 1024 * 1024 * 1024;
/// What is looked at to tell text from data.
const SNIFFED_BYTES: u64 = 8192;

const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff"];

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct ReadFileTool {
    /// Most characters of a page (`file_read_max_chars`).
    pub max_chars: usize,
}

impl Default for ReadFileTool {
    fn default() -> Self {
        Self { max_chars: 100_000 }
    }
}

impl Tool for ReadFileTool {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn toolset(&self) -> &'static str {
        "file"
    }

    fn description(&self) -> &'static str {
        "Reads a text file and returns its lines, each as 'number|text'. Use this instead of cat, \
         head or tail. Large files are read in pages with offset and limit; 'hint' says where the \
         next page starts. A page that was already shown and has not changed is not repeated. For \
         images use vision_analyze."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::required(
                "path",
                Kind::Text,
                "File to read: absolute, relative to the working directory, or starting with ~/.",
            ),
            Argument::optional(
                "offset",
                Kind::ClampedInt {
                    min: 1,
                    max: i64::MAX,
                },
                "First line, counted from 1. Default 1.",
            ),
            Argument::optional(
                "limit",
                Kind::ClampedInt {
                    min: 1,
                    max: MAX_LIMIT,
                },
                "Most lines to return. Default 500, at most 2000.",
            ),
        ];
        ARGUMENTS
    }

    fn bounds_its_own_result(&self) -> bool {
        true
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match self.read(args, context) {
            Ok(result) => result,
            Err(message) => error(message),
        }
    }
}

impl ReadFileTool {
    fn read(self, args: &Value, context: &CallContext) -> Result<Value, String> {
        let raw = args["path"].as_str().unwrap_or_default();
        let offset = args["offset"].as_u64().unwrap_or(1);
        let limit = args["limit"].as_u64().unwrap_or(DEFAULT_LIMIT);
        let path = context.resolve(raw)?;
        if let Some(message) = CredentialStores::of(context).refusal(&path) {
            return Err(message);
        }
        let file = match hermes_fs::open(&path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(not_found(raw, &path)),
            Err(error) => return Err(error.to_string()),
        };
        let meta = file
            .metadata()
            .map_err(|error| format!("could not look at {}: {error}", path.display()))?;
        if meta.is_dir() {
            return Err(format!(
                "{} is a directory; list it with search_files and target 'files'.",
                path.display()
            ));
        }
        if !meta.is_file() {
            return Err(format!(
                "{} is not a regular file; reading it could wait for ever.",
                path.display()
            ));
        }
        if let Some(result) = not_text(&path, &file, meta.len())? {
            return Ok(result);
        }
        let stamp = Stamp::of(&meta);
        let page = self.page(&path, file, offset, limit)?;
        let key = Page {
            path: hermes_fs::canonicalize(&path).unwrap_or(path),
            offset,
            limit,
        };
        match context.files.note_reading(key, stamp) {
            Reading::New => Ok(page.to_json(offset, meta.len())),
            Reading::Unchanged => Ok(json!({
                "status": "unchanged",
                "dedup": true,
                "path": raw,
                "message": "This page was already shown in this conversation and the file has not \
                            changed since; use what was shown.",
            })),
            Reading::Insisting => Err(format!(
                "BLOCKED: {raw} (lines from {offset}) was asked for again although it has not \
                 changed. It is above in this conversation; go on with the task, or read other \
                 lines."
            )),
        }
    }

    fn page(self, path: &Path, file: File, offset: u64, limit: u64) -> Result<Lines, String> {
        let lost = |error| format!("could not read {}: {error}", path.display());
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut lines = Lines::default();
        let end = offset.saturating_add(limit);
        let mut chars = 0;
        let mut scanned = 0;
        let mut line = Vec::new();
        loop {
            let number = lines.total + 1;
            let wanted = number >= offset && number < end;
            line.clear();
            let length = next_line(&mut reader, wanted.then_some(&mut line)).map_err(lost)?;
            if length == 0 {
                break;
            }
            lines.total = number;
            scanned += length;
            if wanted {
                let text = shown_line(number, &line, &mut lines.lossy);
                chars += text.chars().count() + 1;
                if chars > self.max_chars {
                    return Err(format!(
                        "Lines {offset} to {} of {} have more than {} characters. Ask for fewer \
                         lines with 'limit', or find the place with search_files first.",
                        end - 1,
                        path.display(),
                        self.max_chars
                    ));
                }
                lines.shown.push(text);
            } else if number >= end && scanned > MAX_COUNTED_BYTES {
                lines.uncounted = true;
                break;
            }
        }
        Ok(lines)
    }
}

#[derive(Default)]
struct Lines {
    shown: Vec<String>,
    total: u64,
    /// Whether bytes were shown that are not UTF-8.
    lossy: bool,
    /// Whether the file goes on after the lines that were counted.
    uncounted: bool,
}

impl Lines {
    fn to_json(&self, offset: u64, size: u64) -> Value {
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

/// The answer for images and other data, and the reader left at the start for text.
fn not_text(path: &Path, file: &File, size: u64) -> Result<Option<Value>, String> {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    let is_image = extension.is_some_and(|extension| IMAGES.contains(&extension.as_str()));
    let mut head = Vec::new();
    let lost = |error| format!("could not read {}: {error}", path.display());
    file.take(SNIFFED_BYTES)
        .read_to_end(&mut head)
        .map_err(lost)?;
    std::io::Seek::rewind(&mut &*file).map_err(lost)?;
    if !is_image && !is_binary(&head) {
        return Ok(None);
    }
    let hint = if is_image {
        "This is an image; look at it with vision_analyze."
    } else {
        "This is a binary file; use a program in the terminal that understands its format."
    };
    Ok(Some(json!({
        "content": "",
        "total_lines": 0,
        "file_size": size,
        "truncated": false,
        "is_binary": !is_image || is_binary(&head),
        "is_image": is_image,
        "hint": hint,
    })))
}

/// NUL bytes, or more than a third of what is no UTF-8.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let bad = text.chars().filter(|c| *c == '\u{fffd}').count();
    head.contains(&0) || bad * 3 > text.chars().count()
}

fn not_found(raw: &str, path: &Path) -> Value {
    let mut result = error(format!("File not found: {raw}"));
    let similar = similar_names(path);
    if !similar.is_empty() {
        let similar: Vec<String> = similar
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        result["similar_files"] = json!(similar);
    }
    result
}

/// Neighbours whose name is nearly the one asked for.
fn similar_names(path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 5;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let stem = Path::new(&wanted).file_stem().map(|s| s.to_string_lossy());
    // A directory that cannot be read has no suggestions to offer.
    let entries = hermes_fs::read_dir(parent).unwrap_or_default();
    let close = |name: &str| {
        let name = name.to_lowercase();
        let its_stem = Path::new(&name).file_stem().map(|s| s.to_string_lossy());
        its_stem == stem || name.contains(&wanted) || wanted.contains(&name)
    };
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .filter(|entry| entry.name.to_str().is_some_and(close))
        .map(|entry| entry.path)
        .collect();
    found.sort();
    found.truncate(MOST);
    found
}
