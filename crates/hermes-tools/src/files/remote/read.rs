//! Reading files of a remote host: pages for the model, whole files for edits.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::files::RemoteFiles;
use crate::context::CallContext;
use crate::files::file_ledger::FileStamp;
use crate::files::filesystem::{Content, FilePage, Loaded, PageRead};
use crate::files::page::{BinaryFile, MAX_COUNTED_BYTES, PageLines, PageRequest, SNIFFED_BYTES};
use crate::remote::{ScriptAnswer, ScriptQuery};

const READ: &str = include_str!("scripts/read.sh");
/// Files up to this size come whole, and what is shown of them is found here.
const SENT_WHOLE: usize = 128 * 1024;
const LOAD: &str = include_str!("scripts/load.sh");

impl RemoteFiles {
    pub(super) fn read_page_remote(
        &self,
        path: &Path,
        wanted: PageRequest,
        context: &CallContext,
    ) -> Result<PageRead, String> {
        // By its name alone this one is not shown, so its content can stay where it is.
        let is_data = BinaryFile::recognised(path, b"").is_some();
        let most = most_bytes(wanted);
        let numbers = [
            wanted.offset,
            if is_data { 0 } else { wanted.limit },
            SNIFFED_BYTES,
            wanted.max_line_bytes() as u64,
            most as u64,
            MAX_COUNTED_BYTES,
            SENT_WHOLE as u64,
        ]
        .map(|number| number.to_string());
        let mut arguments = vec![path.as_os_str().as_bytes()];
        arguments.extend(numbers.iter().map(String::as_bytes));
        let mut answer = self.ask(ScriptQuery {
            arguments: &arguments,
            most_output: most.max(SENT_WHOLE),
            ..ScriptQuery::new(READ, &context.interrupt)
        })?;
        match answer.text()?.as_str() {
            "file" => self.page_of(&mut answer, path, wanted, context),
            "missing" => Ok(PageRead::Missing {
                neighbours: answer.paths(),
            }),
            "directory" => Ok(PageRead::Directory),
            "special" => Ok(PageRead::Special),
            kind => Err(answer.refusal(kind, path, "open")),
        }
    }

    fn page_of(
        &self,
        answer: &mut ScriptAnswer,
        path: &Path,
        wanted: PageRequest,
        context: &CallContext,
    ) -> Result<PageRead, String> {
        let real = answer.path()?;
        if let Some(message) = self.read_guard(context)?.refusal(&real) {
            return Err(message);
        }
        let (stamp, size) = stamp_of(answer)?;
        let content = if answer.text()? == "whole" {
            content_of(path, answer.rest(), wanted)?
        } else {
            content_of_page(path, answer, size, wanted)?
        };
        Ok(PageRead::File(FilePage {
            real,
            size,
            stamp,
            content,
        }))
    }

    pub(super) fn load_remote(
        &self,
        path: &Path,
        most: u64,
        context: &CallContext,
    ) -> Result<Option<Loaded>, String> {
        let one_more = most.saturating_add(1).to_string();
        let mut answer = self.ask(ScriptQuery {
            arguments: &[path.as_os_str().as_bytes(), one_more.as_bytes()],
            most_output: usize::try_from(most).unwrap_or(usize::MAX),
            ..ScriptQuery::new(LOAD, &context.interrupt)
        })?;
        let kind = answer.text()?;
        if kind == "missing" {
            return Ok(None);
        }
        if kind != "file" {
            return Err(answer.refusal(&kind, path, "open"));
        }
        let target = answer.path()?;
        let (stamp, size) = stamp_of(&mut answer)?;
        let bytes = answer.rest().to_vec();
        let length = bytes.len() as u64;
        if length > most {
            return Err(format!(
                "{} is larger than {most} bytes and is not edited as a whole.",
                path.display()
            ));
        }
        if length < size {
            return Err(format!(
                "could not read {}: {length} of {size} bytes arrived",
                path.display()
            ));
        }
        Ok(Some(Loaded {
            target,
            bytes,
            stamp,
        }))
    }
}

/// The content of a file that came whole.
fn content_of(path: &Path, bytes: &[u8], wanted: PageRequest) -> Result<Content, String> {
    let sniffed = usize::try_from(SNIFFED_BYTES).unwrap_or(usize::MAX);
    let head = bytes.get(..sniffed).unwrap_or(bytes);
    if let Some(data) = BinaryFile::recognised(path, head) {
        return Ok(Content::BinaryFile(data));
    }
    let mut bytes = bytes;
    PageLines::read(&mut bytes, 1, wanted, path).map(Content::Text)
}

/// The content of a larger file, of which only the page came, and what the host counted.
fn content_of_page(
    path: &Path,
    answer: &mut ScriptAnswer,
    size: u64,
    wanted: PageRequest,
) -> Result<Content, String> {
    let head = bytes_of_hex(&answer.text()?);
    if let Some(data) = BinaryFile::recognised(path, &head) {
        return Ok(Content::BinaryFile(data));
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
    Ok(Content::Text(lines))
}

/// The next field as the state of a file, and its size.
fn stamp_of(answer: &mut ScriptAnswer) -> Result<(FileStamp, u64), String> {
    let text = answer.text()?;
    let size = text.split(' ').next().and_then(|size| size.parse().ok());
    match size {
        Some(size) => Ok((FileStamp::reported(text), size)),
        None => Err(answer.nonsense()),
    }
}

/// Bytes that are more than a page may show: a character has at most four, and of a line that is cut
/// no more than [`PageRequest::max_line_bytes`] come.
fn most_bytes(wanted: PageRequest) -> usize {
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
