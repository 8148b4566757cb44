//! Pages of files on a remote host, out of what a script sent: the whole file if it is small, else the
//! lines of the page.

use std::path::Path;

use crate::file_ledger::FileStamp;
use crate::filesystem::operations::FileContent;
use crate::filesystem::page::{
    BinaryFile, MAX_COUNTED_BYTES, PageLines, PageRequest, SNIFFED_BYTES,
};
use crate::remote::ScriptAnswer;

/// The content of a file that came whole.
pub(super) fn content_of(
    path: &Path,
    bytes: &[u8],
    wanted: PageRequest,
) -> Result<FileContent, String> {
    let sniffed = usize::try_from(SNIFFED_BYTES).unwrap_or(usize::MAX);
    let head = bytes.get(..sniffed).unwrap_or(bytes);
    if let Some(data) = BinaryFile::recognised(path, head) {
        return Ok(FileContent::Binary(data));
    }
    let mut bytes = bytes;
    PageLines::read(&mut bytes, 1, wanted, path).map(FileContent::Text)
}

/// The content of a larger file, of which only the page came, and what the host counted.
pub(super) fn content_of_page(
    path: &Path,
    answer: &mut ScriptAnswer,
    size: u64,
    wanted: PageRequest,
) -> Result<FileContent, String> {
    let head = bytes_of_hex(&answer.text()?);
    if let Some(data) = BinaryFile::recognised(path, &head) {
        return Ok(FileContent::Binary(data));
    }
    let ends = answer.number()?;
    let last = bytes_of_hex(&answer.text()?);
    let has_open_line = !last.is_empty() && last != b"\n";
    let mut page = answer.rest();
    let mut lines = PageLines::read(&mut page, wanted.offset, wanted, path)?;
    lines.uncounted = size > MAX_COUNTED_BYTES;
    let counted = ends + u64::from(has_open_line && !lines.uncounted);
    // A page behind what was counted is there all the same; an empty one counts nothing.
    lines.total = if answer.rest().is_empty() {
        counted
    } else {
        lines.total.max(counted)
    };
    Ok(FileContent::Text(lines))
}

/// The next field as the state of a file, and its size.
pub(super) fn stamp_of(answer: &mut ScriptAnswer) -> Result<(FileStamp, u64), String> {
    let text = answer.text()?;
    let size = text.split(' ').next().and_then(|size| size.parse().ok());
    match size {
        Some(size) => Ok((FileStamp::reported(text), size)),
        None => Err(answer.nonsense()),
    }
}

/// Bytes that are more than a page may show: a character has at most four, and of a line that is cut
/// no more than [`PageRequest::max_line_bytes`] come.
pub(super) fn most_bytes(wanted: PageRequest) -> usize {
    let lines = usize::try_from(wanted.limit).unwrap_or(usize::MAX);
    wanted
        .max_chars
        .saturating_mul(4)
        .saturating_add(lines.saturating_mul(8))
        .saturating_add(wanted.max_line_bytes())
}

/// What `od -tx1` printed.
fn bytes_of_hex(text: &str) -> Vec<u8> {
    let words = text.split_ascii_whitespace();
    words
        .filter_map(|word| u8::from_str_radix(word, 16).ok())
        .collect()
}
