//! Writing what changed there back here.
//!
//! Writes only below the directories that went along, never through a link, and never over a change
//! made here without keeping it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::incoming::{Incoming, Received};
use super::manifest::{Manifest, SentFile};
use super::scripts::listed_as;
use crate::digest::digest_stream;
use hermes_fs::Directory;
use hermes_terminal::carried_files::{CarriedKind, CarriedRoot, is_left_over};

/// What came back from another machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PulledBack {
    /// Files that now have the content from there.
    pub updated: Vec<PathBuf>,
    /// Copies of files that had been changed here, too; the content from there took their names.
    pub kept: Vec<PathBuf>,
    /// What did not come back and why, one sentence each.
    pub warnings: Vec<String>,
}

/// Where paths below `.hermes` there belong here. Credentials have no such path.
pub(super) struct Destinations<'a>(pub(super) &'a [CarriedRoot]);

impl<'a> Destinations<'a> {
    /// Directories there that are worth asking for.
    pub(super) fn directories(&self) -> Vec<&'a str> {
        let trees = self.0.iter().filter(|root| is_tree(root));
        trees.filter_map(|root| root.target.to_str()).collect()
    }

    /// What was sent to these directories, as a sorted list for the other side.
    pub(super) fn listing(&self, manifest: &Manifest) -> String {
        let lines = manifest.files.iter().filter_map(|(remote_path, sent)| {
            let (root, inside) = self.find(remote_path)?;
            Some(listed_as(
                &sent.hash,
                root.target.to_str()?,
                inside.to_str()?,
            ))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.sort_unstable();
        lines.concat()
    }

    pub(super) fn has(&self, remote_path: &str) -> bool {
        self.find(remote_path).is_some()
    }

    fn find(&self, remote_path: &str) -> Option<(&'a CarriedRoot, PathBuf)> {
        let path = Path::new(remote_path);
        let is_credential = |root: &CarriedRoot| !is_tree(root) && root.target == path;
        if self.0.iter().any(is_credential) || is_left_over(&path.file_name()?.to_string_lossy()) {
            return None;
        }
        let trees = self.0.iter().filter(|root| is_tree(root));
        trees
            .filter_map(|root| Some((root, path.strip_prefix(&root.target).ok()?.to_owned())))
            .find(|(_, rest)| !rest.as_os_str().is_empty())
    }
}

fn is_tree(root: &CarriedRoot) -> bool {
    root.kind != CarriedKind::Credential
}

/// Applies what was received and records it. `time` marks copies of files that both sides changed.
/// One file that cannot be written does not hold the others; a full disk does.
pub(super) fn merge(
    received: Received,
    destinations: &Destinations<'_>,
    manifest: &mut Manifest,
    time: &str,
) -> Result<PulledBack, hermes_fs::Error> {
    let mut outcome = PulledBack {
        warnings: received.ignored,
        ..PulledBack::default()
    };
    for incoming in &received.changed {
        let Some((root, relative)) = destinations.find(&incoming.remote_path) else {
            continue;
        };
        let sent = manifest.files.get(&incoming.remote_path);
        if sent.is_some_and(|sent| sent.is_credential) {
            continue;
        }
        let sent = sent.map(|sent| sent.hash.as_str());
        match place_file(&root.source, &relative, incoming, sent, time, &mut outcome) {
            Ok(record) => {
                manifest.files.insert(incoming.remote_path.clone(), record);
            }
            Err(error) if error.is_storage_full() => return Err(error),
            Err(error) => outcome.warnings.push(error.to_string()),
        }
    }
    Ok(outcome)
}

fn place_file(
    root: &Path,
    relative: &Path,
    incoming: &Incoming,
    sent: Option<&str>,
    time: &str,
    outcome: &mut PulledBack,
) -> Result<SentFile, hermes_fs::Error> {
    let path = root.join(relative);
    // By descriptor from here on: what works in there may put a link on the way at any time.
    hermes_fs::create_dir_all(root, 0o700)?;
    let root = Directory::open(root)?;
    root.create_directories(relative.parent().unwrap_or(Path::new("")), 0o700)?;
    let here = hash_of(&root, relative)?;
    let here = here.as_deref();
    if here != Some(&incoming.hash) {
        // Changed here, too, since it was sent.
        if here.is_some() && here != sent {
            outcome.kept.push(keep_copy(&root, relative, time)?);
        }
        let mode = match root.metadata(relative) {
            Ok(meta) => meta.mode() & 0o777,
            Err(_) => 0o600 | (incoming.mode & 0o700),
        };
        let staged = hermes_fs::open(&incoming.staged)?;
        root.replace_file(staged, &incoming.staged, relative, mode)?;
        outcome.updated.push(path);
    }
    let meta = root.metadata(relative)?;
    let seconds = meta.mtime().saturating_mul(1_000_000_000);
    Ok(SentFile {
        modified: seconds.saturating_add(meta.mtime_nsec()),
        size: meta.size(),
        hash: incoming.hash.clone(),
        is_credential: false,
    })
}

fn keep_copy(root: &Directory, relative: &Path, time: &str) -> Result<PathBuf, hermes_fs::Error> {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let mode = root.metadata(relative)?.mode() & 0o777;
    let mut copy = relative.with_file_name(format!("{name}.host-{time}"));
    let mut number = 1;
    loop {
        match root.copy_file(relative, root, &copy, mode) {
            Ok(_) => return Ok(root.path().join(copy)),
            Err(hermes_fs::Error::AlreadyExists { .. }) => {
                number += 1;
                copy = relative.with_file_name(format!("{name}.host-{time}-{number}"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Of a regular file; `None` if there is none.
fn hash_of(root: &Directory, relative: &Path) -> Result<Option<String>, hermes_fs::Error> {
    match root.open_file(relative) {
        Ok((file, _)) => digest_stream(file, |_| Ok(()))
            .map(Some)
            .map_err(hermes_fs::Error::io("read", &root.path().join(relative))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::digest::digest_of;

    const TIME: &str = "20261115T231900Z";

    struct Bench {
        dir: tempfile::TempDir,
        roots: Vec<CarriedRoot>,
        manifest: Manifest,
        received: Received,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let skills = dir.path().join("skills");
            hermes_fs::create_dir_all(&skills, 0o700).unwrap();
            hermes_fs::create_dir_all(&dir.path().join("staged"), 0o700).unwrap();
            let root = |kind, source: PathBuf, target: &str| CarriedRoot {
                kind,
                source,
                target: target.into(),
            };
            let token = dir.path().join("skills/token.json");
            Self {
                roots: vec![
                    root(CarriedKind::Credential, token, "skills/token.json"),
                    root(CarriedKind::Skill, skills, "skills"),
                ],
                manifest: Manifest::default(),
                received: Received::default(),
                dir,
            }
        }

        fn put(&self, name: &str, text: &str) {
            let path = self.dir.path().join(name);
            hermes_fs::create_dir_all(path.parent().unwrap(), 0o700).unwrap();
            hermes_fs::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        }

        fn text(&self, name: &str) -> String {
            hermes_fs::read_text_capped(&self.dir.path().join(name), 1000).unwrap()
        }

        fn sent(&mut self, remote_path: &str, text: &str, is_credential: bool) {
            let file = SentFile {
                modified: 0,
                size: 0,
                hash: digest_of(text.as_bytes()),
                is_credential,
            };
            self.manifest.files.insert(remote_path.to_owned(), file);
        }

        fn there(&mut self, remote_path: &str, text: &str) {
            let staged = format!("staged/{}", self.received.changed.len());
            self.put(&staged, text);
            self.received.changed.push(Incoming {
                remote_path: remote_path.to_owned(),
                staged: self.dir.path().join(staged),
                hash: digest_of(text.as_bytes()),
                mode: 0o755,
            });
        }

        fn merge(&mut self) -> PulledBack {
            let received = std::mem::take(&mut self.received);
            let destinations = Destinations(&self.roots);
            merge(received, &destinations, &mut self.manifest, TIME).unwrap()
        }
    }

    #[test]
    fn the_other_side_wins_and_what_changed_here_is_kept() {
        let mut bench = Bench::new();
        for (name, here) in [("only-there", "old"), ("both", "mine"), ("same", "new")] {
            bench.put(&format!("skills/{name}"), here);
            bench.sent(&format!("skills/{name}"), "old", false);
            bench.there(&format!("skills/{name}"), "new");
        }
        bench.there("skills/deep/fresh.sh", "new");

        let outcome = bench.merge();
        let here = |name: &str| bench.dir.path().join("skills").join(name);
        assert_eq!(
            outcome.updated,
            [here("only-there"), here("both"), here("deep/fresh.sh")]
        );
        assert_eq!(outcome.kept, [here(&format!("both.host-{TIME}"))]);
        assert_eq!(bench.text(&format!("skills/both.host-{TIME}")), "mine");
        for name in ["only-there", "both", "same", "deep/fresh.sh"] {
            assert_eq!(bench.text(&format!("skills/{name}")), "new", "{name}");
            // Recorded as it is now, so that it is not sent again.
            let record = &bench.manifest.files[&format!("skills/{name}")];
            assert_eq!(record.size, 3);
        }
        let mode = |name: &str| hermes_fs::symlink_metadata(&here(name)).unwrap().mode() & 0o777;
        assert_eq!((mode("only-there"), mode("deep/fresh.sh")), (0o600, 0o700));
    }

    #[test]
    fn credentials_left_overs_and_strangers_stay_where_they_are() {
        let mut bench = Bench::new();
        bench.put("skills/token.json", "mine");
        bench.put("skills/once.json", "mine");
        bench.sent("skills/once.json", "mine", true);
        for remote_path in [
            "skills/token.json",
            "skills/once.json",
            "skills/x.host-20261115T231900Z",
            "config.yaml",
            "skills",
        ] {
            bench.there(remote_path, "stolen");
        }
        assert_eq!(bench.merge(), PulledBack::default());
        assert_eq!(bench.text("skills/token.json"), "mine");
        assert_eq!(bench.text("skills/once.json"), "mine");
    }

    #[test]
    fn nothing_is_written_through_a_link_or_over_a_directory() {
        let mut bench = Bench::new();
        bench.put("outside/file", "mine");
        hermes_fs::symlink(
            &bench.dir.path().join("outside"),
            &bench.dir.path().join("skills/link"),
        )
        .unwrap();
        bench.put("skills/directory/file", "mine");
        bench.there("skills/link/file", "evil");
        bench.there("skills/directory", "file");
        bench.there("skills/fine", "fine");
        let outcome = bench.merge();
        assert_eq!(outcome.warnings.len(), 2, "{:?}", outcome.warnings);
        assert_eq!(bench.text("outside/file"), "mine");
        assert_eq!(bench.text("skills/fine"), "fine");
    }

    #[test]
    fn the_list_for_the_other_side_is_sorted_and_without_credentials() {
        let mut bench = Bench::new();
        for (remote_path, text) in [
            ("skills/a", "1"),
            ("skills/x/b", "2"),
            ("skills/token.json", "3"),
        ] {
            bench.sent(remote_path, text, false);
        }
        let listing = Destinations(&bench.roots).listing(&bench.manifest);
        let mut expected = [
            format!("{}  skills/./a\n", digest_of(b"1")),
            format!("{}  skills/./x/b\n", digest_of(b"2")),
        ];
        expected.sort_unstable();
        assert_eq!(listing, expected.concat());
    }

    #[test]
    fn copies_of_one_second_do_not_meet() {
        let mut bench = Bench::new();
        bench.put("skills/a", "first");
        bench.put(&format!("skills/a.host-{TIME}"), "older");
        bench.there("skills/a", "new");
        let outcome = bench.merge();
        assert!(outcome.kept[0].ends_with(format!("a.host-{TIME}-2")));
        assert_eq!(bench.text(&format!("skills/a.host-{TIME}")), "older");
    }
}
