//! Creating profiles.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Barrier;

use hermes_home::profiles::{
    self, CloneDepth, CreateFlags, CreateRequest, ProfileContent, load_meta,
};
use hermes_home::{ENV_SEED, Error, NameError, SOUL_SEED};
use pretty_assertions::assert_eq;

use crate::database;
use crate::test_root::{
    TestRoot, create_in, fresh, is_private, mode, name, names_in, read, set_mode, tree, write,
};

fn clone_of(test: &TestRoot, source: &str, depth: CloneDepth) -> ProfileContent {
    ProfileContent::Clone {
        source: test.location().profile_home(&name(source)),
        depth,
    }
}

#[test]
fn a_fresh_profile_is_complete_and_private() {
    let test = TestRoot::new();
    let profile = test.create("UPPER").unwrap();
    assert_eq!(profile.home, test.profile("upper"));
    assert_eq!(
        names_in(&profile.home),
        [
            ".env",
            "SOUL.md",
            "cron",
            "home",
            "logs",
            "memories",
            "plans",
            "profile.yaml",
            "sessions",
            "skills",
            "skins",
            "workspace"
        ]
    );
    for (path, found) in tree(&test.root()) {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found, wanted, "{}", path.display());
    }
    assert_eq!(read(&profile.home.join("SOUL.md")), SOUL_SEED);
    assert_eq!(read(&profile.home.join(".env")), ENV_SEED);
    assert_eq!(ENV_SEED.lines().filter(|l| l.starts_with('#')).count(), 3);
    let meta = load_meta(&profile.home);
    assert_eq!(meta.description, "writes \"code\": well");
    assert!(!meta.description_auto);
    assert_eq!(test.on_disk(), ["upper"]);
}

#[test]
fn a_second_creation_is_refused_and_changes_nothing() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    write(&test.profile("coder").join("mine"), "x");
    let before = tree(&test.root());
    let error = test.create("Coder").unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(tree(&test.root()), before);
    // Anything of that name is in the way, even a link to nowhere.
    symlink("nowhere", test.profile("taken")).unwrap();
    assert!(matches!(test.create("taken"), Err(Error::Exists { .. })));
}

#[test]
fn bad_names_leave_nothing_on_disk() {
    let test = TestRoot::new();
    let long = "a".repeat(65);
    for bad in [
        "Bad Name",
        "../x",
        "hermes",
        "Default",
        long.as_str(),
        "",
        "\u{1b}[31m",
    ] {
        let error = test.create(bad).unwrap_err();
        assert!(matches!(error, Error::Name(_)), "{bad}: {error}");
        assert!(error.hint().is_some());
    }
    assert!(matches!(
        test.create("sudo"),
        Err(Error::Name(NameError::Reserved { .. }))
    ));
    assert!(!test.root().exists());
}

#[test]
fn without_bundled_skills_a_marker_says_so() {
    let test = TestRoot::new();
    let content = ProfileContent::Fresh {
        bundled_skills: false,
    };
    test.create_with("bare", content).unwrap();
    assert_eq!(
        mode(&test.profile("bare").join(".no-bundled-skills")),
        0o644
    );
    test.create("full").unwrap();
    assert!(!test.profile("full").join(".no-bundled-skills").exists());
}

#[test]
fn options_combine() {
    let test = TestRoot::new();
    test.create("coder").unwrap();
    let location = test.location();
    let current = test.root();
    let content = |flags: CreateFlags| ProfileContent::from_flags(&flags, &location, &current);
    assert_eq!(content(CreateFlags::default()).unwrap(), fresh());
    let no_skills = CreateFlags {
        no_skills: true,
        ..CreateFlags::default()
    };
    assert_eq!(
        content(no_skills).unwrap(),
        ProfileContent::Fresh {
            bundled_skills: false
        }
    );
    let clone = CreateFlags {
        clone: true,
        ..CreateFlags::default()
    };
    assert_eq!(
        content(clone.clone()).unwrap(),
        clone_of(&test, "default", CloneDepth::Settings)
    );
    let from = CreateFlags {
        clone_from: Some(name("coder")),
        ..CreateFlags::default()
    };
    assert_eq!(
        content(from.clone()).unwrap(),
        clone_of(&test, "coder", CloneDepth::Settings)
    );
    let all = CreateFlags {
        clone_all: true,
        ..from.clone()
    };
    assert_eq!(
        content(all).unwrap(),
        clone_of(&test, "coder", CloneDepth::Everything)
    );
    for flags in [clone, from] {
        let both = CreateFlags {
            no_skills: true,
            ..flags
        };
        assert!(matches!(content(both), Err(Error::SkillsOfClone)));
    }
    let missing = CreateFlags {
        clone_from: Some(name("gone")),
        ..CreateFlags::default()
    };
    assert!(matches!(content(missing), Err(Error::Missing { .. })));
}

/// A source with a bit of everything.
fn furnish(home: &Path) {
    for (path, text) in [
        ("config.yaml", "model: m\n"),
        (".env", "A=1\n"),
        ("SOUL.md", "soul"),
        ("memories/MEMORY.md", "memory"),
        ("memories/other.md", "other"),
        ("skills/group/one/SKILL.md", "skill"),
        ("skills/group/one/__pycache__/x.pyc", "x"),
        ("sessions/s.json", "{}"),
        ("auth.json", "{}"),
        ("cron/jobs.json", "[]"),
        ("state.db", "SQLite s"),
        ("state.db-wal", "w"),
        ("old.db", "an ordinary file, long enough to have a header"),
        ("backups/b.zip", "b"),
        ("state-snapshots/1/x", "x"),
        ("checkpoints/c", "c"),
        ("deep/backups/kept", "k"),
        ("deep/x.tmp", "t"),
        ("gateway.pid", "1"),
        ("gateway.lock", "1"),
        ("gateway_state.json", "{}"),
        ("processes.json", "{}"),
        (".gateway-takeover.json", "{}"),
        (".gateway-planned-stop.json", "{}"),
        (".drain_request.json", "{}"),
        (".clean_shutdown", ""),
        (".update_check", ""),
        ("active_profile", "coder\n"),
        ("bin/tool", "t"),
        (
            "profile.yaml",
            "# mine\ngateway_port: 9653\ndescription: d\n",
        ),
    ] {
        write(&home.join(path), text);
    }
    set_mode(&home.join(".env"), 0o644);
    symlink("../../outside", home.join("skills/link")).unwrap();
    database::with_rows(&home.join("memory_store.db"), 2);
    database::with_rows(&home.join("deep/er/notes.db"), 1);
}

#[test]
fn a_clone_of_the_settings_takes_what_makes_the_agent_and_no_history() {
    let test = TestRoot::new();
    furnish(&test.root());
    test.create_with("copy", clone_of(&test, "default", CloneDepth::Settings))
        .unwrap();
    let copy = test.profile("copy");
    assert_eq!(read(&copy.join("config.yaml")), "model: m\n");
    assert_eq!(read(&copy.join("SOUL.md")), "soul");
    assert_eq!(read(&copy.join(".env")), "A=1\n");
    assert_eq!(mode(&copy.join(".env")), 0o600);
    assert_eq!(names_in(&copy.join("memories")), ["MEMORY.md"]);
    assert_eq!(read(&copy.join("skills/group/one/SKILL.md")), "skill");
    // A link stays a link, dangling or not.
    assert_eq!(
        std::fs::read_link(copy.join("skills/link")).unwrap(),
        Path::new("../../outside")
    );
    for absent in ["auth.json", "cron/jobs.json", "sessions/s.json", "state.db"] {
        assert!(!copy.join(absent).exists(), "{absent}");
    }
    // The port of the source stays the source's; only the description is new.
    assert_eq!(load_meta(&copy).gateway_port, None);
}

#[test]
fn a_full_clone_leaves_out_history_runtime_and_installation() {
    let test = TestRoot::new();
    furnish(&test.root());
    let _socket = UnixListener::bind(test.root().join("live")).unwrap();
    test.create_with("copy", clone_of(&test, "default", CloneDepth::Everything))
        .unwrap();
    let copy = test.profile("copy");
    assert_eq!(
        names_in(&copy),
        [
            ".env",
            "SOUL.md",
            "auth.json",
            "config.yaml",
            "cron",
            "deep",
            "memories",
            "memory_store.db",
            "old.db",
            "profile.yaml",
            "skills"
        ]
    );
    assert_eq!(names_in(&copy.join("deep")), ["backups", "er"]);
    assert_eq!(names_in(&copy.join("skills/group/one")), ["SKILL.md"]);
    // Databases went through the copier, ordinary files did not.
    assert_eq!(database::rows(&copy.join("memory_store.db")), 2);
    assert_eq!(database::rows(&copy.join("deep/er/notes.db")), 1);
    assert!(read(&copy.join("old.db")).starts_with("an ordinary file"));
    assert_eq!(mode(&copy.join("memory_store.db")), 0o600);
    assert_eq!(mode(&copy.join(".env")), 0o600);
    assert_eq!(
        read(&copy.join("profile.yaml")).lines().next(),
        Some("# mine")
    );
    assert_eq!(load_meta(&copy).gateway_port, None);
    for (path, found) in tree(&copy) {
        assert!(path.is_symlink() || is_private(found), "{}", path.display());
    }
}

#[test]
fn a_database_in_use_is_cloned_with_its_last_commit() {
    let test = TestRoot::new();
    let source = test.profile("src");
    let mut live = database::open(&source.join("memory_store.db"));
    for _ in 0..3 {
        database::add_row(&mut live);
    }
    write(
        &source.join("other.db"),
        "an ordinary file, long enough to have a header",
    );
    let request = CreateRequest {
        name: name("copy"),
        content: clone_of(&test, "src", CloneDepth::Everything),
        description: None,
    };
    profiles::create(&test.location(), &request, &test.policy(), &|_| Ok(())).unwrap();
    let copy = test.profile("copy");
    assert_eq!(database::rows(&copy.join("memory_store.db")), 3);
    assert_eq!(mode(&copy.join("memory_store.db")), 0o600);
    assert!(read(&copy.join("other.db")).starts_with("an ordinary file"));
}

#[test]
fn a_named_source_keeps_what_only_the_root_must_not_pass_on() {
    let test = TestRoot::new();
    furnish(&test.profile("src"));
    test.create_with("copy", clone_of(&test, "src", CloneDepth::Everything))
        .unwrap();
    assert_eq!(read(&test.profile("copy").join("bin/tool")), "t");
}

#[test]
fn a_failed_step_leaves_nothing() {
    let test = TestRoot::new();
    furnish(&test.profile("src"));
    let request = CreateRequest {
        name: name("copy"),
        content: clone_of(&test, "src", CloneDepth::Everything),
        description: None,
    };
    let fail = |expected: &str| {
        let prepare = |_: &Path| Err("no migration".into());
        let error =
            profiles::create(&test.location(), &request, &test.policy(), &prepare).unwrap_err();
        assert!(
            matches!(error, Error::Step { action, .. } if action == expected),
            "{error}"
        );
        assert_eq!(test.on_disk(), ["src"]);
    };
    fail("prepare the profile in");
    let damaged = test.profile("src").join("memory_store.db");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[100..].fill(0xff);
    std::fs::write(&damaged, bytes).unwrap();
    fail("copy the database");
    let missing = ProfileContent::Clone {
        source: test.path("gone"),
        depth: CloneDepth::Settings,
    };
    let error = test.create_with("copy", missing).unwrap_err();
    assert!(matches!(error, Error::MissingSource { .. }), "{error}");
    assert_eq!(test.on_disk(), ["src"]);
}

#[test]
fn broken_metadata_of_the_source_is_named() {
    let test = TestRoot::new();
    write(&test.profile("src").join("profile.yaml"), "a: [\n");
    let error = test
        .create_with("copy", clone_of(&test, "src", CloneDepth::Everything))
        .unwrap_err();
    assert!(matches!(error, Error::Yaml { .. }), "{error}");
    assert_eq!(test.on_disk(), ["src"]);
}

#[test]
fn of_ten_threads_that_create_one_profile_one_wins() {
    let test = TestRoot::new();
    let location = test.location();
    let barrier = Barrier::new(10);
    let won = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    create_in(&location, &name("coder"), fresh())
                })
            })
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .filter(|result| match result {
                Ok(_) => true,
                Err(Error::Exists { .. }) => false,
                Err(other) => panic!("{other}"),
            })
            .count()
    });
    assert_eq!(won, 1);
    assert_eq!(test.on_disk(), ["coder"]);
    assert!(test.profile("coder").join("workspace").is_dir());
}
