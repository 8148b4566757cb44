use hermes_fs::symlink;
use pretty_assertions::assert_eq;

use super::*;

struct World {
    dir: tempfile::TempDir,
    homes: ProtectedHomes,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("users/me");
        for below in [".hermes/profiles/other", ".ssh", "project/sub"] {
            hermes_fs::create_dir_all(&home.join(below), 0o700).unwrap();
        }
        let hermes = home.join(".hermes");
        let homes = ProtectedHomes {
            account_homes: vec![home],
            hermes_homes: vec![hermes.join("profiles/other"), hermes],
        };
        Self { dir, homes }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn refusal(&self, below: &str) -> Option<String> {
        workspace_refusal(&self.path(below), &self.homes)
    }
}

#[test]
fn homes_and_what_lies_around_them_are_refused() {
    let world = World::new();
    for (path, why) in [
        ("users/me", IS_USER_HOME),
        ("users/me/", IS_USER_HOME),
        ("users/me/project/..", IS_USER_HOME),
        ("users/me/missing/..", IS_USER_HOME),
        ("users/me/.hermes", IS_HERMES_HOME),
        ("users/me/.hermes/profiles/other", IS_HERMES_HOME),
        ("users/me/.hermes/profiles", HOLDS_HERMES_HOME),
        ("users", HOLDS_USER_HOME),
        ("", HOLDS_USER_HOME),
    ] {
        assert_eq!(world.refusal(path).as_deref(), Some(why), "{path}");
    }
    assert_eq!(
        workspace_refusal(Path::new("//"), &world.homes).as_deref(),
        Some(ROOT)
    );
    for path in ["users/me/project", "users/me/new/sub", "elsewhere"] {
        assert_eq!(world.refusal(path), None, "{path}");
    }
}

#[test]
fn links_are_followed_and_keys_are_refused() {
    let world = World::new();
    for (target, link) in [
        ("users/me", "to-home"),
        ("users/me/.hermes", "users/me/project/to-hermes"),
        ("users/me/.ssh", "users/me/project/sub/to-keys"),
    ] {
        symlink(&world.path(target), &world.path(link)).unwrap();
    }
    symlink(Path::new("/"), &world.path("to-root")).unwrap();
    assert_eq!(world.refusal("to-home").as_deref(), Some(IS_USER_HOME));
    let to_hermes = world.refusal("users/me/project/to-hermes");
    assert_eq!(to_hermes.as_deref(), Some(IS_HERMES_HOME));
    assert_eq!(world.refusal("to-root").as_deref(), Some(ROOT));
    for keys in [
        "users/me/project/sub/to-keys",
        "users/me/.ssh",
        "users/me/.hermes/mcp-tokens",
    ] {
        let why = world.refusal(keys).unwrap();
        assert!(why.contains("credentials"), "{keys}: {why}");
    }
}

#[test]
fn lists_of_directories_name_what_is_wrong_with_an_entry() {
    let world = World::new();
    let home = world.path("users/me");
    let listed = |text: &str| listed_directory(text, &home, &world.homes);
    let project = hermes_fs::canonicalize(&home.join("project")).unwrap();
    assert_eq!(listed("~/project/"), Ok(project));
    for (text, why) in [
        ("project", "is not an absolute path"),
        ("", "is not an absolute path"),
        ("~/missing", "does not exist"),
        ("/", ROOT),
        ("~", IS_USER_HOME),
        ("~/.hermes", IS_HERMES_HOME),
        ("/etc/passwd", "is not a directory"),
    ] {
        assert_eq!(listed(text), Err(why.to_owned()), "{text}");
    }
}

#[test]
fn paths_of_the_mount_table_are_read_as_they_are() {
    assert_eq!(unescaped("/a\\040b\\134c"), "/a b\\c");
    assert_eq!(unescaped("/a\\9"), "/a\\9");
}
