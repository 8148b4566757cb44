//! An image on the clipboard of the desktop, by the programs that desktops have for it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};

use crate::context::Context;
use crate::error::{CommandError, Result};

/// Programs that print an image of the clipboard: Wayland, X11, macOS.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    (
        "xclip",
        &["-selection", "clipboard", "-target", "image/png", "-o"],
    ),
    ("pngpaste", &["-"]),
];
/// A program that hangs is not waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Largest image that is taken.
const LARGEST: usize = 20 * 1024 * 1024;
/// How every file of the kind begins.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Saves the image on the clipboard; `None` if there is none.
pub(super) fn save_image(context: &Context) -> Result<Option<PathBuf>> {
    let path = context.env.os(&vars::PATH);
    let found: Vec<_> = PROGRAMS
        .iter()
        .filter_map(|(name, args)| Some((find_on_path(OsStr::new(name), path)?, args)))
        .collect();
    if found.is_empty() {
        return Err(
            CommandError::environment("no program that reads the clipboard was found")
                .hint("install wl-clipboard or xclip, or name a file: /image FILE"),
        );
    }
    for (program, args) in found {
        let plan = context.environment().helper_plan();
        let child = ChildSpec::new(&program, args.iter().copied(), plan);
        let printed = match child.run_captured(LIMIT, LARGEST) {
            Ok(printed) => printed,
            Err(error) => {
                tracing::debug!(%error, "the clipboard was not read");
                continue;
            }
        };
        if printed.truncated {
            return Err(
                CommandError::user("the image on the clipboard is too large")
                    .hint("the largest is 20 MB"),
            );
        }
        if printed.status.success() && printed.stdout.starts_with(PNG) {
            let directory = context.location.home.join("images");
            hermes_fs::create_dir_all(&directory, 0o700)?;
            let file = directory.join(format!("clip_{}.png", hermes_fs::random_hex(8)));
            hermes_fs::write_atomic(&file, &printed.stdout, 0o600)?;
            return Ok(Some(file));
        }
    }
    Ok(None)
}
