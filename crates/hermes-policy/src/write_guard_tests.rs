//! Writes that are refused and those that are not.

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
    context: WriteContext,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let base = hermes_fs::canonicalize(dir.path()).unwrap();
    for name in [
        "home/.ssh",
        "home/work",
        "root/profiles/p/home",
        "root/profiles/q/skills",
        "root/skills",
    ] {
        hermes_fs::create_dir_all(&base.join(name), 0o700).unwrap();
    }
    let context = WriteContext {
        real_home: base.join("home"),
        child_home: base.join("root/profiles/p/home"),
        hermes_home: base.join("root/profiles/p"),
        hermes_root: base.join("root"),
        cwd: base.join("home/work"),
        safe_roots: Vec::new(),
        cross_profile: false,
    };
    Place {
        _dir: dir,
        base,
        context,
    }
}

impl Place {
    fn allows(&self, path: &str) -> bool {
        let path = path.replace("BASE", &self.base.display().to_string());
        check_write(&self.context, Path::new(&path)).is_ok()
    }
}

#[test]
fn secrets_and_settings_are_protected() {
    let place = place();
    for path in [
        "BASE/home/.ssh/x",
        "BASE/home/.ssh",
        "../.ssh/x",
        "BASE/home/work/../.ssh/y",
        "BASE/home/.aws/credentials",
        "BASE/home/.config/gh/hosts.yml",
        "BASE/home/.netrc",
        "BASE/home/.git-credentials",
        "BASE/home/.bashrc",
        "BASE/root/profiles/p/home/.ssh/x",
        "BASE/root/profiles/p/config.yaml",
        "BASE/root/profiles/p/.env",
        "BASE/root/profiles/p/sessions/a.json",
        "BASE/root/config.yaml",
        "BASE/root/auth.json",
        "BASE/root/mcp-tokens/a",
        "BASE/root/state.db",
        "BASE/root/profiles/q/.env",
        "/etc/passwd",
        "/etc/sudoers.d/x",
        "/boot/x",
        "/usr/lib/systemd/system/x",
        "/private/etc/x",
        "/var/run/docker.sock",
        "/tmp/../etc/x",
    ] {
        assert!(!place.allows(path), "{path} was allowed");
    }
    for path in [
        "x",
        "a/b/c",
        "BASE/home/notes",
        "BASE/home/.sshx/y",
        "BASE/home/.config/other",
        "BASE/home/work/.env",
        "BASE/root/profiles/p/skills/a.md",
        "BASE/root/profiles/p/SOUL.md",
        "/tmp/x",
        "/etcx/y",
        "/private/var/folders/a/b",
    ] {
        assert!(place.allows(path), "{path} was refused");
    }
}

#[test]
fn shell_files_are_free_where_the_work_is() {
    let mut place = place();
    assert!(!place.allows("BASE/home/.zshrc"));
    place.context.cwd = place.base.join("home");
    assert!(place.allows("BASE/home/.zshrc"));
    assert!(place.allows(".zshrc"));
    assert!(!place.allows(".ssh/x"));
}

#[test]
fn links_are_followed() {
    let place = place();
    let work = place.base.join("home/work");
    let link = |target: &Path, name: &str| hermes_fs::symlink(target, &work.join(name)).unwrap();
    link(&place.base.join("home/.ssh"), "keys");
    link(Path::new("../.ssh"), "relative");
    link(&place.base.join("home/.ssh/new"), "dangling");
    link(Path::new("loop"), "loop");
    link(&place.base.join("home/notes"), "harmless");
    for path in [
        "keys/x",
        "relative/x",
        "dangling",
        "keys/../.ssh/y",
        "loop/x",
    ] {
        assert!(!place.allows(path), "{path} was allowed");
    }
    assert!(place.allows("harmless"));
    assert!(place.allows("harmless/new/leaf"));
}

#[test]
fn a_protected_directory_that_is_a_link_is_protected_at_both_ends() {
    let place = place();
    let elsewhere = place.base.join("elsewhere");
    hermes_fs::create_dir_all(&elsewhere, 0o700).unwrap();
    hermes_fs::symlink(&elsewhere, &place.base.join("home/.aws")).unwrap();
    assert!(!place.allows("BASE/home/.aws/x"));
    assert!(!place.allows("BASE/elsewhere/x"));
}

#[test]
fn safe_roots_are_compared_by_whole_components() {
    let mut place = place();
    let base = place.base.display().to_string();
    place.context.safe_roots = parse_safe_roots(&format!("{base}/a:{base}/b: :"));
    assert_eq!(place.context.safe_roots.len(), 2);
    for (path, allowed) in [
        ("BASE/a/x", true),
        ("BASE/b/c/d", true),
        ("BASE/ab/x", false),
        ("BASE/c", false),
        ("BASE/a/../c", false),
    ] {
        assert_eq!(place.allows(path), allowed, "{path}");
    }
    hermes_fs::create_dir_all(&place.base.join("a"), 0o700).unwrap();
    hermes_fs::symlink(&place.base.join("home"), &place.base.join("a/out")).unwrap();
    assert!(!place.allows("BASE/a/out/x"));
    let refusal = check_write(&place.context, Path::new("/tmp/x")).unwrap_err();
    assert!(refusal.to_string().contains(&format!("{base}/a:{base}/b")));
    assert!(refusal.hint().is_some());
}

#[test]
fn other_profiles_are_changed_on_purpose_only() {
    let mut place = place();
    for path in [
        "BASE/root/profiles/q/skills/a",
        "BASE/root/skills/a",
        "BASE/root/cron/j",
    ] {
        assert!(!place.allows(path), "{path}");
    }
    assert!(place.allows("BASE/root/profiles/q/notes"));
    assert!(place.allows("BASE/root/profiles/p/memories/m"));
    place.context.cross_profile = true;
    assert!(place.allows("BASE/root/profiles/q/skills/a"));
    assert!(!place.allows("BASE/root/profiles/q/.env"));
    // The default profile lives in the root itself.
    place.context.cross_profile = false;
    place.context.hermes_home = place.base.join("root");
    assert!(place.allows("BASE/root/skills/a"));
    assert!(!place.allows("BASE/root/profiles/p/skills/a"));
}
