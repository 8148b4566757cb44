//! Reading the patch that git prints. Every name and line in it may be anybody's: what is content is
//! told from what is structure by the counts that a hunk begins with.

use crate::model::RepoPath;
use crate::model::repo_path::unquote;
use crate::review::diff::{Change, DiffFile, DiffHunk, DiffLine, LineKind};

/// Begins a file.
const FILE: &[u8] = b"diff --git ";
/// Names a file with conflicts.
const UNMERGED: &[u8] = b"* Unmerged path ";

/// The files of a patch with the prefixes `a/` and `b/`. Of a patch that was cut, the last file is left
/// out: nobody knows how much of it is missing.
pub(super) fn files(patch: &[u8], is_cut: bool) -> Vec<DiffFile> {
    let mut reader = Reader {
        rest: patch,
        files: Vec::new(),
    };
    while let Some(line) = reader.line() {
        if let Some(names) = line.strip_prefix(FILE) {
            reader.file(names);
        } else if let Some(name) = line.strip_prefix(UNMERGED) {
            reader
                .files
                .push(empty(Some(name_of(name)), Change::Unmerged));
        }
    }
    if is_cut {
        reader.files.pop();
    }
    reader.files
}

struct Reader<'p> {
    rest: &'p [u8],
    files: Vec<DiffFile>,
}

impl<'p> Reader<'p> {
    /// The next line, without its line break.
    fn line(&mut self) -> Option<&'p [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line)
    }

    /// The next line, unless it begins another file.
    fn line_of_file(&mut self) -> Option<&'p [u8]> {
        let begins = self.rest.starts_with(FILE) || self.rest.starts_with(UNMERGED);
        if begins { None } else { self.line() }
    }

    fn file(&mut self, names: &[u8]) {
        let mut file = empty(same_name(names), Change::Modified);
        while let Some(line) = self.line_of_file() {
            let value = |name: &str| line.strip_prefix(name.as_bytes());
            let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
            if let Some(mode) = value("old mode ") {
                file.old_mode = text(mode);
            } else if let Some(mode) = value("new mode ") {
                file.mode = text(mode);
            } else if let Some(mode) = value("new file mode ") {
                file.change = Change::Added;
                file.mode = text(mode);
            } else if let Some(mode) = value("deleted file mode ") {
                file.change = Change::Deleted;
                file.old_mode = text(mode);
            } else if let Some(name) = value("rename from ") {
                file.change = Change::Renamed;
                file.old_path = Some(name_of(name));
            } else if let Some(name) = value("copy from ") {
                file.change = Change::Copied;
                file.old_path = Some(name_of(name));
            } else if let Some(name) = value("rename to ").or(value("copy to ")) {
                file.path = name_of(name);
            } else if let Some(index) = value("index ") {
                // The mode of both sides stands here if it did not change.
                let mode = index.split(|byte| *byte == b' ').nth(1);
                if let Some(mode) = mode.filter(|_| file.mode.is_none()) {
                    file.old_mode = text(mode);
                    file.mode = text(mode);
                }
            } else if line.starts_with(b"Binary files ") || line == b"GIT binary patch" {
                file.binary = true;
            } else if let Some(range) = value("@@ ")
                && let Some(hunk) = self.hunk(range)
            {
                let count =
                    |kind: LineKind| hunk.lines.iter().filter(|line| line.kind == kind).count();
                file.additions += count(LineKind::Added);
                file.deletions += count(LineKind::Removed);
                file.hunks.push(hunk);
            }
        }
        self.files.push(file);
    }

    /// The hunk behind `@@ `.
    fn hunk(&mut self, range: &[u8]) -> Option<DiffHunk> {
        let range = String::from_utf8_lossy(range);
        let (numbers, heading) = range.split_once(" @@")?;
        let (old, new) = numbers.split_once(' ')?;
        let (old_start, old_lines) = start_and_count(old.strip_prefix('-')?)?;
        let (new_start, new_lines) = start_and_count(new.strip_prefix('+')?)?;
        let (mut old, mut new) = (old_start, new_start);
        let (mut old_left, mut new_left) = (old_lines, new_lines);
        let mut lines: Vec<DiffLine> = Vec::new();
        while old_left > 0 || new_left > 0 {
            let Some((sign, text)) = self.line().and_then(<[u8]>::split_first) else {
                break;
            };
            let kind = match sign {
                b'+' => LineKind::Added,
                b'-' => LineKind::Removed,
                b'\\' => {
                    mark_no_newline(&mut lines);
                    continue;
                }
                _ => LineKind::Context,
            };
            let (is_old, is_new) = (kind != LineKind::Added, kind != LineKind::Removed);
            lines.push(DiffLine {
                kind,
                old: is_old.then_some(old),
                new: is_new.then_some(new),
                text: String::from_utf8_lossy(text).into_owned(),
                no_newline: false,
            });
            if is_old {
                old = old.saturating_add(1);
                old_left = old_left.saturating_sub(1);
            }
            if is_new {
                new = new.saturating_add(1);
                new_left = new_left.saturating_sub(1);
            }
        }
        if self.rest.starts_with(b"\\ ") {
            self.line();
            mark_no_newline(&mut lines);
        }
        Some(DiffHunk {
            old_start,
            old_lines,
            new_start,
            new_lines,
            heading: heading.trim().to_owned(),
            lines,
        })
    }
}

fn mark_no_newline(lines: &mut [DiffLine]) {
    if let Some(last) = lines.last_mut() {
        last.no_newline = true;
    }
}

fn empty(path: Option<RepoPath>, change: Change) -> DiffFile {
    DiffFile {
        path: path.unwrap_or_else(|| RepoPath::from_bytes("")),
        old_path: None,
        change,
        old_mode: None,
        mode: None,
        binary: false,
        additions: 0,
        deletions: 0,
        hunks: Vec::new(),
    }
}

/// `3,4`, or `3` for one line.
fn start_and_count(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// A name, in quotes or not.
fn name_of(text: &[u8]) -> RepoPath {
    match unquote(text) {
        Some((name, [])) => RepoPath::from_bytes(name),
        _ => RepoPath::from_bytes(text),
    }
}

/// The name in `a/NAME b/NAME`, in quotes or not; `None` if the two differ, in which case lines behind
/// it have the names.
fn same_name(names: &[u8]) -> Option<RepoPath> {
    if let Some((old, rest)) = unquote(names) {
        let new = match rest.strip_prefix(b" ")? {
            quoted if quoted.starts_with(b"\"") => unquote(quoted)?.0,
            plain => plain.to_owned(),
        };
        let (old, new) = (old.strip_prefix(b"a/")?, new.strip_prefix(b"b/")?);
        return (old == new).then(|| RepoPath::from_bytes(new));
    }
    // Both halves are as long, with a blank between them.
    let half = names.len().checked_sub(1)? / 2;
    let (old, new) = (names.get(..half)?, names.get(half + 1..)?);
    let (old, new) = (old.strip_prefix(b"a/")?, new.strip_prefix(b"b/")?);
    (old == new).then(|| RepoPath::from_bytes(new))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
