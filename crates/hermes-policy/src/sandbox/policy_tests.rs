//! The policy on directories made for the purpose.

use hermes_fs::{create_dir_all, create_new, symlink};

use super::*;
use crate::sandbox::SandboxMode;

fn settings(write: &[String]) -> SandboxSettings {
    SandboxSettings {
        mode: SandboxMode::On,
        write: write.to_vec(),
        network: Network::On,
        warnings: Vec::new(),
    }
}

struct World {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = hermes_fs::canonicalize(directory.path()).unwrap();
        let world = Self {
            _directory: directory,
            root,
        };
        for name in [
            "home/.ssh",
            "home/.cargo/registry",
            "home/.cargo/bin",
            "home/project",
            "home/.hermes/profiles/other",
            "home/.hermes/sessions",
            "home/.hermes/kanban/workspaces/t_1",
        ] {
            create_dir_all(&world.path(name), 0o755).unwrap();
        }
        for name in [
            "home/.netrc",
            "home/.npmrc.bak",
            "home/.hermes/.env",
            "home/.hermes/kanban.db",
            "home/.hermes/kanban.db-wal",
            "home/.hermes/SOUL.md",
        ] {
            drop(create_new(&world.path(name), 0o600).unwrap());
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn facts(&self, workspace: &str) -> SandboxFacts {
        SandboxFacts {
            workspace: self.path(workspace),
            temporary: None,
            account_homes: vec![self.path("home")],
            hermes_homes: vec![self.path("home/.hermes")],
            ssh_agent: None,
            is_root: false,
        }
    }

    fn policy(&self, workspace: &str, write: &[String]) -> SandboxPolicy {
        SandboxPolicy::resolve(&settings(write), &self.facts(workspace)).0
    }

    fn written(&self, policy: &SandboxPolicy) -> Vec<String> {
        let paths = policy.writable.iter();
        let below = paths.filter_map(|it| it.path.strip_prefix(&self.root).ok());
        below.map(|path| path.display().to_string()).collect()
    }
}

#[test]
fn the_workspace_and_caches_of_existing_toolchains_are_writable() {
    let world = World::new();
    let policy = world.policy("home/project", &[]);
    assert_eq!(
        world.written(&policy),
        [
            "home/project",
            "home/.cache",
            "home/.cargo/registry",
            "home/.cargo/git"
        ]
    );
    // Made before the first command, so that it can be mounted.
    assert_eq!(
        policy.create,
        [world.path("home/.cache"), world.path("home/.cargo/git")]
    );
    assert!(policy.warnings.is_empty(), "{:?}", policy.warnings);
}

#[test]
fn private_places_copies_databases_and_other_profiles_are_hidden() {
    let world = World::new();
    let policy = world.policy("home/project", &[]);
    for name in [
        "home/.ssh",
        "home/.netrc",
        "home/.npmrc.bak",
        "home/.hermes/.env",
        "home/.hermes/kanban.db",
        "home/.hermes/kanban.db-wal",
        "home/.hermes/sessions",
        "home/.hermes/profiles/other",
    ] {
        assert!(policy.hidden.contains(&world.path(name)), "{name}");
    }
    for name in [
        "home/.hermes/SOUL.md",
        "home/.hermes/kanban",
        "home/project",
    ] {
        assert!(!policy.hidden.contains(&world.path(name)), "{name}");
    }
}

#[test]
fn a_workspace_that_holds_a_home_is_not_writable_and_named() {
    let world = World::new();
    symlink(&world.path("home"), &world.path("link")).unwrap();
    symlink(Path::new("/"), &world.path("root")).unwrap();
    for (workspace, why) in [
        ("home", "is the user's home directory"),
        ("link", "is the user's home directory"),
        ("home/.hermes", "is a home of Hermes"),
        ("root", "is the root of the file system"),
        (".", "holds the user's home directory"),
        ("home/.ssh", "contains keys"),
        ("home/.hermes/sessions", "may be changed only by Hermes"),
        ("gone", "does not exist"),
    ] {
        let policy = world.policy(workspace, &[]);
        let reasons: Vec<_> = policy.writable.iter().map(|it| it.reason).collect();
        assert!(!reasons.contains(&WriteReason::Workspace), "{workspace}");
        assert!(
            policy.warnings.iter().any(|text| text.contains(why)),
            "{workspace}: {:?}",
            policy.warnings
        );
    }
    let scratch = world.policy("home/.hermes/kanban/workspaces/t_1", &[]);
    assert_eq!(
        scratch.writable.first().unwrap().reason,
        WriteReason::Workspace
    );
}

#[test]
fn a_write_list_loses_what_is_not_allowed_and_says_so() {
    let world = World::new();
    create_dir_all(&world.path("data"), 0o755).unwrap();
    let text = |name: &str| world.path(name).display().to_string();
    let list = [
        text("data"),
        "/".to_owned(),
        "relative".to_owned(),
        String::new(),
        text("missing"),
        text("home"),
        text("home/.hermes"),
        "~/.ssh".to_owned(),
        "~/project".to_owned(),
        "/etc".to_owned(),
    ];
    let policy = world.policy("home/project", &list);
    let by_setting: Vec<_> = policy
        .writable
        .iter()
        .filter(|it| it.reason == WriteReason::Setting)
        .map(|it| it.path.clone())
        .collect();
    assert_eq!(by_setting, [world.path("data")]);
    assert_eq!(policy.warnings.len(), 8, "{:#?}", policy.warnings);
}

#[test]
fn hooks_and_settings_of_a_repository_are_protected() {
    let world = World::new();
    create_dir_all(&world.path("home/project/.git"), 0o755).unwrap();
    drop(create_new(&world.path("home/project/.git/config"), 0o644).unwrap());
    let policy = world.policy("home/project", &[]);
    let plan = policy.plan();
    assert_eq!(plan.pinned, [world.path("home/project/.git")]);
    assert_eq!(
        plan.protected,
        [
            world.path("home/project/.git/hooks"),
            world.path("home/project/.git/config")
        ]
    );
    assert!(
        policy
            .create
            .contains(&world.path("home/project/.git/hooks"))
    );
}

#[test]
fn a_worktree_writes_to_its_repository_but_not_to_its_settings() {
    let world = World::new();
    let git = world.path("home/main/.git");
    for name in [
        "objects",
        "refs",
        "hooks",
        "worktrees/project",
        "worktrees/other",
    ] {
        create_dir_all(&git.join(name), 0o755).unwrap();
    }
    let write = |path: &Path, text: String| {
        hermes_fs::write_atomic(path, text.as_bytes(), 0o644).unwrap();
    };
    write(&git.join("config"), "[core]\n".to_owned());
    let own = git.join("worktrees/project");
    write(&own.join("commondir"), "../..\n".to_owned());
    let pointer = world.path("home/project/.git");
    write(&own.join("gitdir"), format!("{}\n", pointer.display()));
    write(&pointer, format!("gitdir: {}\n", own.display()));
    let policy = world.policy("home/project", &[]);
    let written = world.written(&policy);
    for name in ["", "/worktrees/project"] {
        assert!(written.contains(&format!("home/main/.git{name}")), "{name}");
    }
    let plan = policy.plan();
    for name in [
        "hooks/x",
        "config",
        "worktrees/other/gitdir",
        "worktrees/project/commondir",
    ] {
        assert!(!plan.may_write(&git.join(name)), "{name}");
    }
    for name in [
        "packed-refs.lock",
        "objects/x",
        "refs/heads/topic",
        "worktrees/project/index",
    ] {
        assert!(plan.may_write(&git.join(name)), "{name}");
    }
    assert!(plan.pinned.contains(&git));
    // A workspace that names a repository which does not know it gets nothing of it.
    write(&own.join("gitdir"), "/elsewhere/.git\n".to_owned());
    assert_eq!(
        world.written(&world.policy("home/project", &[]))[0..1],
        ["home/project".to_owned()]
    );
    let policy = world.policy("home/project", &[]);
    assert!(
        !world
            .written(&policy)
            .iter()
            .any(|path| path.contains("main"))
    );
}

/// A change of the disk, in words and in deed.
type Change = (&'static str, fn(&World));

#[test]
fn what_was_looked_at_tells_when_to_look_again() {
    let world = World::new();
    let (settings, facts) = (settings(&[]), world.facts("home/project"));
    let changes: [Change; 6] = [
        ("a private file came into being", |world| {
            drop(create_new(&world.path("home/.pgpass"), 0o600).unwrap());
        }),
        ("a copy of one did", |world| {
            drop(create_new(&world.path("home/.netrc.old"), 0o600).unwrap());
        }),
        ("a database did", |world| {
            drop(create_new(&world.path("home/.hermes/new.db"), 0o600).unwrap());
        }),
        ("a toolchain was installed", |world| {
            create_dir_all(&world.path("home/.gradle"), 0o755).unwrap();
        }),
        ("the workspace became a repository", |world| {
            create_dir_all(&world.path("home/project/.git"), 0o755).unwrap();
        }),
        ("the repository got settings", |world| {
            drop(create_new(&world.path("home/project/.git/config"), 0o600).unwrap());
        }),
    ];
    for (what, change) in changes {
        let (policy, mut looked) = SandboxPolicy::resolve(&settings, &facts);
        assert!(looked.still_holds(), "before {what}");
        change(&world);
        assert!(!looked.still_holds(), "{what}");
        assert_ne!(
            SandboxPolicy::resolve(&settings, &facts).0,
            policy,
            "{what}"
        );
    }
    // What does not matter does not count.
    let (_, mut looked) = SandboxPolicy::resolve(&settings, &facts);
    for name in ["home/notes", "home/project/made", "home/.hermes/notes"] {
        drop(create_new(&world.path(name), 0o600).unwrap());
        assert!(looked.still_holds(), "{name}");
    }
}
