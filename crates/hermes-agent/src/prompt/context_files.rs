//! Context files: project instructions for agents.

use std::path::{Path, PathBuf};

use hermes_tools::real_path;

use super::injection::{Blocked, scan};
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContextFile {
    pub(super) name: String,
    /// The text, scanned and shortened.
    pub(super) text: String,
    pub(super) blocked: Vec<Blocked>,
    /// A notice about missing text.
    pub(super) missing: Option<String>,
}

/// Loads a context file; `None` if it does not exist or is empty.
pub(super) fn load(path: &Path, name: &str, max: usize) -> Option<ContextFile> {
    let bytes = match hermes_fs::read_capped(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return None,
        Err(error) => {
            tracing::warn!(%error, "could not read a context file");
            return Some(ContextFile {
                name: name.to_owned(),
                text: format!("[{name} could not be read and is omitted]"),
                blocked: Vec::new(),
                missing: Some(format!("{name} is omitted: {error}.")),
            });
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    // Some editors write a byte order mark.
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return None;
    }
    let total = text.chars().count();
    if total > max {
        return Some(shortened(text, name, total, max));
    }
    let (text, blocked) = scan(name, text);
    Some(ContextFile {
        name: name.to_owned(),
        text,
        blocked,
        missing: None,
    })
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
pub(super) fn project(cwd: &Path, max: usize) -> Vec<ContextFile> {
    if let Some(found) = own_file(cwd, max) {
        return vec![found];
    }
    for name in ["AGENTS.md", "CLAUDE.md"] {
        if let Some(found) = load(&cwd.join(name), name, max) {
            return vec![found];
        }
    }
    let mut rules: Vec<ContextFile> = load(&cwd.join(".cursorrules"), ".cursorrules", max)
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
        rules.extend(load(&path, &format!(".cursor/rules/{name}"), max));
    }
    rules
}

/// `.hermes.md` or `HERMES.md`, from the directory up to the root of the git repository.
fn own_file(cwd: &Path, max: usize) -> Option<ContextFile> {
    let has_root = cwd
        .ancestors()
        .take(MAX_PARENTS)
        .any(|directory| directory.join(".git").exists());
    for directory in cwd.ancestors().take(MAX_PARENTS) {
        for name in [".hermes.md", "HERMES.md"] {
            if let Some(mut found) = load(&directory.join(name), name, max) {
                found.text = without_frontmatter(&found.text).to_owned();
                return Some(found);
            }
        }
        // Outside of a repository only the directory itself counts.
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

/// The instructions of the directories between `cwd` and `path` that were not used before, and notices
/// for the user about omitted text. `seen` are the directories already handled.
pub(crate) fn subdirectory_hint(
    cwd: &Path,
    path: &Path,
    seen: &mut Vec<PathBuf>,
) -> Option<(String, Vec<String>)> {
    let path = real_path(path);
    let cwd = real_path(cwd);
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
            notices.extend(found.blocked.iter().map(|blocked| blocked.notice(&name)));
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
