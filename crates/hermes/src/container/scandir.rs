//! What the supervisor works in: the directory of services, the slots that every container has, and
//! the variables of the container as files.
//!
//! All of it lies below `/run` and is made anew at every start. Programs and scripts are links into
//! the sealed tree, so that nothing below `/run` is ever executed: it may be mounted without that
//! right.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hermes_config::Environment;

use super::INSTALL_TREE;

/// Where services are supervised.
pub(super) const SCANDIR: &str = "/run/service";
/// Where this program keeps what its roles tell each other.
pub(super) const RUN: &str = "/run/hermes";
/// By this and the name of the first process a supervisor is recognised.
const BASE: &str = "/run/s6/basedir";
/// The variables of the container, one file each.
const VARIABLES: &str = "/run/s6/container_environment";

/// The exit code of the main program, once it has ended.
pub(super) const EXIT_CODE: &str = "/run/hermes/exit-code";
/// The process that waits for the main program.
pub(super) const WATCHER: &str = "/run/hermes/main.pid";

/// Services that every container has.
const STATIC: [&str; 2] = ["main-hermes", "dashboard"];
/// What the supervisor runs at signals and at its own end.
const HOOKS: [&str; 5] = ["finish", "crash", "SIGTERM", "SIGINT", "SIGHUP"];

/// Makes everything anew; whatever an earlier start left is gone.
pub(super) fn prepare(env: &Environment, uid: u32) -> hermes_fs::Result<()> {
    if uid == 0 {
        // Open in the image for a start without root, which this is not.
        hermes_fs::set_mode(Path::new("/run"), 0o755)?;
    }
    for leftover in [SCANDIR, RUN, VARIABLES] {
        let leftover = Path::new(leftover);
        if hermes_fs::exists_no_follow(leftover) {
            hermes_fs::remove_tree(leftover)?;
        }
    }
    hermes_fs::create_dir_all(Path::new(BASE), 0o755)?;
    hermes_fs::create_dir_all(Path::new(RUN), 0o755)?;
    write_variables(env)?;
    let scandir = Path::new(SCANDIR);
    hermes_fs::create_dir_all(scandir, 0o755)?;
    for service in STATIC {
        make_service(scandir, service)?;
    }
    let hooks = scandir.join(".s6-svscan");
    hermes_fs::create_dir(&hooks, 0o755)?;
    for hook in HOOKS {
        let script = sealed("svscan").join(if hook.starts_with("SIG") {
            "signal"
        } else {
            "finish"
        });
        hermes_fs::symlink(&script, &hooks.join(hook))?;
    }
    Ok(())
}

fn make_service(scandir: &Path, name: &str) -> hermes_fs::Result<()> {
    let directory = scandir.join(name);
    hermes_fs::create_dir(&directory, 0o755)?;
    for script in ["run", "finish"] {
        let target = sealed(name).join(script);
        if hermes_fs::exists_no_follow(&target) {
            hermes_fs::symlink(&target, &directory.join(script))?;
        }
    }
    put(&directory.join("type"), b"longrun\n", 0o644)
}

fn write_variables(env: &Environment) -> hermes_fs::Result<()> {
    let directory = Path::new(VARIABLES);
    hermes_fs::create_dir_all(directory, 0o700)?;
    for (name, value) in env.iter() {
        // No such file can be made, and no variable of that name be set.
        if name.is_empty() || name.as_bytes().contains(&b'/') {
            continue;
        }
        put(&directory.join(name), value.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// Writes a new file. Below `/run` nothing has to outlive a power cut.
fn put(path: &Path, bytes: &[u8], mode: u32) -> hermes_fs::Result<()> {
    let mut file = hermes_fs::create_new(path, mode)?;
    file.write_all(bytes)
        .map_err(hermes_fs::Error::io("write", path))
}

fn sealed(name: &str) -> PathBuf {
    Path::new(INSTALL_TREE).join("s6").join(name)
}
