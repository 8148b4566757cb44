//! Making sure of a home.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use hermes_config::{Environment, vars};
use hermes_home::{
    EnsureError, HomeKind, HomePolicy, Location, Managed, SOUL_SEED, SystemFacts, ensure_home,
    is_container,
};
use pretty_assertions::assert_eq;

use crate::test_root::{TestRoot, mode, name, names_in, read, set_mode, system, tree, write};

fn ensure(location: &Location, env: &Environment) -> Result<(), EnsureError> {
    let policy = HomePolicy::resolve(env, &system(), &location.home);
    ensure_home(location, &policy, &system())
}

#[test]
fn a_new_home_is_complete_and_private() {
    let test = TestRoot::new();
    ensure(&test.location(), &test.env()).unwrap();
    assert_eq!(
        names_in(&test.root()),
        [
            "SOUL.md",
            "audio_cache",
            "cron",
            "hooks",
            "image_cache",
            "logs",
            "memories",
            "pairing",
            "sessions",
            "skills"
        ]
    );
    for (path, found) in tree(&test.root()) {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found, wanted, "{}", path.display());
    }
    assert!(test.root().join("logs/curator").is_dir());
    assert_eq!(read(&test.root().join("SOUL.md")), SOUL_SEED);
}

#[test]
fn a_second_time_changes_nothing() {
    let test = TestRoot::new();
    ensure(&test.location(), &test.env()).unwrap();
    write(&test.root().join("SOUL.md"), "mine");
    let stamps = || -> Vec<_> {
        let paths = tree(&test.root()).into_iter();
        paths
            .map(|(path, _)| {
                let meta = path.symlink_metadata().unwrap();
                (path, meta.ctime(), meta.ctime_nsec())
            })
            .collect()
    };
    let before = stamps();
    ensure(&test.location(), &test.env()).unwrap();
    assert_eq!(stamps(), before);
    assert_eq!(read(&test.root().join("SOUL.md")), "mine");
}

#[test]
fn loose_modes_are_tightened_and_the_variable_says_to_what() {
    let test = TestRoot::new();
    std::fs::create_dir_all(test.root().join("logs")).unwrap();
    set_mode(&test.root(), 0o755);
    set_mode(&test.root().join("logs"), 0o755);
    ensure(&test.location(), &test.env()).unwrap();
    assert_eq!(mode(&test.root()), 0o700);
    assert_eq!(mode(&test.root().join("logs")), 0o700);
    for (text, wanted) in [
        ("0750", 0o750),
        ("711", 0o711),
        ("0o701", 0o701),
        ("banana", 0o700),
        ("0000", 0o700),
        ("99", 0o700),
    ] {
        let env = test.env().with(&vars::HERMES_HOME_MODE, text);
        ensure(&test.location(), &env).unwrap();
        assert_eq!(mode(&test.root()), wanted, "{text}");
        assert_eq!(mode(&test.root().join("cron")), wanted, "{text}");
    }
}

#[test]
fn in_a_container_modes_are_left_alone_unless_the_variable_is_set() {
    let test = TestRoot::new();
    std::fs::create_dir(test.root()).unwrap();
    set_mode(&test.root(), 0o755);
    let inside = test.env().with(&vars::KUBERNETES_SERVICE_HOST, "10.0.0.1");
    ensure(&test.location(), &inside).unwrap();
    assert_eq!(mode(&test.root()), 0o755);
    assert_eq!(mode(&test.root().join("cron")), 0o700);
    let told = inside.with(&vars::HERMES_HOME_MODE, "0750");
    ensure(&test.location(), &told).unwrap();
    assert_eq!(mode(&test.root()), 0o750);
}

#[test]
fn files_are_tightened_on_plain_hosts_only() {
    let test = TestRoot::new();
    let tightens =
        |env: &Environment| HomePolicy::resolve(env, &system(), &test.root()).tighten_files;
    let env = test.env();
    assert!(tightens(&env));
    for var in [
        &vars::HERMES_SKIP_CHMOD,
        &vars::HERMES_CONTAINER,
        &vars::KUBERNETES_SERVICE_HOST,
        &vars::HERMES_MANAGED,
    ] {
        assert!(!tightens(&env.with(var, "1")), "{}", var.name);
    }
}

#[test]
fn a_missing_named_profile_is_not_created() {
    let test = TestRoot::new();
    let location = test.location().for_profile(&name("gone"));
    let error = ensure(&location, &test.env()).unwrap_err();
    assert!(
        matches!(error, EnsureError::MissingProfile { .. }),
        "{error}"
    );
    assert_eq!(
        error.hint().unwrap(),
        "create it with: hermes profile create gone"
    );
    let odd = Location {
        home: test.root().join("profiles/Bad Name"),
        kind: HomeKind::Custom,
        ..test.location()
    };
    assert!(ensure(&odd, &test.env()).is_err());
    assert!(!test.root().exists());
}

#[test]
fn something_in_the_way_is_named() {
    let test = TestRoot::new();
    write(&test.root(), "a file");
    let error = ensure(&test.location(), &test.env()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} is not a directory", test.root().display())
    );
    assert!(error.hint().unwrap().contains("HERMES_HOME"));
    // Also when it is a part of the path.
    let below = Location {
        home: test.root().join("deeper"),
        ..test.location()
    };
    let error = ensure(&below, &test.env()).unwrap_err();
    assert!(
        matches!(error, EnsureError::NotADirectory { .. }),
        "{error}"
    );
}

#[test]
fn a_managed_home_is_not_chmodded_and_not_created() {
    let test = TestRoot::new();
    let env = test.env().with(&vars::HERMES_MANAGED, "true");
    let error = ensure(&test.location(), &env).unwrap_err();
    assert!(
        matches!(error, EnsureError::MissingManaged { .. }),
        "{error}"
    );
    std::fs::create_dir(test.root()).unwrap();
    set_mode(&test.root(), 0o2770);
    ensure(&test.location(), &env).unwrap();
    assert_eq!(mode(&test.root()), 0o2770);
    assert_eq!(mode(&test.root().join("cron")), 0o2770);
    assert_eq!(mode(&test.root().join("SOUL.md")), 0o660);
}

#[test]
fn managers_are_told_apart() {
    let test = TestRoot::new();
    let by = |value: &str| {
        let env = test.env().with(&vars::HERMES_MANAGED, value);
        Managed::detect(&env, &test.root())
    };
    for nix in ["true", "1", "YES", "nix", "NixOS"] {
        assert_eq!(by(nix), Some(Managed::NixOs), "{nix}");
    }
    assert_eq!(by("brew"), Some(Managed::Homebrew));
    assert_eq!(by("homebrew"), Some(Managed::Homebrew));
    assert_eq!(by("guix"), Some(Managed::Other("guix".to_owned())));
    assert_eq!(by("  "), None);
    write(&test.root().join(".managed"), "");
    assert_eq!(by("  "), Some(Managed::NixOs));
}

#[test]
fn root_hands_new_directories_over() {
    let test = TestRoot::new();
    let env = test
        .env()
        .with(&vars::HERMES_UID, "4321")
        .with(&vars::HERMES_GID, "1234");
    let owner = |uid: u32| {
        let facts = SystemFacts { uid, ..system() };
        HomePolicy::resolve(&env, &facts, &test.root()).owner
    };
    assert_eq!(owner(1000), None);
    assert_eq!(owner(0), Some((4321, 1234)));
    if rustix::process::geteuid().is_root() {
        std::fs::create_dir_all(test.root().join("logs")).unwrap();
        ensure(&test.location(), &env).unwrap();
        let ids = |path: &str| {
            let meta = test.root().join(path).metadata().unwrap();
            (meta.uid(), meta.gid())
        };
        assert_eq!(ids("cron"), (4321, 1234));
        assert_eq!(ids("SOUL.md"), (4321, 1234));
        // What was there keeps its owner.
        assert_eq!(ids("logs"), (0, rustix::process::getegid().as_raw()));
    }
}

const CHILD: &str = "HERMES_HOME_TEST_FOREIGN";

/// Runs in a child as an ordinary user: root may write everywhere.
#[test]
fn a_home_of_someone_else_is_named_with_its_owner() {
    if let Ok(home) = std::env::var(CHILD) {
        let location = Location {
            root: home.clone().into(),
            home: home.into(),
            kind: HomeKind::Default,
            user_home: "/u".into(),
        };
        let env = Environment::from_pairs([("HOME", "/u")]);
        let error = ensure(&location, &env).unwrap_err();
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(
            error.to_string(),
            format!(
                "{} belongs to user 0 and cannot be written by user {uid}",
                location.home.display()
            )
        );
        assert!(
            error
                .hint()
                .unwrap()
                .starts_with("run the command as user 0")
        );
        return;
    }
    // A copy where an ordinary user can execute it; a target that is root's on every system.
    let test = tempfile::tempdir().unwrap();
    set_mode(test.path(), 0o755);
    let program = test.path().join("it");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let mut command = std::process::Command::new(&program);
    command
        .args([
            "--exact",
            "ensure::a_home_of_someone_else_is_named_with_its_owner",
        ])
        .current_dir(Path::new("/"))
        .env(CHILD, "/usr/share");
    if rustix::process::geteuid().is_root() {
        command.uid(65534);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

#[test]
fn containers_leave_marks() {
    let test = TestRoot::new();
    let facts_of = |test: &TestRoot| SystemFacts {
        file_system_root: test.path("fs"),
        ..system()
    };
    let host = "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        99 30 0:50 / /var/lib/docker/overlay2/ab/merged rw - overlay overlay rw,lowerdir=/var/lib/docker/x\n";
    write(&test.path("fs/proc/1/cgroup"), "0::/init.scope\n");
    write(&test.path("fs/proc/self/mountinfo"), host);
    let env = test.env();
    assert!(
        !is_container(&env, &facts_of(&test)),
        "a host that runs containers is none"
    );
    for (file, text) in [
        (".dockerenv", ""),
        ("run/.containerenv", ""),
        ("proc/1/cgroup", "12:pids:/docker/abc\n"),
        ("proc/1/cgroup", "1:name=systemd:/lxc/box\n"),
        ("proc/1/cgroup", "0::/kubepods.slice/x\n"),
        (
            "proc/self/mountinfo",
            "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/x\n",
        ),
        (
            "proc/self/mountinfo",
            "2 1 8:1 /var/lib/docker/containers/ab/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n",
        ),
    ] {
        let fresh = TestRoot::new();
        write(&fresh.path("fs").join(file), text);
        assert!(is_container(&env, &facts_of(&fresh)), "{file}: {text}");
    }
    let pod = env.with(&vars::KUBERNETES_SERVICE_HOST, "h");
    assert!(is_container(&pod, &facts_of(&test)));
}
