//! `hermes-fs` against a real file system.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod races;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use hermes_fs::{Error, FileLock, LockOptions, SharedLock, Staging};
use pretty_assertions::assert_eq;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn atomic_write_keeps_mode_and_link() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real.yaml");
    std::fs::write(&real, "old").unwrap();
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let link = dir.path().join("sub/link.yaml");
    symlink("../real.yaml", &link).unwrap();

    hermes_fs::write_atomic(&link, b"new", 0o600).unwrap();

    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    assert_eq!(mode(&real), 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn atomic_write_gives_new_files_their_mode_and_leaves_no_temporary() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".env");
    hermes_fs::write_atomic(&file, b"A=1\n", 0o600).unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_write_names_the_target_and_leaves_the_old_file() {
    let error = hermes_fs::write_atomic(Path::new("/nonexistent/dir/f"), b"x", 0o600).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not write /nonexistent/dir/f: no such file or directory"
    );
}

#[test]
fn a_pipe_or_device_is_never_replaced_by_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    symlink("fifo", dir.path().join("link")).unwrap();
    for name in ["fifo", "link"] {
        let error = hermes_fs::write_atomic(&dir.path().join(name), b"x", 0o600).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "could not write {}: it is not a regular file",
                fifo.canonicalize().unwrap().display()
            )
        );
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    // A directory can be opened and not be read.
    assert!(hermes_fs::copy_file(dir.path(), &copy, 0o600).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn link_loops_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    symlink("b", dir.path().join("a")).unwrap();
    symlink("a", dir.path().join("b")).unwrap();
    assert!(hermes_fs::write_atomic(&dir.path().join("a"), b"x", 0o600).is_err());
}

#[test]
fn reading_is_capped() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("big");
    std::fs::write(&file, [b'x'; 11]).unwrap();
    assert!(matches!(
        hermes_fs::read_capped(&file, 10),
        Err(Error::TooLarge {
            size: 11,
            limit: 10,
            ..
        })
    ));
    assert_eq!(hermes_fs::read_capped(&file, 11).unwrap().len(), 11);
    assert!(matches!(
        hermes_fs::read_capped(Path::new("/dev/zero"), 100),
        Err(Error::TooLarge { .. })
    ));
}

#[test]
fn a_lock_times_out_with_a_name_and_is_freed_on_drop() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml.lock");
    let options = LockOptions {
        timeout: Duration::from_millis(30),
        ..LockOptions::new("config.yaml")
    };
    assert!(!FileLock::is_held(&path).unwrap());
    let held = FileLock::acquire(&path, &options).unwrap();
    assert!(FileLock::is_held(&path).unwrap());
    let error = FileLock::acquire(&path, &options).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("config.yaml is locked by another process")
    );
    let inode = std::fs::metadata(&path).unwrap().ino();
    drop(held);
    FileLock::acquire(&path, &options).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn only_the_last_of_many_holders_gets_the_lock_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.lock");
    let options = LockOptions {
        timeout: Duration::from_millis(20),
        ..LockOptions::new("the connection")
    };
    let first = SharedLock::acquire(&path, &options).unwrap();
    let second = SharedLock::acquire(&path, &options).unwrap();
    assert!(FileLock::acquire(&path, &options).is_err());

    assert!(first.release().unwrap().is_none());
    let alone = second.release().unwrap().unwrap();
    assert_eq!(alone.path(), path);
    // Newcomers wait until what the lock stands for is put away.
    assert!(matches!(
        SharedLock::acquire(&path, &options),
        Err(Error::LockTimeout { .. })
    ));
    drop(alone);
    SharedLock::acquire(&path, &options).unwrap();
}

#[test]
fn exactly_one_of_many_that_leave_at_once_is_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.lock");
    for _ in 0..50 {
        let options = LockOptions::new("the connection");
        let held: Vec<_> = (0..4)
            .map(|_| SharedLock::acquire(&path, &options).unwrap())
            .collect();
        let together = std::sync::Barrier::new(held.len());
        let last: Vec<FileLock> = std::thread::scope(|scope| {
            let leaving: Vec<_> = held
                .into_iter()
                .map(|lock| {
                    scope.spawn(|| {
                        together.wait();
                        lock.release().unwrap()
                    })
                })
                .collect();
            let results = leaving.into_iter().map(|thread| thread.join().unwrap());
            results.flatten().collect()
        });
        assert_eq!(last.len(), 1);
    }
}

#[test]
fn staging_publishes_once_and_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("coder");
    let staging = Staging::begin(dir.path(), "coder").unwrap();
    std::fs::write(staging.path().join("f"), "x").unwrap();
    staging.publish(&target).unwrap();
    assert_eq!(mode(&target), 0o700);

    let second = Staging::begin(dir.path(), "coder").unwrap();
    assert!(matches!(
        second.publish(&target),
        Err(Error::AlreadyExists { .. })
    ));
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn builders_of_the_same_name_in_one_process_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let first = Staging::begin(dir.path(), "coder").unwrap();
    let second = Staging::begin(dir.path(), "coder").unwrap();
    assert_ne!(first.path(), second.path());
}

#[test]
fn the_sweep_takes_what_crashed_builders_left_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let live = Staging::begin(dir.path(), "live").unwrap();
    // The pid is one that runs: only the lock says that nobody builds here any more.
    let left = dir
        .path()
        .join(format!(".coder.tmp-{}", std::process::id()));
    std::fs::create_dir_all(left.join("sub")).unwrap();
    for other in [".coder.tmp", ".git", "coder", ".coder.deleted-1"] {
        std::fs::create_dir(dir.path().join(other)).unwrap();
    }
    symlink("coder", dir.path().join(".link.tmp-1")).unwrap();

    Staging::sweep(dir.path(), "other").unwrap();
    assert!(left.exists());
    Staging::sweep(dir.path(), "").unwrap();
    assert!(!left.exists());
    assert!(live.path().is_dir());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 6);
    Staging::sweep(&dir.path().join("none"), "").unwrap();
}

#[test]
fn entries_change_places_in_one_step() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    std::fs::create_dir(&a).unwrap();
    std::fs::write(&b, "file").unwrap();
    hermes_fs::exchange(&a, &b).unwrap();
    assert!(b.is_dir());
    assert_eq!(std::fs::read(&a).unwrap(), b"file");
    let error = hermes_fs::exchange(&a, &dir.path().join("none")).unwrap_err();
    assert!(error.is_not_found());
    assert!(a.exists());
}

#[test]
fn open_regular_refuses_links_and_fifos() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    std::fs::write(&file, "123").unwrap();
    let link = dir.path().join("l");
    symlink("f", &link).unwrap();
    let (_, meta) = hermes_fs::open_regular(&file).unwrap();
    assert_eq!(meta.len(), 3);
    assert!(hermes_fs::open_regular(&link).is_err());
    let fifo = dir.path().join("p");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert!(hermes_fs::open_regular(&fifo).is_err());
}

#[test]
fn trees_are_copied_without_special_files_and_removed_when_unwritable() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    std::fs::create_dir_all(from.join("a/locked")).unwrap();
    std::fs::write(from.join("a/f"), "12345").unwrap();
    std::fs::write(from.join("a/skip.pyc"), "x").unwrap();
    std::fs::write(from.join("a/locked/g"), "x").unwrap();
    symlink("f", from.join("a/l")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(from.join("a/s")).unwrap();
    let to = dir.path().join("to");
    std::fs::create_dir(&to).unwrap();

    hermes_fs::copy_tree(&from, &to, &mut |_, entry| {
        entry.path.extension().is_none_or(|e| e != "pyc")
    })
    .unwrap();

    assert_eq!(std::fs::read(to.join("a/f")).unwrap(), b"12345");
    assert!(to.join("a/locked/g").exists());
    assert!(!to.join("a/s").exists());
    assert!(!to.join("a/skip.pyc").exists());
    assert_eq!(std::fs::read_link(to.join("a/l")).unwrap(), Path::new("f"));
    std::fs::set_permissions(to.join("a/locked"), PermissionsExt::from_mode(0o500)).unwrap();
    hermes_fs::remove_tree(&to).unwrap();
    assert!(!to.exists());
    hermes_fs::remove_tree(&to).unwrap();
}

#[test]
fn touching_creates_or_renews_and_leaves_the_content() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stamp");
    hermes_fs::touch(&path, 0o600).unwrap();
    assert_eq!(mode(&path), 0o600);
    std::fs::write(&path, "content").unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    hermes_fs::touch(&path, 0o600).unwrap();
    assert!(std::fs::metadata(&path).unwrap().modified().unwrap() > old);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "content");
    std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
    assert!(hermes_fs::touch(&dir.path().join("link"), 0o600).is_err());
}
