//! One open log file, read forward from an offset in bounded pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use hermes_fs::Error;

use super::chain::{ChainFile, FileId};
use super::filter::LineFilter;

/// Bytes of a line that are shown; the rest is counted.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;
/// Bytes read at a time.
pub(super) const CHUNK: usize = 64 * 1024;

/// A file being read. It stays readable when it is renamed or deleted.
#[derive(Debug)]
pub(super) struct TrackedFile {
    file: File,
    path: PathBuf,
    pub(super) id: FileId,
    pub(super) offset: u64,
    lines: LineAssembler,
    filter: LineFilter,
}

impl TrackedFile {
    pub(super) fn new(ChainFile { file, path, id }: ChainFile, filter: LineFilter) -> Self {
        Self {
            file,
            path,
            id,
            offset: 0,
            lines: LineAssembler::default(),
            filter,
        }
    }

    pub(super) fn size(&self) -> hermes_fs::Result<u64> {
        let meta = self.file.metadata();
        Ok(meta.map_err(Error::io("look at", &self.path))?.len())
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> hermes_fs::Result<usize> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map_err(Error::io("read", &self.path)),
            }
        }
    }

    /// Gives out the complete lines from the offset to `end`, or to the end of the file.
    pub(super) fn drain(
        &mut self,
        end: Option<u64>,
        emit: &mut dyn FnMut(&str),
    ) -> hermes_fs::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
            let wanted = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let piece = buffer.get_mut(..wanted).unwrap_or_default();
            let count = self.read_at(piece, self.offset)?;
            if count == 0 {
                return Ok(());
            }
            self.offset += count as u64;
            let filter = &mut self.filter;
            let bytes = buffer.get(..count).unwrap_or_default();
            self.lines.push(bytes, &mut |line| {
                if filter.accepts(line) {
                    emit(line);
                }
            });
        }
    }

    /// Gives out a last line that has no newline: nothing more will come.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(&str)) {
        let filter = &mut self.filter;
        self.lines.finish(&mut |line| {
            if filter.accepts(line) {
                emit(line);
            }
        });
    }

    /// Starts over at the beginning: the file was truncated.
    pub(super) fn rewind(&mut self) {
        self.offset = 0;
        self.lines = LineAssembler::default();
    }

    /// Takes over what `older` knew of the record that was being read.
    pub(super) fn continue_verdict_of(&mut self, older: &Self) {
        self.filter = older.filter.clone();
    }
}

/// Puts lines together from pieces, keeping at most [`MAX_LINE_BYTES`] bytes of each.
#[derive(Debug, Default)]
struct LineAssembler {
    partial: Vec<u8>,
    /// Bytes of the line that were not kept.
    beyond: u64,
}

impl LineAssembler {
    fn push(&mut self, mut bytes: &[u8], emit: &mut dyn FnMut(&str)) {
        while let Some(length) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(length);
            self.keep(line);
            self.finish_line(emit);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    fn finish(&mut self, emit: &mut dyn FnMut(&str)) {
        if !self.partial.is_empty() {
            self.finish_line(emit);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES.saturating_sub(self.partial.len());
        let (kept, beyond) = bytes.split_at(room.min(bytes.len()));
        self.partial.extend_from_slice(kept);
        self.beyond += beyond.len() as u64;
    }

    fn finish_line(&mut self, emit: &mut dyn FnMut(&str)) {
        let line = String::from_utf8_lossy(&self.partial);
        if self.beyond > 0 {
            emit(&format!("{line}… [{} bytes more]", self.beyond));
        } else {
            emit(&line);
        }
        self.partial.clear();
        self.beyond = 0;
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut assembled = LineAssembler::default();
        let mut out = Vec::new();
        let mut emit = |line: &str| out.push(line.to_owned());
        for piece in pieces {
            assembled.push(piece, &mut emit);
        }
        assembled.finish(&mut emit);
        out
    }

    #[test]
    fn lines_are_put_together_across_pieces() {
        assert_eq!(lines(&[b"a", b"b\nc", b"\n\n", b"d"]), ["ab", "c", "", "d"]);
    }

    #[test]
    fn bad_bytes_are_shown_and_characters_may_be_split_between_pieces() {
        assert_eq!(lines(&[b"a\xffb\n"]), ["a\u{fffd}b"]);
        assert_eq!(lines(&[b"\xc3", b"\xa4\n"]), ["ä"]);
    }

    #[test]
    fn long_lines_are_cut_and_the_next_is_whole() {
        let long = vec![b'x'; MAX_LINE_BYTES + 5];
        let out = lines(&[&long, b"yy\nnext\n"]);
        assert_eq!(out.len(), 2);
        assert_eq!(out[0].len(), MAX_LINE_BYTES + "… [7 bytes more]".len());
        assert!(out[0].ends_with("x… [7 bytes more]"));
        assert_eq!(out[1], "next");
    }
}
