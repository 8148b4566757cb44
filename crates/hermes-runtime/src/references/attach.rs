//! What a reference names, as text for the model. Nothing outside the working directory, nothing
//! that holds credentials.

use std::path::{Path, PathBuf};

use hermes_config::vars;
use hermes_fs::Kind;
use hermes_http::Downloads;
use hermes_policy::{PrivateHomes, ReadGuard};
use hermes_proc::{Git, GitLimits};

use super::parse::{Named, Reference};
use crate::context::Context;

/// Largest file, page or change that is attached.
const MOST_BYTES: usize = 1024 * 1024;
/// Most names of a folder.
const MOST_NAMES: usize = 200;
/// Deepest folder below the named one that is looked into.
const MOST_DEPTH: usize = 6;
/// Most commits.
const MOST_COMMITS: usize = 10;

/// Folders that say nothing about a project.
const DULL: &[&str] = &[
    "node_modules",
    "target",
    "__pycache__",
    "venv",
    "dist",
    "build",
];

/// Where references lead.
pub(crate) struct Source<'a> {
    /// The working directory; paths stay inside.
    pub(crate) root: PathBuf,
    /// Whether commands run on another machine, where the files are too.
    pub(crate) is_remote: bool,
    /// Homes whose private places are not attached.
    pub(crate) private_homes: PrivateHomes,
    pub(crate) context: &'a Context,
}

type Attached = std::result::Result<String, String>;

impl Source<'_> {
    /// The block for a reference, or a sentence why there is none.
    pub(super) fn attach(&self, reference: &Reference) -> Attached {
        let text = match &reference.named {
            Named::Url(address) => return self.page(reference, address),
            _ if self.is_remote => {
                return Err("the files are not on this machine; the agent can read them".to_owned());
            }
            Named::Diff => self.git(&["diff"])?,
            Named::Staged => self.git(&["diff", "--staged"])?,
            Named::Git(count) => {
                let count = format!("-{}", (*count).min(MOST_COMMITS));
                self.git(&["log", &count, "--patch", "--stat"])?
            }
            Named::File(path, lines) => self.file(path, *lines)?,
            Named::Folder(path) => self.folder(path)?,
        };
        Ok(block(&reference.written, &text))
    }

    fn git(&self, args: &[&str]) -> Attached {
        let git = Git::find(self.context.environment().helper_plan());
        let limits = GitLimits {
            max_output: MOST_BYTES,
            ..GitLimits::default()
        };
        let args = args.iter().copied().chain(["--no-color"]);
        let text = git
            .and_then(|git| git.run_within(&self.root, args, limits))
            .map_err(|error| error.to_string())?;
        Ok(if text.is_empty() {
            "(no changes)".to_owned()
        } else {
            text
        })
    }

    fn file(&self, written: &str, lines: Option<(usize, usize)>) -> Attached {
        let path = self.inside(written)?;
        if path.is_dir() {
            return Err("it is a folder; use @folder: to list it".to_owned());
        }
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        let text = hermes_fs::read_text_capped(&path, most).map_err(|error| error.to_string())?;
        let Some((from, to)) = lines else {
            return Ok(text);
        };
        let count = text.lines().count();
        if from > count {
            return Err(format!("it has {count} lines"));
        }
        let chosen: Vec<&str> = text.lines().skip(from - 1).take(to - from + 1).collect();
        Ok(chosen.join("\n"))
    }

    fn folder(&self, written: &str) -> Attached {
        let path = self.inside(written)?;
        if !path.is_dir() {
            return Err("it is not a folder".to_owned());
        }
        let mut names = Vec::new();
        list(&path, 0, &mut names).map_err(|error| error.to_string())?;
        let more = names.len() > MOST_NAMES;
        names.truncate(MOST_NAMES);
        if more {
            names.push("…".to_owned());
        }
        Ok(names.join("\n"))
    }

    fn page(&self, reference: &Reference, address: &str) -> Attached {
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        let text = Downloads::resolve(self.context.config()).fetch_text(address, most)?;
        Ok(block(&reference.written, &text))
    }

    /// The real place of a path, if it is one that may be read.
    fn inside(&self, written: &str) -> std::result::Result<PathBuf, String> {
        let home = self.context.env.text(&vars::HOME);
        let path = match (written.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => Path::new(home).join(below),
            _ => self.root.join(written),
        };
        let real = hermes_fs::canonicalize(&path).map_err(|error| {
            if error.is_not_found() {
                "there is no such file".to_owned()
            } else {
                error.to_string()
            }
        })?;
        let root = hermes_fs::canonicalize(&self.root).map_err(|error| error.to_string())?;
        if !real.starts_with(&root) {
            return Err("it is outside the working directory".to_owned());
        }
        if ReadGuard::here(&self.private_homes).refuses_attaching(&real) {
            return Err("files with credentials are not attached".to_owned());
        }
        Ok(real)
    }
}

/// The names below a folder, indented, folders with a slash. Links are not followed.
fn list(path: &Path, depth: usize, names: &mut Vec<String>) -> hermes_fs::Result<()> {
    for entry in hermes_fs::read_dir(path)? {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') || names.len() > MOST_NAMES {
            continue;
        }
        let indent = "  ".repeat(depth);
        if entry.kind != Kind::Dir {
            names.push(format!("{indent}{name}"));
            continue;
        }
        names.push(format!("{indent}{name}/"));
        if depth < MOST_DEPTH && !DULL.contains(&name.as_ref()) {
            list(&entry.path, depth + 1, names)?;
        }
    }
    Ok(())
}

/// A fence that the text cannot close.
fn block(written: &str, text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{written}\n{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_close_its_fence() {
        assert_eq!(block("@x", "a\n"), "@x\n```\na\n```");
        assert_eq!(block("@x", "````\na"), "@x\n`````\n````\na\n`````");
    }
}
