//! Killed at every write point: an import leaves the old state or the new one, never half of each,
//! and no backup, snapshot or profile carries its real name before it is whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitStatus};

use hermes_home::archive::{ExportRequest, export_profile};
use hermes_home::backup::{Recovered, Restore, recover};
use pretty_assertions::assert_eq;

use crate::steps::{back_up, import};
use crate::{database, tree};

fn run_child(action: &str, zip: &Path, root: &Path, die_at: u64) -> ExitStatus {
    Command::new(hermes_testkit::helper_program("home-test-process"))
        .arg(action)
        .args([zip, root])
        .arg(die_at.to_string())
        .status()
        .unwrap()
}

fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let killed = status.signal() == Some(9);
    assert!(killed || status.success(), "the child failed: {status:?}");
    killed
}

/// What a user would find: files by content, databases by their rows.
#[derive(Debug, PartialEq, Eq)]
struct State {
    files: tree::Tree,
    databases: BTreeMap<String, i64>,
}

/// Looks at a copy, because opening a database changes what lies beside it.
fn look(root: &Path) -> State {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy");
    clone(root, &copy);
    let mut files = tree::read(&copy);
    // An interrupted import's own files are not part of the home.
    files.retain(|name, _| !name.starts_with(".import."));
    let names: Vec<_> = files
        .keys()
        .filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "db"))
        .cloned()
        .collect();
    let databases = names
        .into_iter()
        .map(|name| {
            let path = copy.join(&name);
            let verdict = hermes_store::integrity_check(&path).unwrap();
            assert_eq!(verdict, hermes_store::Integrity::Sound, "{name}");
            let rows = database::rows(&path);
            (name, rows)
        })
        .collect();
    files.retain(|name, _| !name.contains(".db"));
    State { files, databases }
}

fn clone(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .unwrap();
    assert!(status.success());
}

/// An old root whose database has its rows in the log only, and a backup of another root.
struct Scene {
    dir: tempfile::TempDir,
    old: State,
    new: State,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        tree::put(&source, "config.yaml", "new config");
        tree::put(&source, ".env", "NEW=1");
        tree::put(&source, "profiles/a/SOUL.md", "new soul");
        std::fs::create_dir_all(source.join("cron/output")).unwrap();
        database::with_rows(&source.join("state.db"), 7);
        back_up(&source, &dir.path().join("o.zip"));

        let old = dir.path().join("old");
        std::fs::create_dir(&old).unwrap();
        tree::put(&old, "config.yaml", "old config");
        tree::put(&old, "mine", "kept");
        // A checkpointed part, then rows that exist in the log of a killed writer only.
        database::with_rows(&old.join("state.db"), 3);
        let mut writer = database::Writer::start(&old.join("state.db"));
        writer.wait_for(30);
        drop(writer);
        assert!(hermes_store::wal_size(&old.join("state.db")).unwrap() > 0);

        let done = dir.path().join("done");
        clone(&old, &done);
        import(&dir.path().join("o.zip"), &done);
        let (old, new) = (look(&old), look(&done));
        assert!(old.databases["state.db"] >= 33);
        assert_eq!(new.databases["state.db"], 7);
        Self { dir, old, new }
    }

    fn zip(&self) -> std::path::PathBuf {
        self.dir.path().join("o.zip")
    }

    /// A fresh copy of the old root.
    fn root(&self, name: &str) -> std::path::PathBuf {
        let root = self.dir.path().join(name);
        clone(&self.dir.path().join("old"), &root);
        root
    }
}

#[test]
fn old_or_new_but_never_half() {
    let scene = Scene::new();
    let (mut ended_old, mut ended_new) = (0, 0);
    let mut die_at = 1;
    loop {
        let root = scene.root(&format!("kill-{die_at}"));
        let killed = was_killed(run_child("import", &scene.zip(), &root, die_at));
        let recovered = recover(&root).unwrap();
        assert_eq!(recover(&root).unwrap(), None);
        let state = look(&root);
        if !killed {
            assert_eq!(recovered, None);
            assert_eq!(state, scene.new);
            break;
        }
        if state == scene.old {
            assert_eq!(recovered, None, "at point {die_at}");
            ended_old += 1;
        } else {
            assert_eq!(state, scene.new, "half done at point {die_at}");
            ended_new += 1;
        }
        // Whatever the kill left, the next import works and cleans up.
        import(&scene.zip(), &root);
        assert_eq!(look(&root), scene.new);
        let own: Vec<_> = tree::names(&root)
            .into_iter()
            .filter(|name| name.starts_with(".import."))
            .collect();
        assert_eq!(own, [".import.lock"], "at point {die_at}");
        std::fs::remove_dir_all(&root).unwrap();
        die_at += 1;
    }
    // Both sides of the decision have been seen, many times.
    assert!(
        ended_old >= 10 && ended_new >= 10,
        "{ended_old} old, {ended_new} new"
    );
}

#[test]
fn a_recovery_may_itself_be_killed_at_every_point() {
    let scene = Scene::new();
    // The first point at which the decision stands.
    let decided = (1_u64..1000)
        .find(|die_at| {
            let root = scene.root(&format!("find-{die_at}"));
            assert!(was_killed(run_child(
                "import",
                &scene.zip(),
                &root,
                *die_at
            )));
            root.join(".import.journal").exists()
        })
        .unwrap();
    let mut killed = 0;
    for die_at in 1_u64.. {
        let root = scene.dir.path().join(format!("again-{die_at}"));
        clone(&scene.dir.path().join(format!("find-{decided}")), &root);
        if !was_killed(run_child("recover", &scene.zip(), &root, die_at)) {
            assert_eq!(look(&root), scene.new);
            break;
        }
        killed += 1;
        let recovered = recover(&root).unwrap();
        assert_eq!(look(&root), scene.new, "at point {die_at}");
        if let Some(recovered) = recovered {
            let all = Recovered {
                restored: 4,
                skipped: Vec::new(),
            };
            assert_eq!(recovered, all);
        }
    }
    assert!(killed >= 10, "{killed}");
}

#[test]
fn a_root_without_a_journal_is_not_touched_by_recovery() {
    let dir = tempfile::tempdir().unwrap();
    tree::put(dir.path(), "config.yaml", "x");
    assert_eq!(recover(dir.path()).unwrap(), None);
    assert_eq!(recover(&dir.path().join("gone")).unwrap(), None);
    assert_eq!(tree::names(dir.path()), ["config.yaml"]);
}

#[test]
fn a_broken_journal_is_an_error_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    tree::put(dir.path(), ".import.journal", "{");
    let error = recover(dir.path()).unwrap_err();
    assert!(error.to_string().contains(".import.journal"), "{error}");
    assert!(error.hint().unwrap().contains("import the backup again"));
}

/// Runs an action with every possible death; `check` sees what each of them left.
fn kill_everywhere(action: &str, zip: &Path, root: &Path, check: &mut dyn FnMut()) {
    let mut deaths = 0;
    while was_killed(run_child(action, zip, root, deaths + 1)) {
        check();
        deaths += 1;
    }
    check();
    assert!(deaths >= 5, "{action} has {deaths} write points");
}

#[test]
fn no_backup_looks_complete_before_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    tree::put(&root, "config.yaml", "x");
    database::with_rows(&root.join("state.db"), 3);
    let zip = dir.path().join("out/o.zip");
    std::fs::create_dir(dir.path().join("out")).unwrap();
    kill_everywhere("backup", &zip, &root, &mut || {
        if zip.exists() {
            assert_eq!(Restore::open(&zip).unwrap().inspect().files, 2);
            assert_eq!(tree::mode(&zip), 0o600);
            std::fs::remove_file(&zip).unwrap();
        }
    });
}

#[test]
fn no_snapshot_looks_complete_before_it_is() {
    let dir = tempfile::tempdir().unwrap();
    tree::put(dir.path(), "config.yaml", "x");
    database::with_rows(&dir.path().join("state.db"), 3);
    let snapshot = dir.path().join("state-snapshots/19700101-000000");
    let expected = ["config.yaml", "manifest.json", "state.db"];
    kill_everywhere("snapshot", dir.path(), dir.path(), &mut || {
        if snapshot.exists() {
            assert_eq!(tree::names(&snapshot), expected);
            std::fs::remove_dir_all(&snapshot).unwrap();
        }
    });
    // The last run has cleared away what the killed ones left.
    assert_eq!(tree::names(&dir.path().join("state-snapshots")), [".lock"]);
}

#[test]
fn no_imported_profile_appears_before_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    tree::put(&home, "config.yaml", "a: 1\n");
    tree::put(&home, "skills/a/SKILL.md", "x");
    std::os::unix::fs::symlink("config.yaml", home.join("link")).unwrap();
    let archive = dir.path().join("p.tgz");
    export_profile(&ExportRequest {
        home: &home,
        name: "coder",
        is_default: false,
        output: &archive,
    })
    .unwrap();
    let profiles = dir.path().join("profiles");
    let expected = [
        "config.yaml",
        "link",
        "skills/",
        "skills/a/",
        "skills/a/SKILL.md",
    ];
    kill_everywhere("profile", &archive, &profiles, &mut || {
        let profile = profiles.join("coder");
        if profile.exists() {
            assert_eq!(tree::names(&profile), expected);
            std::fs::remove_dir_all(&profile).unwrap();
        }
        let visible = std::fs::read_dir(&profiles).map_or(0, |entries| {
            entries
                .filter(|entry| {
                    !entry
                        .as_ref()
                        .unwrap()
                        .file_name()
                        .as_encoded_bytes()
                        .starts_with(b".")
                })
                .count()
        });
        assert_eq!(visible, 0);
    });
}
