//! Git metadata of a workspace: what a commit writes, without hooks and settings.
//!
//! Whoever can change a hook or a setting of a repository decides what runs when the user next calls
//! git in it.

use std::path::{Path, PathBuf};

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
pub(super) fn metadata_of(workspace: &Path) -> GitMetadata {
    let entry = workspace.join(".git");
    let Ok(found) = hermes_fs::symlink_metadata(&entry) else {
        return GitMetadata::default();
    };
    if found.is_dir() {
        return repository(&entry);
    }
    if found.is_file() {
        return worktree(&entry).unwrap_or_default();
    }
    GitMetadata::default()
}

/// A repository inside of what may be written.
fn repository(directory: &Path) -> GitMetadata {
    let mut found = GitMetadata {
        pinned: vec![directory.to_owned()],
        ..GitMetadata::default()
    };
    let hooks = directory.join(HOOKS);
    if !hooks.is_dir() {
        found.create.push(hooks.clone());
    }
    found.protected.push(hooks);
    let settings = SETTINGS.iter().map(|name| directory.join(name));
    found
        .protected
        .extend(settings.filter(|path| path.is_file()));
    // Those of submodules likewise; their names may have several parts.
    let modules = directory.join("modules");
    let depth = 3;
    submodules(&modules, depth, &mut found);
    found
}

fn submodules(directory: &Path, depth: u32, found: &mut GitMetadata) {
    if depth == 0 || !directory.is_dir() {
        return;
    }
    for entry in hermes_fs::read_dir(directory).unwrap_or_default() {
        if entry.path.join("HEAD").is_file() {
            found.pinned.push(entry.path.clone());
            let names = [HOOKS, "config"].map(|name| entry.path.join(name));
            found
                .protected
                .extend(names.into_iter().filter(|path| path.exists()));
        } else if entry.path.is_dir() {
            submodules(&entry.path, depth - 1, found);
        }
    }
}

/// A worktree, whose repository lies elsewhere. `None` if the files do not point at each other, as
/// git sees to it: a workspace could name any directory as its repository.
fn worktree(pointer: &Path) -> Option<GitMetadata> {
    let text = hermes_fs::read_text_capped(pointer, POINTER_LIMIT).ok()?;
    let named = Path::new(text.trim_end().strip_prefix("gitdir: ")?);
    let parent = pointer.parent()?;
    let own = hermes_fs::canonicalize(&parent.join(named)).ok()?;
    let back = hermes_fs::read_text_capped(&own.join("gitdir"), POINTER_LIMIT).ok()?;
    let back = hermes_fs::canonicalize(&own.join(back.trim_end())).ok()?;
    if back != hermes_fs::canonicalize(pointer).ok()? {
        return None;
    }
    let common = hermes_fs::read_text_capped(&own.join("commondir"), POINTER_LIMIT).ok()?;
    let common = hermes_fs::canonicalize(&own.join(common.trim_end())).ok()?;
    if own.parent()?.parent()? != common || own.parent()?.file_name()? != "worktrees" {
        return None;
    }
    // Locks of references lie beside the settings, so all of it is writable and they are not.
    let mut found = repository(&common);
    let pointers = POINTERS.iter().map(|name| own.join(name));
    let foreign = FOREIGN.iter().map(|name| common.join(name));
    let kept = pointers.chain(foreign).filter(|path| path.exists());
    found.protected.extend(kept);
    let others = hermes_fs::read_dir(own.parent()?).unwrap_or_default();
    let others = others.into_iter().map(|entry| entry.path);
    found.protected.extend(others.filter(|path| *path != own));
    found.writable = vec![common, own];
    Some(found)
}
