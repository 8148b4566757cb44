//! Git metadata of a workspace: what a commit writes, without hooks and settings.
//!
//! Whoever can change a hook or a setting of a repository decides what runs when the user next calls
//! git in it.

use std::path::{Path, PathBuf};

use super::look::Look;

/// What git needs of a workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitMetadata {
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
    pub(super) pinned: Vec<PathBuf>,
    /// Directories that must exist so that nobody else makes them.
    pub(super) create: Vec<PathBuf>,
}

/// Settings of a repository: what they name runs.
const SETTINGS: &[&str] = &["config", "config.worktree"];
const HOOKS: &str = "hooks";
/// What else of the repository of a worktree a commit there has no business with.
const FOREIGN: &[&str] = &["HEAD", "index", "info", "modules"];
/// Where a worktree says which repository it belongs to.
const POINTERS: &[&str] = &["commondir", "gitdir", "config.worktree"];
/// More than any such file has.
const POINTER_LIMIT: u64 = 16 * 1024;

/// The metadata of the repository whose files lie in `workspace`, if they do.
pub(super) fn metadata_of(workspace: &Path, look: &Look) -> GitMetadata {
    let entry = workspace.join(".git");
    // What it leads to decides, and a link could lead anywhere.
    if look.resolved(&entry).as_ref() != Some(&entry) {
        return GitMetadata::default();
    }
    if look.is_dir(&entry) {
        repository(&entry, look)
    } else {
        worktree(&entry, look).unwrap_or_default()
    }
}

/// A repository inside of what may be written.
fn repository(directory: &Path, look: &Look) -> GitMetadata {
    let mut found = GitMetadata {
        pinned: vec![directory.to_owned()],
        ..GitMetadata::default()
    };
    let hooks = directory.join(HOOKS);
    if !look.is_dir(&hooks) {
        found.create.push(hooks.clone());
    }
    found.protected.push(hooks);
    let settings = SETTINGS.iter().map(|name| directory.join(name));
    found
        .protected
        .extend(settings.filter(|path| look.is_file(path)));
    // Those of submodules likewise; their names may have several parts.
    let modules = directory.join("modules");
    let depth = 3;
    submodules(&modules, depth, look, &mut found);
    found
}

fn submodules(directory: &Path, depth: u32, look: &Look, found: &mut GitMetadata) {
    if depth == 0 || !look.is_dir(directory) {
        return;
    }
    for entry in look.list(directory, |_| true) {
        if look.is_file(&entry.path.join("HEAD")) {
            found.pinned.push(entry.path.clone());
            let names = [HOOKS, "config"].map(|name| entry.path.join(name));
            found.protected.extend(
                names
                    .into_iter()
                    .filter(|path| look.resolved(path).is_some()),
            );
        } else if look.is_dir(&entry.path) {
            submodules(&entry.path, depth - 1, look, found);
        }
    }
}

/// A worktree, whose repository lies elsewhere. `None` if the files do not point at each other, as
/// git sees to it: a workspace could name any directory as its repository.
fn worktree(pointer: &Path, look: &Look) -> Option<GitMetadata> {
    let text = look.text(pointer, POINTER_LIMIT)?;
    let named = Path::new(text.trim_end().strip_prefix("gitdir: ")?);
    let parent = pointer.parent()?;
    let own = look.resolved(&parent.join(named))?;
    let back = look.text(&own.join("gitdir"), POINTER_LIMIT)?;
    let back = look.resolved(&own.join(back.trim_end()))?;
    if back != look.resolved(pointer)? {
        return None;
    }
    let common = look.text(&own.join("commondir"), POINTER_LIMIT)?;
    let common = look.resolved(&own.join(common.trim_end()))?;
    if own.parent()?.parent()? != common || own.parent()?.file_name()? != "worktrees" {
        return None;
    }
    // Locks of references lie beside the settings, so all of it is writable and they are not.
    let mut found = repository(&common, look);
    let pointers = POINTERS.iter().map(|name| own.join(name));
    let foreign = FOREIGN.iter().map(|name| common.join(name));
    let kept = pointers
        .chain(foreign)
        .filter(|path| look.resolved(path).is_some());
    found.protected.extend(kept);
    let others = look
        .list(own.parent()?, |_| true)
        .into_iter()
        .map(|entry| entry.path);
    found.protected.extend(others.filter(|path| *path != own));
    found.writable = vec![common, own];
    Some(found)
}
