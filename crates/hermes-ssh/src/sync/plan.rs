//! What a push has to do; pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::manifest::Manifest;
use hermes_terminal::carried_files::CarriedFile;

/// What differs from what is there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PushPlan {
    /// New and changed files by their path there.
    pub(super) send: Vec<(String, CarriedFile)>,
    /// Paths of files that are gone here.
    pub(super) remove: Vec<String>,
    /// Directories in which nothing of ours is left, inner ones first.
    pub(super) emptied: Vec<String>,
    /// Files whose names cannot be written down.
    pub(super) unnamed: Vec<PathBuf>,
}

impl PushPlan {
    /// `once_there` are paths that may hold files of an earlier push besides those of the manifest.
    pub(super) fn new(
        files: BTreeMap<PathBuf, CarriedFile>,
        manifest: &Manifest,
        once_there: &[String],
    ) -> Self {
        let mut plan = Self::default();
        let mut wanted = BTreeSet::new();
        for (remote_path, file) in files {
            let Some(name) = remote_path.to_str().map(str::to_owned) else {
                plan.unnamed.push(file.source);
                continue;
            };
            let sent = manifest.files.get(&name);
            wanted.insert(name.clone());
            if !sent.is_some_and(|sent| sent.looks_like(&file)) {
                plan.send.push((name, file));
            }
        }
        let there: BTreeSet<&String> = manifest.files.keys().chain(once_there).collect();
        let gone = there
            .into_iter()
            .filter(|remote_path| !wanted.contains(*remote_path));
        plan.remove = gone.cloned().collect();
        plan.emptied = emptied(&plan.remove, &wanted);
        plan
    }

    pub(super) fn is_empty(&self) -> bool {
        self.send.is_empty() && self.remove.is_empty()
    }
}

/// Directories of removed files that hold nothing wanted. Those right below `.hermes` stay.
fn emptied(removed: &[String], wanted: &BTreeSet<String>) -> Vec<String> {
    let mut directories = BTreeSet::new();
    for remote_path in removed {
        let mut rest = remote_path.as_str();
        while let Some((parent, _)) = rest.rsplit_once('/') {
            if !parent.contains('/') {
                break;
            }
            let inside = format!("{parent}/");
            let next = wanted.range(inside.clone()..).next();
            if next.is_some_and(|remote_path| remote_path.starts_with(&inside)) {
                break;
            }
            directories.insert(parent.to_owned());
            rest = parent;
        }
    }
    // A directory sorts before what is in it.
    directories.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::sync::manifest::SentFile;
    use hermes_terminal::carried_files::CarriedKind;

    fn file(size: u64, modified: i64) -> CarriedFile {
        CarriedFile {
            kind: CarriedKind::Skill,
            root: "/h".into(),
            source: "/h/x".into(),
            size,
            modified,
            mode: 0o600,
        }
    }

    fn sent(size: u64, modified: i64) -> SentFile {
        SentFile {
            modified,
            size,
            hash: String::new(),
            is_credential: false,
        }
    }

    fn manifest<const N: usize>(files: [(&str, SentFile); N]) -> Manifest {
        Manifest {
            files: files.map(|(name, file)| (name.to_owned(), file)).into(),
            ..Manifest::default()
        }
    }

    #[test]
    fn only_what_looks_different_is_sent() {
        let files = BTreeMap::from([
            ("skills/new".into(), file(1, 1)),
            ("skills/same".into(), file(1, 1)),
            ("skills/size".into(), file(2, 1)),
            ("skills/time".into(), file(1, 2)),
        ]);
        let known = manifest([
            ("skills/same", sent(1, 1)),
            ("skills/size", sent(1, 1)),
            ("skills/time", sent(1, 1)),
        ]);
        let plan = PushPlan::new(files, &known, &[]);
        let names: Vec<&str> = plan.send.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["skills/new", "skills/size", "skills/time"]);
        assert!(plan.remove.is_empty() && plan.emptied.is_empty());
    }

    #[test]
    fn nothing_to_do_is_known() {
        let files = BTreeMap::from([("skills/same".into(), file(1, 1))]);
        let plan = PushPlan::new(files, &manifest([("skills/same", sent(1, 1))]), &[]);
        assert!(plan.is_empty());
    }

    #[test]
    fn what_is_gone_here_goes_there_with_its_empty_directories() {
        let files = BTreeMap::from([
            ("skills/a/keep".into(), file(1, 1)),
            ("skills/a-b".into(), file(1, 1)),
        ]);
        let known = manifest([
            ("skills/a/keep", sent(1, 1)),
            ("skills/a-b", sent(1, 1)),
            ("skills/a/x/y/gone", sent(1, 1)),
            ("token.json", sent(1, 1)),
        ]);
        let plan = PushPlan::new(files, &known, &["cache/web/old".to_owned()]);
        assert_eq!(
            plan.remove,
            ["cache/web/old", "skills/a/x/y/gone", "token.json"]
        );
        assert_eq!(plan.emptied, ["skills/a/x/y", "skills/a/x", "cache/web"]);
        assert!(!plan.is_empty());
    }
}
