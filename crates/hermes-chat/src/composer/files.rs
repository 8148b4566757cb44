//! Files below the working directory, for completions.

use std::path::Path;

/// More files are not offered.
const MOST: usize = 20_000;
/// Deeper directories are not looked into.
const DEEPEST: usize = 12;

/// Paths relative to `directory`, those that version control ignores left out.
pub(super) fn files_below(directory: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(directory)
        .max_depth(Some(DEEPEST))
        .follow_links(false)
        .build();
    let mut paths: Vec<String> = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(directory).ok()?;
            path.to_str().map(str::to_owned)
        })
        .take(MOST)
        .collect();
    paths.sort_unstable_by_key(|path| (path.matches('/').count(), path.clone()));
    paths
}
