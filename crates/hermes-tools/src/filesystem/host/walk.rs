//! A search on this machine, with the parts ripgrep is made of. Bounded in results, in time and in
//! memory; skips what `.gitignore` names, hidden and binary files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use hermes_policy::ReadGuard;
use hermes_proc::Wake;
use ignore::WalkBuilder;

use crate::filesystem::deadline::{InterruptibleReader, ReadDeadline, ReadStopped};
use crate::filesystem::search::{
    Contents, FileQuery, MAX_COUNTED, NameGlob, ResultLine, SEARCH_TIMEOUT, SearchResults,
    SearchTarget, shown_text,
};

/// Searches below (or in) `root`, which is without links.
pub(super) fn walk_and_search(
    root: PathBuf,
    query: &FileQuery,
    guard: &ReadGuard,
    interrupt: &Wake,
) -> SearchResults {
    let walk = FileWalk {
        root: &root,
        guard,
        deadline: ReadDeadline::new(interrupt, SEARCH_TIMEOUT),
    };
    let mut found = match &query.what {
        SearchTarget::Contents(contents) => walk.contents(contents),
        SearchTarget::Names(glob) => walk.names(glob),
    };
    found.root = root;
    found
}

struct FileWalk<'a> {
    root: &'a Path,
    guard: &'a ReadGuard,
    deadline: ReadDeadline<'a>,
}

impl FileWalk<'_> {
    fn contents(&self, wanted: &Contents) -> SearchResults {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(wanted.around)
            .after_context(wanted.around)
            .heap_limit(Some(wanted.pattern.max_line))
            .build();
        let mut found = SearchResults::default();
        self.visit_files(&mut found, |found, path| {
            let glob = wanted.files.as_ref();
            if glob.is_none_or(|glob| glob.fits(self.root, path)) {
                self.search_file(&mut searcher, wanted, path, found);
            }
        });
        found
    }

    fn names(&self, glob: &NameGlob) -> SearchResults {
        let mut found = SearchResults::default();
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        self.visit_files(&mut found, |found, path| {
            if glob.fits(self.root, path) {
                let modified = hermes_fs::symlink_metadata(path)
                    .ok()
                    .and_then(|meta| meta.modified().ok());
                files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), path.to_owned()));
                found.total += 1;
            }
        });
        files.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        found.names = files.into_iter().map(|(_, path)| path).collect();
        found
    }

    /// Calls `visit` for every file below the root, in the order of names.
    fn visit_files(
        &self,
        found: &mut SearchResults,
        mut visit: impl FnMut(&mut SearchResults, &Path),
    ) {
        let walk = WalkBuilder::new(self.root)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .follow_links(false)
            .build();
        for entry in walk {
            found.stopped = found
                .stopped
                .or_else(|| self.deadline.stopped().map(reason_of));
            if found.stopped.is_some() {
                return;
            }
            if found.total >= MAX_COUNTED {
                found.stopped = Some(SearchResults::TOO_MANY);
                return;
            }
            // A directory that cannot be read hides its files, from us as from grep.
            let Ok(entry) = entry else { continue };
            // Links are not followed, so the paths of the walk are without them too.
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if is_file && self.guard.refusal(entry.path()).is_none() {
                visit(found, entry.path());
            }
        }
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        wanted: &Contents,
        path: &Path,
        found: &mut SearchResults,
    ) {
        let Ok((file, _)) = hermes_fs::open_regular(path) else {
            // Unreadable, or gone since it was listed: as grep -s, it has no matches to show.
            return;
        };
        let before = found.total;
        let mut sink = MatchCollector {
            path,
            found,
            keep: wanted.keep,
        };
        let reader =
            InterruptibleReader::new(file, self.deadline).checked_every(wanted.pattern.max_line);
        let searched = searcher.search_reader(&wanted.pattern.matcher, reader, &mut sink);
        if let Err(error) = searched {
            found.stopped = ReadStopped::from_error(&error).map(reason_of);
            // What the system cannot read has a number; a line without room has none.
            if found.stopped.is_none() && error.raw_os_error().is_none() {
                found.remark = Some(SearchResults::LONG_LINES);
            }
            tracing::debug!("search of {} ended early: {error}", path.display());
        }
        let matches = found.total - before;
        if matches > 0 {
            found.counts.push((path.to_owned(), matches));
        }
    }
}

fn reason_of(stopped: ReadStopped) -> &'static str {
    match stopped {
        ReadStopped::Interrupted => SearchResults::INTERRUPTED,
        ReadStopped::TooLong => SearchResults::TOO_LONG,
    }
}

/// Takes what the searcher finds, as far as it is wanted; counts the rest.
struct MatchCollector<'a> {
    path: &'a Path,
    found: &'a mut SearchResults,
    keep: usize,
}

impl MatchCollector<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let line = ResultLine {
            path: self.path.to_owned(),
            number: number.unwrap_or(0),
            text: shown_text(bytes),
            is_match,
        };
        self.found.push(line, self.keep);
    }
}

impl Sink for MatchCollector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        self.push(found.line_number(), found.bytes(), true);
        Ok(self.found.total < MAX_COUNTED)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> std::io::Result<bool> {
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make files directly")]

    use super::*;
    use crate::filesystem::pattern::LinePattern;

    #[test]
    fn an_interrupt_is_heard_inside_a_file_and_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.log");
        std::fs::write(&path, "nothing\n".repeat(100_000)).unwrap();
        let interrupt = Wake::new().unwrap();
        interrupt.raise();
        let walk = FileWalk {
            root: dir.path(),
            guard: &ReadGuard::by_text(hermes_policy::PrivateHomes::default()),
            deadline: ReadDeadline::new(&interrupt, SEARCH_TIMEOUT),
        };
        let wanted = Contents {
            pattern: LinePattern::new("here").unwrap(),
            files: None,
            around: 0,
            keep: 10,
        };
        let mut found = SearchResults::default();
        walk.search_file(&mut Searcher::new(), &wanted, &path, &mut found);
        assert_eq!(found.stopped, Some(SearchResults::INTERRUPTED));
    }
}
