//! What the user of the gateways may do with the supervisors of a container: control them, and
//! nothing else.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::manager::ManagerError;
use crate::s6::slot_build::{Owner, add_control};

/// Makes the scan directory ready before `s6-svscan` starts in it. Root's stays closed to others, who
/// may have it looked at again.
pub fn prepare_scan_directory(path: &Path, owner: &Owner) -> Result<(), ManagerError> {
    hermes_fs::create_dir_all(path, 0o755)?;
    let own = path.join(".s6-svscan");
    hermes_fs::create_dir_all(&own, 0o700)?;
    let control = own.join("control");
    let lock = own.join("lock");
    if !hermes_fs::exists_no_follow(&control) {
        hermes_fs::create_fifo(&control, 0o600)?;
    }
    if !hermes_fs::exists_no_follow(&lock) {
        hermes_fs::touch(&lock, 0o600)?;
    }
    if let Owner::Root(_) = owner {
        if hermes_fs::metadata(path)?.uid() != 0 {
            hermes_fs::chown(path, 0, 0)?;
        }
        hermes_fs::set_mode(path, 0o755)?;
        owner.share(&own, 0o710)?;
        owner.share(&control, 0o660)?;
        owner.share(&lock, 0o660)?;
    }
    Ok(())
}

/// Lets the user of the gateways control a service of the image that is not supervised yet, and its
/// logger where it has one.
pub fn prepare_static_service(service: &Path, owner: &Owner) -> Result<(), ManagerError> {
    let logger = service.join("log");
    for directory in [Some(service), logger.is_dir().then_some(logger.as_path())] {
        let Some(directory) = directory else { continue };
        // Of an earlier run of the container.
        hermes_fs::remove_tree(&directory.join("supervise"))?;
        hermes_fs::remove_tree(&directory.join("event"))?;
        add_control(directory, owner)?;
    }
    Ok(())
}
