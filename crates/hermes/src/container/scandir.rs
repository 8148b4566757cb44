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
use hermes_supervise::{ManagerError, Owner, prepare_scan_directory, prepare_static_service};

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
/// The service that adds and removes slots for those who are not root.
const REGISTRAR: &str = "registrar";
/// What the supervisor runs at signals and at its own end.
const HOOKS: [&str; 5] = ["finish", "crash", "SIGTERM", "SIGINT", "SIGHUP"];

/// Makes everything anew; whatever an earlier start left is gone.
pub(super) fn prepare(env: &Environment, owner: &Owner) -> Result<(), ManagerError> {
    let is_root = matches!(owner, Owner::Root(_));
    if is_root {
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
    prepare_scan_directory(scandir, owner)?;
    for hook in HOOKS {
        let script = sealed("svscan").join(if hook.starts_with("SIG") {
            "signal"
        } else {
            "finish"
        });
        hermes_fs::symlink(&script, &scandir.join(".s6-svscan").join(hook))?;
    }
    let registrar = is_root.then_some(REGISTRAR);
    for service in STATIC.into_iter().chain(registrar) {
        make_service(&scandir.join(service), &sealed(service))?;
        prepare_static_service(&scandir.join(service), owner)?;
    }
    Ok(())
}

/// A service whose scripts are those of the image.
fn make_service(directory: &Path, sealed: &Path) -> hermes_fs::Result<()> {
    hermes_fs::create_dir(directory, 0o755)?;
    for entry in hermes_fs::read_dir(sealed)? {
        hermes_fs::symlink(&entry.path, &directory.join(&entry.name))?;
    }
    Ok(())
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
