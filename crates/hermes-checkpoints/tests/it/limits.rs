//! What keeps the store small, and what happens at its limits.

use std::time::Duration;

use hermes_checkpoints::{Limits, Retention, is_prune_due};
use pretty_assertions::assert_eq;

use crate::world::{LIMITS, World, noise};

const KEEP_ALL: Retention = Retention {
    kept: None,
    delete_orphans: false,
    max_total_bytes: 0,
};

#[test]
fn only_the_latest_snapshots_stay_with_their_times() {
    let world = World::new();
    let limits = Limits {
        max_snapshots: 3,
        ..LIMITS
    };
    let checkpoints = world.checkpoints(limits);
    let mut times = Vec::new();
    for round in 0..6 {
        world.put("a", round.to_string());
        world.snapshot(&checkpoints, &format!("round {round}"));
        times.push(world.list()[0].time);
    }
    let found = world.list();
    let reasons: Vec<&str> = found.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(reasons, ["round 5", "round 4", "round 3"]);
    let kept: Vec<_> = found.iter().rev().map(|one| one.time).collect();
    assert_eq!(kept, times[3..]);
    let oldest = found.last().unwrap();
    checkpoints.restore(oldest, None, &world.project).unwrap();
    assert_eq!(world.read("a"), "3");
}

#[test]
fn the_store_stays_below_its_size() {
    let world = World::new();
    let limits = Limits {
        max_total_bytes: 400 * 1024,
        ..LIMITS
    };
    let checkpoints = world.checkpoints(limits);
    for round in 0..12_u32 {
        world.put("noise", noise(round));
        world.snapshot(&checkpoints, &format!("round {round}"));
    }
    assert_eq!(world.told(), Vec::<String>::new());
    let found = world.list();
    assert_eq!(found[0].reason, "round 11");
    assert!((1..=4).contains(&found.len()), "{}", found.len());
    let status = world.store.status().unwrap();
    assert!(status.store_bytes < 700 * 1024, "{}", status.store_bytes);
    hermes_testkit::git(&world.home.join("checkpoints/store"), &["fsck", "--strict"]);
}

#[test]
fn large_files_and_large_directories_are_left_out() {
    let world = World::new();
    let limits = Limits {
        max_file_bytes: 1000,
        max_total_bytes: 5000,
        ..LIMITS
    };
    let checkpoints = world.checkpoints(limits);
    world.put("small", "x");
    world.put("we[i]rd *name\n", "y".repeat(2000));
    world.snapshot(&checkpoints, "x");
    assert_eq!(world.saved(), ["small"]);
    // Tracked before, too large now.
    world.put("small", "z".repeat(1500));
    world.put("next", "n");
    world.snapshot(&checkpoints, "y");
    assert_eq!(world.saved(), ["next"]);
    for index in 0..8 {
        world.put(&format!("data/{index}"), "d".repeat(900));
    }
    world.snapshot(&checkpoints, "z");
    let told = world.told();
    assert!(
        told[0].contains("checkpoints.max_total_size_mb"),
        "{told:?}"
    );
    // What the project ignores does not count.
    world.put(".gitignore", "data/\n");
    world.snapshot(&checkpoints, "z");
    assert_eq!(world.saved(), [".gitignore", "next"]);
}

#[test]
fn a_directory_with_too_many_files_is_refused_once_in_words() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    let deep = world.project.join("many");
    std::fs::create_dir_all(&deep).unwrap();
    for index in 0..50_001 {
        std::fs::File::create(deep.join(index.to_string())).unwrap();
    }
    world.snapshot(&checkpoints, "x");
    world.snapshot(&checkpoints, "x");
    let told = world.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("more than 50000 files"), "{told:?}");
    // Directories that are never saved do not count.
    std::fs::rename(&deep, world.project.join("node_modules")).unwrap();
    world.put("a", "1");
    world.snapshot(&checkpoints, "x");
    assert_eq!(world.saved(), ["a"]);
}

#[test]
fn old_and_orphaned_projects_are_pruned_and_others_are_not() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    let other = world.project.with_file_name("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("x"), "1").unwrap();
    world.put("a", "1");
    world.snapshot(&checkpoints, "x");
    checkpoints.before_change(&other.join("x"), "x");
    let pruned = world.store.prune(&KEEP_ALL).unwrap();
    assert_eq!((pruned.scanned, pruned.orphans, pruned.stale), (2, 0, 0));
    std::fs::remove_dir_all(&other).unwrap();
    let orphans = Retention {
        delete_orphans: true,
        ..KEEP_ALL
    };
    let pruned = world.store.prune(&orphans).unwrap();
    assert_eq!((pruned.scanned, pruned.orphans, pruned.stale), (2, 1, 0));
    assert_eq!(world.list().len(), 1);
    let stale = Retention {
        kept: Some(Duration::ZERO),
        ..KEEP_ALL
    };
    let pruned = world.store.prune(&stale).unwrap();
    assert_eq!((pruned.scanned, pruned.orphans, pruned.stale), (1, 0, 1));
    assert_eq!(world.list().len(), 0);
    // The store goes on to work.
    world.snapshot(&checkpoints, "again");
    assert_eq!(world.list().len(), 1);
    assert_eq!(world.told(), Vec::<String>::new());
}

#[test]
fn pruning_is_due_once_in_its_interval() {
    let world = World::new();
    let day = Duration::from_hours(24);
    assert!(!is_prune_due(&world.home, day));
    world.put("a", "1");
    world.snapshot(&world.checkpoints(LIMITS), "x");
    assert!(is_prune_due(&world.home, day));
    world.store.prune_now(&KEEP_ALL).unwrap();
    assert!(!is_prune_due(&world.home, day));
    assert!(is_prune_due(&world.home, Duration::ZERO));
    for marker in ["nonsense", "99999999999", "0"] {
        std::fs::write(world.home.join("checkpoints/.last_prune"), marker).unwrap();
        assert!(is_prune_due(&world.home, day), "{marker}");
    }
}

#[test]
fn what_an_older_layout_left_is_set_aside_and_cleared() {
    let world = World::new();
    let old = world.home.join("checkpoints/0123456789abcdef");
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    world.put("a", "1");
    world.snapshot(&world.checkpoints(LIMITS), "x");
    let status = world.store.status().unwrap();
    assert_eq!(status.legacy.len(), 1);
    assert!(status.legacy[0].name.starts_with("legacy-"));
    assert_eq!(world.store.clear_legacy().unwrap().0, 1);
    assert_eq!(world.list().len(), 1);
    world.store.clear().unwrap();
    assert!(!world.home.join("checkpoints").exists());
    assert_eq!(world.list().len(), 0);
}

#[test]
fn several_processes_snapshot_at_once_and_lose_nothing() {
    let world = World::new();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let world = &world;
            scope.spawn(move || {
                let directory = world.project.with_file_name(format!("p{worker}"));
                std::fs::create_dir_all(&directory).unwrap();
                let checkpoints = world.checkpoints(LIMITS);
                for round in 0..5 {
                    std::fs::write(directory.join("f"), round.to_string()).unwrap();
                    checkpoints.begin_step();
                    checkpoints.before_change(&directory.join("f"), "x");
                }
            });
        }
    });
    assert_eq!(world.told(), Vec::<String>::new());
    let status = world.store.status().unwrap();
    let counts: Vec<_> = status.projects.iter().map(|one| one.snapshots).collect();
    assert_eq!(counts, [Some(5); 4]);
}

#[test]
fn without_git_one_line_says_so_and_nothing_is_made() {
    let world = World::with_variables(&[("PATH", "/nonexistent")]);
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    world.put("a", "2");
    world.snapshot(&checkpoints, "second");
    let told = world.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("git, which is not installed"), "{told:?}");
    assert_eq!(checkpoints.list(&world.project).unwrap(), []);
    assert_eq!(world.store.status().unwrap().projects, []);
}

#[test]
fn a_lock_that_a_killed_git_left_is_removed_when_it_is_old() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    let project = hermes_checkpoints::Project::of(&world.project);
    let lock = world
        .home
        .join(format!("checkpoints/store/indexes/{}.lock", project.id()));
    std::fs::write(&lock, "").unwrap();
    world.put("a", "2");
    world.snapshot(&checkpoints, "second");
    assert_eq!(world.list().len(), 1);
    let old = std::time::SystemTime::now() - Duration::from_hours(1);
    let file = std::fs::File::options().write(true).open(&lock).unwrap();
    file.set_modified(old).unwrap();
    world.snapshot(&checkpoints, "second");
    assert_eq!(world.list().len(), 2);
}

#[test]
fn a_directory_whose_name_is_no_text_is_not_taken_for_gone() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
    let directory = world.project.with_file_name(odd);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("x"), "1").unwrap();
    checkpoints.before_change(&directory.join("x"), "x");
    let orphans = Retention {
        delete_orphans: true,
        ..KEEP_ALL
    };
    let pruned = world.store.prune(&orphans).unwrap();
    assert_eq!((pruned.scanned, pruned.orphans), (1, 0));
    assert_eq!(checkpoints.list(&directory).unwrap().len(), 1);
}

#[test]
fn who_waits_while_all_snapshots_are_cleared_takes_one_after_that() {
    let world = World::new();
    let checkpoints = world.checkpoints(LIMITS);
    world.put("a", "1");
    world.snapshot(&checkpoints, "first");
    let base = world.home.join("checkpoints");
    let path = base.join(".lock");
    let options = hermes_fs::LockOptions::new("the store");
    let lock = hermes_fs::FileLock::acquire(&path, &options).unwrap();
    // Somebody has opened the file besides us.
    let is_awaited = || {
        let opened = std::fs::read_dir("/proc/self/fd").unwrap();
        let opened = opened.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        opened.filter(|target| *target == path).count() > 1
    };
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.snapshot(&checkpoints, "second"));
        while !is_awaited() {
            std::thread::yield_now();
        }
        std::fs::remove_dir_all(&base).unwrap();
        drop(lock);
        waiting.join().unwrap();
    });
    assert_eq!(world.told(), Vec::<String>::new());
    assert_eq!(world.list().len(), 1);
    assert!(path.exists());
}
