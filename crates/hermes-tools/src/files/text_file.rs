//! A text file as edits see it: its text, and what must be the same when it is written back.

use std::path::PathBuf;

use crate::file_ledger::FileStamp;
use crate::filesystem::Loaded;

/// Larger files are not edited in memory.
pub(super) const MAX_EDITED_BYTES: u64 = 64 * 1024 * 1024;

/// A file read for editing. Line ends are `\n` in `text` whatever they are on disk.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    /// Where it is, links resolved.
    pub(super) target: PathBuf,
    pub(super) stamp: FileStamp,
    pub(super) text: String,
    pub(super) bytes: Vec<u8>,
    crlf: bool,
    byte_order_mark: bool,
}

impl TextFile {
    /// The text of a file's content; the error is a sentence.
    pub(super) fn parse(loaded: Loaded) -> Result<Self, String> {
        let path = &loaded.target;
        let Ok(text) = std::str::from_utf8(&loaded.bytes) else {
            return Err(format!(
                "{} is not UTF-8 text; editing it as text would damage it.",
                path.display()
            ));
        };
        if text.contains('\0') {
            return Err(format!("{} is a binary file.", path.display()));
        }
        let (byte_order_mark, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // Only a file that is consistent can be restored; a mixed one is edited as it is.
        let crlf = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
        let text = if crlf {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        };
        Ok(Self {
            text,
            target: loaded.target,
            stamp: loaded.stamp,
            bytes: loaded.bytes,
            crlf,
            byte_order_mark,
        })
    }

    /// What of the file's form is kept for a new text that does not have it, as a sentence.
    pub(super) fn kept_form(&self, text: &str) -> Option<String> {
        let mark =
            (self.byte_order_mark && !text.starts_with('\u{feff}')).then_some("byte-order mark");
        let bare = text.replace("\r\n", "").contains('\n');
        let ends = (self.crlf && bare).then_some("CRLF line ends");
        let kept: Vec<&str> = mark.into_iter().chain(ends).collect();
        (!kept.is_empty()).then(|| format!("The file keeps its {}.", kept.join(" and ")))
    }

    /// The bytes of a new text in the form of this file.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        let whole = text;
        let text = whole.strip_prefix('\u{feff}').unwrap_or(whole);
        let mut out = String::with_capacity(text.len() + 3);
        if self.byte_order_mark || text.len() < whole.len() {
            out.push('\u{feff}');
        }
        if self.crlf {
            out.push_str(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
        } else {
            out.push_str(text);
        }
        out.into_bytes()
    }
}
