//! Small images for a real container engine, made without a registry.
//!
//! An image is this machine's bash with its libraries and a static busybox. It is made once and
//! found again by its name.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::RealEngine;
use crate::real_engine::of_this_user;
use crate::ssh_server::put_script;

/// Images that tests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineImage {
    /// busybox and bash.
    Shell,
    /// busybox alone.
    WithoutBash,
    /// A small Debian, from its packages: GNU tools as people have them.
    Debian,
    /// The same with Python.
    DebianPython,
    /// A Debian that systemd boots, with systemd for its users.
    DebianSystemd,
    /// A Debian with s6.
    DebianS6,
    /// Starts with the init of s6-overlay; as far as an engine can see.
    S6,
    /// Its entry point prints the command it is given, and that is all.
    Swallows,
    /// Its entry point ends at once, with code 7.
    Dies,
}

impl EngineImage {
    /// Its name, made if docker does not have it.
    pub fn name(self) -> &'static str {
        let name = match self {
            Self::Shell => "hermes-test-shell:1",
            Self::WithoutBash => "hermes-test-busybox:1",
            Self::Debian => "hermes-test-debian:latest",
            Self::DebianPython => "hermes-test-debian-python:1",
            Self::DebianSystemd => "hermes-test-debian-systemd:1",
            Self::DebianS6 => "hermes-test-debian-s6:1",
            Self::S6 => "hermes-test-s6:1",
            Self::Swallows => "hermes-test-swallows:1",
            Self::Dies => "hermes-test-dies:2",
        };
        let _lock = Self::lock();
        if !RealEngine::Docker.ask(&["image", "inspect", name]).0 {
            self.make(name);
        }
        name
    }

    /// Its name, made or copied if the engine does not have it.
    pub fn name_in(self, engine: RealEngine) -> &'static str {
        let name = self.name();
        if engine == RealEngine::Podman {
            let _lock = Self::lock();
            if !engine.ask(&["image", "exists", name]).0 {
                engine.copy_from_docker(name);
            }
        }
        name
    }

    /// Held while images are made: one at a time, over all test processes.
    fn lock() -> fs::File {
        let lock = fs::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(of_this_user("image.lock"))
            .unwrap();
        lock.lock().unwrap();
        lock
    }

    fn make(self, name: &str) {
        let root = TempDir::with_prefix("hermes-test-image-").unwrap();
        let root = root.path();
        let packages = match self {
            Self::Debian => Some("procps"),
            Self::DebianPython => Some("procps,python3"),
            Self::DebianSystemd => Some("procps,systemd-sysv,dbus-user-session,libpam-systemd"),
            Self::DebianS6 => Some("procps,s6"),
            Self::Shell | Self::WithoutBash | Self::S6 | Self::Swallows | Self::Dies => None,
        };
        if let Some(packages) = packages {
            let archive = root.join("debian.tar");
            bootstrap(packages, &archive);
            let archive = fs::read(&archive).unwrap();
            return import(&archive, name, &["CMD [\"bash\"]"]);
        }
        for directory in [
            "bin", "etc", "root", "tmp", "var/tmp", "run", "proc", "sys", "dev",
        ] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::set_permissions(root.join("tmp"), PermissionsExt::from_mode(0o1777)).unwrap();
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        fs::write(root.join("etc/group"), "root:x:0:\n").unwrap();
        add_busybox(root);
        if self != Self::WithoutBash {
            add_with_libraries(root, Path::new("/bin/bash"));
        }
        let mut changes = vec!["ENV PATH=/usr/bin:/bin", "CMD [\"sh\"]"];
        let start = match self {
            Self::S6 => Some(("init", "exec \"$@\"")),
            Self::Swallows => Some(("start", "echo \"not run: $*\"")),
            Self::Dies => Some(("start", "echo 'no licence found' >&2; exit 7")),
            _ => None,
        };
        let entry;
        if let Some((name, script)) = start {
            put_script(&root.join(name), &format!("#!/bin/sh\n{script}\n"));
            entry = format!("ENTRYPOINT [\"/{name}\"]");
            changes.push(&entry);
        }
        import(&archive_of(root), name, &changes);
    }
}

fn add_busybox(root: &Path) {
    let busybox = ["/bin/busybox", "/usr/bin/busybox"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("busybox is not installed: apt-get install busybox-static"));
    fs::copy(&busybox, root.join("bin/busybox")).unwrap();
    let list = Command::new(&busybox).arg("--list").output().unwrap();
    for applet in String::from_utf8(list.stdout).unwrap().lines() {
        if applet != "busybox" {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
    }
}

/// A program and what the loader needs for it.
fn add_with_libraries(root: &Path, program: &Path) {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let libraries = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from);
    for file in libraries.chain([program.to_owned()]) {
        let target = root.join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        // A busybox applet of that name gives way.
        drop(fs::remove_file(&target));
        fs::copy(&file, &target).unwrap();
    }
}

/// The release of Debian this machine has: its essential packages and these.
fn bootstrap(packages: &str, archive: &Path) {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let suite = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .unwrap_or("stable");
    let made = Command::new("mmdebstrap")
        .args(["--quiet", "--variant=minbase"])
        // A mirror that lags behind does as well: no test depends on the newest packages.
        .arg("--aptopt=Acquire::Check-Valid-Until \"false\"")
        .args(["--include", packages, suite])
        .arg(archive)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("mmdebstrap: {error}: apt-get install mmdebstrap"));
    assert!(
        made.status.success(),
        "mmdebstrap: {}",
        String::from_utf8_lossy(&made.stderr)
    );
}

fn archive_of(root: &Path) -> Vec<u8> {
    let archive = Command::new("tar")
        .args(["--owner=0", "--group=0", "-C"])
        .arg(root)
        .args(["-cf", "-", "."])
        .output()
        .unwrap();
    assert!(archive.status.success(), "tar: {}", archive.status);
    archive.stdout
}

fn import(archive: &[u8], name: &str, changes: &[&str]) {
    let mut command = Command::new("docker");
    command.arg("import");
    for change in changes {
        command.args(["--change", change]);
    }
    let mut child = command
        .args(["-", name])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(archive).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "docker import {name}: {status}");
}
