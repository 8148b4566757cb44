//! Searching files of a remote host: with ripgrep where it is installed, else with grep and find.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grep_matcher::Matcher;
use hermes_policy::ReadGuard;
use hermes_proc::Wake;

use super::grep_output::{MOST_LINE, Records};
use super::grep_syntax::at_least;
use crate::filesystem::search::{
    Contents, FileQuery, MAX_COUNTED, NameGlob, ResultLine, SEARCH_TIMEOUT, SearchResults,
    SearchTarget, shown_text,
};
use crate::remote::{ScriptAnswer, ScriptQuery};

const WALK: &str = include_str!("scripts/walk.sh");
const CONTENTS: &str = include_str!("scripts/contents.sh");
const NAMES: &str = include_str!("scripts/names.sh");

/// Bytes of an answer.
const MOST_ANSWER: usize = 16 * 1024 * 1024;

/// Seconds after which ripgrep is ended there, so that what it found arrives in time.
const REMOTE_SECONDS: u64 = 25;
/// The exit code of `timeout` for a program that it ended.
const TIMED_OUT: i32 = 124;

const WITHOUT_RIPGREP: &str = "ripgrep (rg) is not installed there, so files named in .gitignore \
                               were searched too.";

pub(super) struct Search<'a> {
    /// Runs a script on the host.
    pub(super) ask: &'a dyn Fn(ScriptQuery<'_>) -> Result<ScriptAnswer, String>,
    pub(super) query: &'a FileQuery,
    pub(super) guard: ReadGuard,
    pub(super) interrupt: &'a Wake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ripgrep {
    IfThere,
    Never,
}

impl Search<'_> {
    /// Searches; the error is a sentence.
    pub(super) fn run(&self) -> Result<SearchResults, String> {
        let started = Instant::now();
        let mut found = self.attempt(Ripgrep::IfThere);
        if matches!(found, Ok(None)) {
            // An older ripgrep may not know all of our syntax.
            found = self.attempt(Ripgrep::Never);
        }
        let stopped = if self.interrupt.is_raised() {
            SearchResults::INTERRUPTED
        } else if started.elapsed() >= SEARCH_TIMEOUT {
            SearchResults::TOO_LONG
        } else {
            return found.map(Option::unwrap_or_default);
        };
        // What was found until then has stayed there.
        Ok(found.ok().flatten().unwrap_or_else(|| SearchResults {
            root: self.query.root.clone(),
            stopped: Some(stopped),
            ..SearchResults::default()
        }))
    }

    /// The search; `None` if it must be made without ripgrep.
    fn attempt(&self, ripgrep: Ripgrep) -> Result<Option<SearchResults>, String> {
        let mut answer = match &self.query.what {
            SearchTarget::Contents(contents) => self.ask_for_contents(contents, ripgrep)?,
            SearchTarget::Names(glob) => self.ask_for_names(glob, ripgrep)?,
        };
        let program = answer.text()?;
        match program.as_str() {
            "rg" | "grep" | "find" => {}
            "missing" => return Err(self.query.not_found()),
            kind => return Err(answer.refusal(kind, &self.query.root, "search")),
        }
        let root = answer.path()?;
        if let Some(message) = self.guard.refusal(&root) {
            return Err(message);
        }
        let mut found = SearchResults {
            root,
            remark: (program != "rg").then_some(WITHOUT_RIPGREP),
            ..SearchResults::default()
        };
        match &self.query.what {
            SearchTarget::Contents(contents) => {
                let is_exact = program == "rg";
                if !self.take_lines(&answer, contents, is_exact, &mut found) {
                    return Ok(None);
                }
            }
            SearchTarget::Names(glob) => self.take_names(&mut answer, glob, &mut found),
        }
        if answer.rest().len() >= MOST_ANSWER {
            found.stopped = Some(SearchResults::TOO_MANY);
        }
        Ok(Some(found))
    }

    fn ask_for_contents(
        &self,
        contents: &Contents,
        ripgrep: Ripgrep,
    ) -> Result<ScriptAnswer, String> {
        let glob = contents.files.as_ref();
        let for_ripgrep_itself = match ripgrep {
            // An argument holds no NUL; the expression for grep has none.
            Ripgrep::IfThere if !contents.pattern.text.contains('\0') => {
                contents.pattern.text.as_str()
            }
            _ => "",
        };
        self.ask(
            CONTENTS,
            &[
                self.query.root.as_os_str().as_bytes(),
                for_ripgrep_itself.as_bytes(),
                &at_least(&contents.pattern.text),
                contents.around.to_string().as_bytes(),
                glob.map(for_find).unwrap_or_default().as_bytes(),
                glob.map(for_ripgrep).unwrap_or_default().as_bytes(),
                MOST_LINE.to_string().as_bytes(),
                MOST_ANSWER.to_string().as_bytes(),
                (MAX_COUNTED + 1).to_string().as_bytes(),
                REMOTE_SECONDS.to_string().as_bytes(),
            ],
        )
    }

    fn ask_for_names(&self, glob: &NameGlob, ripgrep: Ripgrep) -> Result<ScriptAnswer, String> {
        let with = match ripgrep {
            Ripgrep::IfThere => "rg",
            Ripgrep::Never => "",
        };
        self.ask(
            NAMES,
            &[
                self.query.root.as_os_str().as_bytes(),
                with.as_bytes(),
                for_find(glob).as_bytes(),
                for_ripgrep(glob).as_bytes(),
                MOST_ANSWER.to_string().as_bytes(),
            ],
        )
    }

    fn ask(&self, body: &str, arguments: &[&[u8]]) -> Result<ScriptAnswer, String> {
        (self.ask)(ScriptQuery {
            functions: WALK,
            arguments,
            limit: SEARCH_TIMEOUT,
            most_output: MOST_ANSWER,
            ..ScriptQuery::new(body, self.interrupt)
        })
    }

    /// Takes the lines of an answer; `false` if the program could not read the expression.
    fn take_lines(
        &self,
        answer: &ScriptAnswer,
        contents: &Contents,
        is_exact: bool,
        found: &mut SearchResults,
    ) -> bool {
        let root = found.root.clone();
        let mut records = Records::new(answer.rest(), &root);
        let mut file: Vec<ResultLine> = Vec::new();
        for record in records.by_ref() {
            if file.first().is_some_and(|line| line.path != record.path) {
                take_file(std::mem::take(&mut file), contents, found);
            }
            if found.total >= MAX_COUNTED {
                found.stopped = Some(SearchResults::TOO_MANY);
                return true;
            }
            if self.is_shown(&record.path, contents.files.as_ref(), &root) {
                let is_match = record.is_match
                    && (is_exact
                        || record.is_cut
                        || contents
                            .pattern
                            .matcher
                            .is_match(record.text)
                            .unwrap_or(true));
                file.push(ResultLine {
                    path: record.path,
                    number: record.number,
                    text: shown_text(record.text),
                    is_match,
                });
            }
        }
        take_file(file, contents, found);
        if records.exit_code == Some(TIMED_OUT) {
            found.stopped = Some(SearchResults::TOO_LONG);
            return true;
        }
        found.total > 0 || records.exit_code.unwrap_or(0) < 2
    }

    fn take_names(&self, answer: &mut ScriptAnswer, glob: &NameGlob, found: &mut SearchResults) {
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        while let Ok(field) = answer.field() {
            let end = field.iter().position(|byte| *byte == b' ').unwrap_or(0);
            let modified = field.get(..end).unwrap_or_default();
            let path = field.get(end + 1..).unwrap_or_default();
            // Without the `.` find was started with.
            let path: PathBuf = Path::new(std::ffi::OsStr::from_bytes(path))
                .components()
                .collect();
            if self.is_shown(&path, Some(glob), &found.root) {
                files.push((String::from_utf8_lossy(modified).into_owned(), path));
            }
        }
        if files.len() > MAX_COUNTED {
            files.truncate(MAX_COUNTED);
            found.stopped = Some(SearchResults::TOO_MANY);
        }
        // Seconds since 1970 have had the same number of digits since 2001.
        files.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        found.total = files.len();
        found.names = files.into_iter().map(|(_, path)| path).collect();
    }

    fn is_shown(&self, path: &Path, glob: Option<&NameGlob>, root: &Path) -> bool {
        // To ripgrep a pattern for names also means the hidden ones it fits.
        let is_hidden = glob.is_some() && {
            let below = path.strip_prefix(root).unwrap_or(path);
            let mut parts = below.components();
            parts.any(|part| part.as_os_str().as_bytes().starts_with(b"."))
        };
        !is_hidden
            && glob.is_none_or(|glob| glob.fits(root, path))
            && self.guard.refusal(path).is_none()
    }
}

/// Takes the lines of one file: matches, and those within reach of one.
fn take_file(lines: Vec<ResultLine>, wanted: &Contents, found: &mut SearchResults) {
    let matches: Vec<u64> = lines
        .iter()
        .filter(|line| line.is_match)
        .map(|line| line.number)
        .collect();
    let Some(path) = lines.first().map(|line| line.path.clone()) else {
        return;
    };
    if matches.is_empty() {
        return;
    }
    let around = wanted.around as u64;
    for line in lines {
        let next = matches.partition_point(|number| number.saturating_add(around) < line.number);
        let reaches = |number: &u64| number.saturating_sub(around) <= line.number;
        if matches.get(next).is_some_and(reaches) {
            found.push(line, wanted.keep);
        }
    }
    found.counts.push((path, matches.len()));
}

/// A pattern for `find -name` that fits at least what a glob fits; empty for all.
fn for_find(glob: &NameGlob) -> String {
    let name = last_part(glob);
    // Brackets and question marks mean characters here and bytes there.
    if name.contains(['[', ']', '{', '}', '\\', '\0']) {
        return String::new();
    }
    name.replace('?', "*")
}

/// The same for a type of ripgrep, whose globs are ours.
fn for_ripgrep(glob: &NameGlob) -> String {
    let name = last_part(glob);
    // A colon would end the pattern.
    if name.contains([':', '\0']) || name.contains("**") || has_split_braces(glob) {
        return String::new();
    }
    name.to_owned()
}

/// Whether a slash stands between braces, so that what follows it is no pattern of its own.
fn has_split_braces(glob: &NameGlob) -> bool {
    let text = glob.text();
    text.contains('/') && text.contains(['{', '[', '\\'])
}

fn last_part(glob: &NameGlob) -> &str {
    let text = glob.text();
    text.rsplit('/').next().unwrap_or(text)
}
