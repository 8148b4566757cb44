//! Somebody else writes where we sweep, clean and copy, and swaps directories for links all the time.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_fs::{Directory, Error, Staging, copy_tree, remove_tree};
use rustix::fs::{CWD, RenameFlags, renameat_with};

const NOBODY: u32 = 65534;
const ROUNDS: usize = 3000;
/// Both directories have these: the longer a removal takes, the more often it is caught half-way.
const NAMES: [&str; 8] = ["file", "b", "c", "d", "e", "f", "g", "h"];
/// How long a sweep is attacked.
const ATTACK: Duration = Duration::from_secs(2);

/// A thread that lets a directory and a link to `victim` change places, over and over.
struct Attacker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Attacker {
    /// `name` is a directory in `place`; the link stands beside it.
    fn on(place: &Path, name: &str, victim: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let [directory, link, fresh] = [name, ".link", ".fresh"].map(|name| place.join(name));
        let victim = victim.to_owned();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // All at once, so that a removal does not find it half made and wait.
                if fs::create_dir(&fresh).is_ok() {
                    for name in NAMES {
                        drop(fs::write(fresh.join(name), "mine"));
                    }
                }
                let free = RenameFlags::NOREPLACE;
                let _: rustix::io::Result<()> = renameat_with(CWD, &fresh, CWD, &directory, free);
                drop(symlink(&victim, &link));
                let swap = RenameFlags::EXCHANGE;
                let _: rustix::io::Result<()> = renameat_with(CWD, &directory, CWD, &link, swap);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn victim(dir: &Path) -> PathBuf {
    let victim = dir.join("victim");
    fs::create_dir(&victim).unwrap();
    for name in NAMES {
        fs::write(victim.join(name), "secret").unwrap();
    }
    victim
}

fn assert_whole(victim: &Path) {
    for name in NAMES {
        let text = fs::read_to_string(victim.join(name));
        assert_eq!(text.ok().as_deref(), Some("secret"), "{name}");
    }
}

#[test]
fn removing_a_tree_never_leaves_it_while_a_directory_turns_into_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _attacker = Attacker::on(&tree, "sub", &victim);
    let opened = Directory::open(&tree).unwrap();
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        // What the attacker puts back may make a removal fail; it never reaches the victim.
        drop(opened.remove_tree(Path::new("sub")));
        assert_whole(&victim);
    }
}

#[test]
fn removing_by_path_never_follows_what_the_last_component_turned_into() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _attacker = Attacker::on(&tree, "sub", &victim);
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        drop(remove_tree(&tree.join("sub")));
        assert_whole(&victim);
    }
}

#[test]
fn a_copy_never_holds_what_a_link_led_to() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _attacker = Attacker::on(&tree, "sub", &victim);
    let mut copied = 0;
    for round in 0..ROUNDS / 10 {
        let to = dir.path().join(format!("copy-{round}"));
        fs::create_dir(&to).unwrap();
        drop(copy_tree(&tree, &to, &mut |_, _| true));
        for name in ["sub/file", ".link/file"] {
            // Links are copied as links: only a copied directory counts.
            let parent = to.join(Path::new(name).parent().unwrap());
            let is_copy = fs::symlink_metadata(&parent).is_ok_and(|meta| meta.is_dir());
            if let (true, Ok(text)) = (is_copy, fs::read_to_string(to.join(name))) {
                assert_ne!(text, "secret", "round {round}");
                copied += 1;
            }
        }
        fs::remove_dir_all(&to).unwrap();
    }
    assert!(copied > 0, "no copy ever succeeded");
}

#[test]
fn a_file_is_opened_inside_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _attacker = Attacker::on(&tree, "sub", &victim);
    let opened = Directory::open(&tree).unwrap();
    let mut read = 0;
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        let file = opened.open_file(Path::new("sub/file"));
        if let Ok((file, _)) = file {
            let text = std::io::read_to_string(file).unwrap();
            assert_ne!(text, "secret");
            read += 1;
        }
    }
    assert!(read > 0, "the file was never opened");
}

#[test]
fn a_walk_lists_nothing_behind_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    fs::write(victim.join("only-here"), "").unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let _attacker = Attacker::on(&tree, "sub", &victim);
    for _ in 0..ROUNDS {
        hermes_fs::walk(&tree, &mut |relative, entry| -> Result<bool, ()> {
            assert!(!relative.ends_with("only-here"), "{}", relative.display());
            Ok(entry.is_ok())
        })
        .unwrap();
    }
}

#[test]
fn ordinary_links_are_removed_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("a")).unwrap();
    symlink(&victim, tree.join("a/link")).unwrap();
    symlink(victim.join("file"), tree.join("file-link")).unwrap();
    let opened = Directory::open(&tree).unwrap();
    for path in ["a/link/file", "file-link"] {
        let refused = opened.open_file(Path::new(path)).unwrap_err();
        assert!(matches!(refused, Error::SymlinkInPath { .. }), "{refused}");
    }
    let refused = opened.directory(Path::new("a/link")).unwrap_err();
    assert!(matches!(refused, Error::SymlinkInPath { .. }), "{refused}");
    for path in ["../victim/file", "/etc/passwd", "a/../../victim/file"] {
        assert!(opened.open_file(Path::new(path)).is_err(), "{path}");
        assert!(opened.remove_tree(Path::new(path)).is_err(), "{path}");
        assert!(opened.remove_file(Path::new(path)).is_err(), "{path}");
    }
    assert!(opened.metadata(Path::new("a/link")).unwrap().is_symlink());
    assert_eq!(opened.read_link(Path::new("a/link")).unwrap(), victim);
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    assert_whole(&victim);
}

#[test]
fn only_directories_of_our_own_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, mode: u32| {
        let path = dir.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let ours = make(".work.tmp-4000000", 0o700);
    let open = make(".work.tmp-4000001", 0o777);
    let foreign = make(".work.tmp-4000002", 0o700);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&foreign, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let target = make("target", 0o700);
    let link = dir.path().join(".work.tmp-4000003");
    symlink(&target, &link).unwrap();
    Staging::sweep(dir.path(), "work").unwrap();
    assert!(!ours.exists());
    assert!(open.join("file").exists());
    assert_eq!(foreign.join("file").exists(), is_root);
    assert!(link.join("file").exists());
    for (path, is_own) in [(&open, false), (&link, false), (&target, true)] {
        let opened = Directory::open_own(path);
        assert_eq!(opened.is_ok(), is_own, "{}", path.display());
    }
    if is_root {
        let refused = Directory::open_own(&foreign).unwrap_err();
        assert!(matches!(refused, Error::NotOurs { .. }), "{refused}");
    }
}

#[test]
fn root_sweeping_where_nobody_writes_leaves_the_victim_alone() {
    // As root this is another user's attack on us; otherwise our own.
    let dir = tempfile::tempdir().unwrap();
    let victim = victim(dir.path());
    let place = dir.path().join("place");
    fs::create_dir(&place).unwrap();
    let sub = place.join(".work.tmp-4000000");
    fs::create_dir(&sub).unwrap();
    if rustix::process::geteuid().is_root() {
        for path in [&place, &sub] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let _attacker = Attacker::on(&place, ".work.tmp-4000000", &victim);
    let end = Instant::now() + ATTACK;
    while Instant::now() < end {
        drop(Staging::sweep(&place, "work"));
        assert_whole(&victim);
    }
}

#[test]
fn a_tree_deeper_than_there_are_descriptors_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let mut here = rustix::fs::open(
        &tree,
        rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&here, "d", rustix::fs::Mode::RWXU).unwrap();
        here = rustix::fs::openat(
            &here,
            "d",
            rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
    }
    drop(here);
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn directories_without_permissions_are_removed_by_their_owner() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("a/b")).unwrap();
    fs::write(tree.join("a/b/file"), "x").unwrap();
    for path in ["a/b", "a"] {
        fs::set_permissions(tree.join(path), fs::Permissions::from_mode(0o0)).unwrap();
    }
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}
