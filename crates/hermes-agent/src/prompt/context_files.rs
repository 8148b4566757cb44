//! Context files: project instructions for agents.
//!
//! They are a repository's own, so what they hold is sent to a provider and stored without anyone
//! having asked for it: only files that lie in the project count, whatever links say, none that are
//! private, and secrets are masked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_policy::injection::{Blocked, scan};
use hermes_policy::{PrivateHomes, ReadGuard};
use hermes_secret::Redactor;
use hermes_tools::real_path;

use super::texts::HINT_MARK;

/// Maximum bytes of a context file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Parts kept of a long text.
const HEAD_PERCENT: usize = 70;
const TAIL_PERCENT: usize = 20;
/// Maximum number of parent directories searched.
const MAX_PARENTS: usize = 64;
/// Maximum characters of the instructions of a subdirectory.
const HINT_CHARS: usize = 8_000;
/// Maximum number of directories searched between a file and the working directory.
const HINT_PARENTS: usize = 5;

/// What of a context file may reach a model.
#[derive(Debug, Clone, Default)]
pub struct ContextFileRules {
    /// Homes whose private files are never used.
    pub private_homes: PrivateHomes,
    pub redactor: Arc<Redactor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContextFile {
    pub(super) name: String,
    /// The text, scanned and shortened.
    pub(super) text: String,
    pub(super) blocked: Vec<Blocked>,
    /// A notice about missing text.
    pub(super) missing: Option<String>,
}

/// Where context files are looked for.
#[derive(Clone, Copy)]
pub(super) struct ContextSource<'a> {
    /// The directory, without links, in which a file must lie after links are followed; anywhere if
    /// `None`.
    pub(super) root: Option<&'a Path>,
    /// Characters of one file.
    pub(super) max: usize,
    pub(super) rules: &'a ContextFileRules,
}

impl ContextSource<'_> {
    /// Loads a context file; `None` if it does not exist or is empty.
    pub(super) fn load(&self, path: &Path, name: &str) -> Option<ContextFile> {
        let real = match hermes_fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.is_not_found() => return None,
            Err(error) => return Some(omitted(name, &error.to_string())),
        };
        if self.root.is_some_and(|root| !real.starts_with(root)) {
            return Some(omitted(name, "it leads out of the project"));
        }
        if is_env_file(&real) || ReadGuard::here(&self.rules.private_homes).refuses_attaching(&real)
        {
            return Some(omitted(name, "it leads to a private file"));
        }
        let bytes = match hermes_fs::read_capped(&real, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return Some(omitted(name, &error.to_string())),
        };
        let text = String::from_utf8_lossy(&bytes);
        // Some editors write a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return None;
        }
        let text = self.rules.redactor.redact(text);
        let total = text.chars().count();
        if total > self.max {
            return Some(shortened(&text, name, total, self.max));
        }
        let (text, blocked) = scan(name, &text);
        Some(ContextFile {
            name: name.to_owned(),
            text,
            blocked,
            missing: None,
        })
    }
}

/// Whether this is a file with variables, `.env` or `.env.local`: no instructions, wherever it lies.
fn is_env_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == ".env" || name.starts_with(".env.")
}

fn omitted(name: &str, reason: &str) -> ContextFile {
    tracing::warn!(name, reason, "a context file is not used");
    ContextFile {
        name: name.to_owned(),
        text: format!("[{name} could not be read and is omitted]"),
        blocked: Vec::new(),
        missing: Some(format!("{name} is omitted: {reason}.")),
    }
}

/// The beginning and the end of a long text. Only these are scanned, as the rest is not used.
fn shortened(text: &str, name: &str, total: usize, max: usize) -> ContextFile {
    let head = max * HEAD_PERCENT / 100;
    let tail = max * TAIL_PERCENT / 100;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let before_end = text.lines().count() - end.lines().count();
    let (start, mut blocked) = scan(name, &start);
    let (end, blocked_in_end) = scan(name, &end);
    blocked.extend(blocked_in_end.into_iter().map(|one| Blocked {
        line: one.line + before_end,
        ..one
    }));
    ContextFile {
        name: name.to_owned(),
        text: format!(
            "{start}\n[… {} of {total} characters of {name} are omitted here; read the file for them …]\n{end}",
            total - head - tail
        ),
        blocked,
        missing: Some(format!(
            "{name} has {total} characters; the model gets {} of them, from its beginning and its end.",
            head + tail
        )),
    }
}

/// The context files of the project at `cwd`: the first kind that exists.
pub(super) fn project(cwd: &Path, max: usize, rules: &ContextFileRules) -> Vec<ContextFile> {
    let repository = repository_of(cwd);
    let root = real_path(repository.unwrap_or(cwd));
    let source = ContextSource {
        root: Some(&root),
        max,
        rules,
    };
    if let Some(found) = own_file(cwd, repository, source) {
        return vec![found];
    }
    for name in ["AGENTS.md", "CLAUDE.md"] {
        if let Some(found) = source.load(&cwd.join(name), name) {
            return vec![found];
        }
    }
    let cursor = source.load(&cwd.join(".cursorrules"), ".cursorrules");
    let mut rules: Vec<ContextFile> = cursor.into_iter().collect();
    let directory = cwd.join(".cursor/rules");
    let mut files: Vec<PathBuf> = hermes_fs::read_dir(&directory)
        .unwrap_or_default()
        .into_iter()
        .map(|entry| entry.path)
        .filter(|path| path.extension().is_some_and(|ending| ending == "mdc"))
        .collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        rules.extend(source.load(&path, &format!(".cursor/rules/{name}")));
    }
    rules
}

/// The root of the git repository that holds a directory.
fn repository_of(cwd: &Path) -> Option<&Path> {
    cwd.ancestors()
        .take(MAX_PARENTS)
        .find(|directory| directory.join(".git").exists())
}

/// `.hermes.md` or `HERMES.md`, from the directory up to the root of the git repository.
fn own_file(
    cwd: &Path,
    repository: Option<&Path>,
    source: ContextSource<'_>,
) -> Option<ContextFile> {
    // Outside of a repository only the directory itself counts.
    let last = repository.unwrap_or(cwd);
    for directory in cwd.ancestors().take(MAX_PARENTS) {
        for name in [".hermes.md", "HERMES.md"] {
            if let Some(mut found) = source.load(&directory.join(name), name) {
                found.text = without_frontmatter(&found.text).to_owned();
                return Some(found);
            }
        }
        if directory == last {
            break;
        }
    }
    None
}

fn without_frontmatter(text: &str) -> &str {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let mut length = match lines.next() {
        Some(first) if is_fence(first) => first.len(),
        _ => return text,
    };
    for line in lines {
        length += line.len();
        if is_fence(line) {
            return text.get(length..).unwrap_or_default().trim_start();
        }
    }
    text
}

/// The instructions of the directories between `cwd` and `path` that were not used before, and notices
/// for the user about omitted text. `seen` are the directories already handled.
pub(crate) fn subdirectory_hint(
    cwd: &Path,
    path: &Path,
    seen: &mut Vec<PathBuf>,
    rules: &ContextFileRules,
) -> Option<(String, Vec<String>)> {
    let path = real_path(path);
    let cwd = real_path(cwd);
    let source = ContextSource {
        root: Some(&cwd),
        max: HINT_CHARS,
        rules,
    };
    let start = if path.is_dir() {
        &*path
    } else {
        path.parent()?
    };
    let mut texts = Vec::new();
    let mut notices = Vec::new();
    for directory in start.ancestors().take(HINT_PARENTS) {
        let is_below = directory.starts_with(&cwd) && directory != cwd;
        if !is_below || seen.iter().any(|known| known == directory) {
            break;
        }
        seen.push(directory.to_owned());
        let found = ["AGENTS.md", "CLAUDE.md", ".cursorrules"]
            .iter()
            .find_map(|name| source.load(&directory.join(name), name));
        if let Some(found) = found {
            let below = directory.strip_prefix(&cwd).unwrap_or(directory);
            let name = below.join(&found.name).display().to_string();
            notices.extend(found.blocked.iter().map(|blocked| blocked.notice(&name)));
            notices.extend(found.missing);
            texts.push(format!(
                "[{} of {}, {HINT_MARK}]\n{}",
                found.name,
                directory.display(),
                found.text
            ));
        }
    }
    (!texts.is_empty()).then(|| (texts.join("\n\n"), notices))
}

#[cfg(test)]
#[path = "context_files_tests.rs"]
mod tests;
