//! Finishing an import that was interrupted, before anything looks at the home.
//!
//! Costs one look at the root when there is nothing to finish. Must run before the profile is
//! selected: the profile may be one that the import brings.

use hermes_config::Environment;
use hermes_home::backup::recover;
use hermes_home::{Location, SystemFacts};

use crate::error::Result;
use crate::ui::Printer;

/// Commands that look at no home.
const HOMELESS: [&str; 2] = ["completion", "version"];

/// Rolls an interrupted import forward and says so, unless the command must not change anything.
pub(crate) fn finish_interrupted_import(
    env: &Environment,
    system: &SystemFacts,
    printer: Printer,
    args: &[std::ffi::OsString],
) -> Result<()> {
    match hermes_home::command_of(args) {
        None => return Ok(()),
        Some(command) if HOMELESS.contains(&command) => return Ok(()),
        // A service of root must not write into a home that is somebody else's.
        Some("internal") if system.uid == 0 => return Ok(()),
        // It reports what it finds; repairing needs to be asked for.
        Some("doctor") if !args.iter().any(|arg| arg == "--fix") => return Ok(()),
        Some(_) => {}
    }
    // A home that cannot be located is told when the profile is selected.
    let Ok(location) = Location::resolve(env, system) else {
        return Ok(());
    };
    let Some(recovered) = recover(&location.root)? else {
        return Ok(());
    };
    printer.note(format!(
        "note: finished an interrupted import into {} ({} files)",
        location.display(&location.root),
        recovered.restored
    ))?;
    for skipped in &recovered.skipped {
        let path = skipped.path.display();
        printer.warn(format!("skipped {path}: {}", skipped.reason))?;
    }
    Ok(())
}
