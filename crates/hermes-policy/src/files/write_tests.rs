//! Writes that are refused and those that are not.

use super::*;

struct Home {
    _dir: tempfile::TempDir,
    base: PathBuf,
    context: WriteContext,
}

fn home() -> Home {
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
    Home {
        _dir: dir,
        base,
        context,
    }
}

impl Home {
    fn allows(&self, path: &str) -> bool {
        let path = path.replace("BASE", &self.base.display().to_string());
        check_write(&self.context, Path::new(&path)).is_ok()
    }
}

#[test]
fn private_places_are_not_written() {
    let home = home();
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
        "/dev/sda",
        "/dev/nvme0n1p1",
        "/dev/mapper/root",
        "/dev/new",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/self/mem",
        "/proc/1/oom_score_adj",
        "/sys/power/state",
    ] {
        assert!(!home.allows(path), "{path} was allowed");
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
        "/dev/shm/x",
        "/devices/x",
        "/process/x",
        "/system/x",
    ] {
        assert!(home.allows(path), "{path} was refused");
    }
}

#[test]
fn shell_startup_files_are_writable_in_the_working_directory() {
    let mut home = home();
    assert!(!home.allows("BASE/home/.zshrc"));
    home.context.cwd = home.base.join("home");
    assert!(home.allows("BASE/home/.zshrc"));
    assert!(home.allows(".zshrc"));
    assert!(!home.allows(".ssh/x"));
}

#[test]
fn links_are_followed_before_the_check() {
    let home = home();
    let work = home.base.join("home/work");
    let link = |target: &Path, name: &str| hermes_fs::symlink(target, &work.join(name)).unwrap();
    link(&home.base.join("home/.ssh"), "keys");
    link(Path::new("../.ssh"), "relative");
    link(&home.base.join("home/.ssh/new"), "dangling");
    link(Path::new("loop"), "loop");
    link(&home.base.join("home/notes"), "harmless");
    for path in [
        "keys/x",
        "relative/x",
        "dangling",
        "keys/../.ssh/y",
        "loop/x",
    ] {
        assert!(!home.allows(path), "{path} was allowed");
    }
    assert!(home.allows("harmless"));
    assert!(home.allows("harmless/new/leaf"));
}

#[test]
fn linked_private_directory_is_protected_at_both_ends() {
    let home = home();
    let elsewhere = home.base.join("elsewhere");
    hermes_fs::create_dir_all(&elsewhere, 0o700).unwrap();
    hermes_fs::symlink(&elsewhere, &home.base.join("home/.aws")).unwrap();
    assert!(!home.allows("BASE/home/.aws/x"));
    assert!(!home.allows("BASE/elsewhere/x"));
}

#[test]
fn safe_roots_are_compared_by_whole_components() {
    let mut home = home();
    let base = home.base.display().to_string();
    home.context.safe_roots = parse_safe_roots(&format!("{base}/a:{base}/b: :"));
    assert_eq!(home.context.safe_roots.len(), 2);
    for (path, allowed) in [
        ("BASE/a/x", true),
        ("BASE/b/c/d", true),
        ("BASE/ab/x", false),
        ("BASE/c", false),
        ("BASE/a/../c", false),
    ] {
        assert_eq!(home.allows(path), allowed, "{path}");
    }
    hermes_fs::create_dir_all(&home.base.join("a"), 0o700).unwrap();
    hermes_fs::symlink(&home.base.join("home"), &home.base.join("a/out")).unwrap();
    assert!(!home.allows("BASE/a/out/x"));
    let refusal = check_write(&home.context, Path::new("/tmp/x")).unwrap_err();
    assert!(refusal.to_string().contains(&format!("{base}/a:{base}/b")));
}

#[test]
fn other_profiles_need_cross_profile() {
    let mut home = home();
    for path in [
        "BASE/root/profiles/q/skills/a",
        "BASE/root/skills/a",
        "BASE/root/cron/j",
    ] {
        assert!(!home.allows(path), "{path}");
    }
    assert!(home.allows("BASE/root/profiles/q/notes"));
    assert!(home.allows("BASE/root/profiles/p/memories/m"));
    home.context.cross_profile = true;
    assert!(home.allows("BASE/root/profiles/q/skills/a"));
    assert!(!home.allows("BASE/root/profiles/q/.env"));
    // The default profile lives in the root itself.
    home.context.cross_profile = false;
    home.context.hermes_home = home.base.join("root");
    assert!(home.allows("BASE/root/skills/a"));
    assert!(!home.allows("BASE/root/profiles/p/skills/a"));
}
