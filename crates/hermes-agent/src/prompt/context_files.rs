//! Files in which a project tells agents how to work there.

use std::path::{Component, Path, PathBuf};

use super::injection::{Blocked, scan};
use super::wording::HINT_MARK;

/// Files beyond this are not read at all.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Parts of a long text that stay.
const HEAD_PERCENT: usize = 70;
const TAIL_PERCENT: usize = 20;
/// Directories looked at from the working directory upwards.
const MOST_PARENTS: usize = 64;
/// Most characters of a hint from a directory below.
const HINT_CHARS: usize = 8_000;
/// Directories looked at between a file and the working directory.
const HINT_PARENTS: usize = 5;

/// A text from a file, fit to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loaded {
    /// As people call it.
    pub(super) name: String,
    /// The text, scanned and cut.
    pub(super) text: String,
    /// What was taken out.
    pub(super) blocked: Vec<Blocked>,
    /// Why something is missing, for whoever watches.
    pub(super) missing: Option<String>,
}

/// Reads a text file; `None` if there is none or nothing in it. One that is no text says so.
pub(super) fn load(path: &Path, name: &str, most: usize) -> Option<Loaded> {
    let bytes = match hermes_fs::read_capped(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return None,
        Err(error) => {
            tracing::warn!(%error, "a context file was not read");
            return Some(Loaded {
                name: name.to_owned(),
                text: format!("[{name} could not be read and is left out]"),
                blocked: Vec::new(),
                missing: Some(format!("{name} is left out: {error}.")),
            });
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    // Some editors begin every file with a mark of its encoding.
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return None;
    }
    let total = text.chars().count();
    if total > most {
        return Some(shortened(text, name, total, most));
    }
    let (text, blocked) = scan(name, text);
    Some(Loaded {
        name: name.to_owned(),
        text,
        blocked,
        missing: None,
    })
}

/// Beginning and end of a text that is too long. Only these are scanned: what nobody gets can harm
/// nobody, however long it is.
fn shortened(text: &str, name: &str, total: usize, most: usize) -> Loaded {
    let head = most * HEAD_PERCENT / 100;
    let tail = most * TAIL_PERCENT / 100;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let before_end = text.lines().count() - end.lines().count();
    let (start, mut blocked) = scan(name, &start);
    let (end, blocked_in_end) = scan(name, &end);
    blocked.extend(blocked_in_end.into_iter().map(|one| Blocked {
        line: one.line + before_end,
        ..one
    }));
    Loaded {
        name: name.to_owned(),
        text: format!(
            "{start}\n[… {} of {total} characters of {name} are left out here; read the file for \
             them …]\n{end}",
            total - head - tail
        ),
        blocked,
        missing: Some(format!(
            "{name} has {total} characters; the model gets its beginning and its end, {} of them.",
            head + tail
        )),
    }
}

/// The files of the project around `cwd`: the first kind that is there.
pub(super) fn project(cwd: &Path, most: usize) -> Vec<Loaded> {
    if let Some(found) = own_file(cwd, most) {
        return vec![found];
    }
    for name in ["AGENTS.md", "CLAUDE.md"] {
        if let Some(found) = load(&cwd.join(name), name, most) {
            return vec![found];
        }
    }
    let mut rules: Vec<Loaded> = load(&cwd.join(".cursorrules"), ".cursorrules", most)
        .into_iter()
        .collect();
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
        rules.extend(load(&path, &format!(".cursor/rules/{name}"), most));
    }
    rules
}

/// `.hermes.md` or `HERMES.md`, from the directory up to the root of the repository.
fn own_file(cwd: &Path, most: usize) -> Option<Loaded> {
    let has_root = cwd
        .ancestors()
        .take(MOST_PARENTS)
        .any(|directory| directory.join(".git").exists());
    for directory in cwd.ancestors().take(MOST_PARENTS) {
        for name in [".hermes.md", "HERMES.md"] {
            if let Some(mut found) = load(&directory.join(name), name, most) {
                found.text = without_frontmatter(&found.text).to_owned();
                return Some(found);
            }
        }
        // Outside of a repository only the directory itself belongs to the project.
        if !has_root || directory.join(".git").exists() {
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

/// What directories say to agents who work there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    /// For the model.
    pub(crate) text: String,
    /// For whoever watches: what was left out.
    pub(crate) notices: Vec<String>,
}

/// What a directory below `cwd` says to agents who touch `path` there for the first time. `seen` are
/// directories that have been looked at.
pub(crate) fn subdirectory_hint(cwd: &Path, path: &Path, seen: &mut Vec<PathBuf>) -> Option<Hint> {
    let path = really(path);
    let cwd = really(cwd);
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
            .find_map(|name| load(&directory.join(name), name, HINT_CHARS));
        if let Some(found) = found {
            let below = directory.strip_prefix(&cwd).unwrap_or(directory);
            let name = below.join(&found.name).display().to_string();
            notices.extend(found.blocked.iter().map(|blocked| blocked.told(&name)));
            texts.push(format!(
                "[{} of {}, {HINT_MARK}]\n{}",
                found.name,
                directory.display(),
                found.text
            ));
        }
    }
    (!texts.is_empty()).then(|| Hint {
        text: texts.join("\n\n"),
        notices,
    })
}

/// Where a path leads: without `..`, and through links as far as it exists.
fn really(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    for known in plain.ancestors() {
        if let Ok(real) = hermes_fs::canonicalize(known) {
            let rest = plain.strip_prefix(known).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    plain
}

#[cfg(test)]
#[path = "context_files_tests.rs"]
mod tests;
