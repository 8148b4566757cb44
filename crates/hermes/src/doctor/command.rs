//! Whether people can call the program.

use std::ffi::OsStr;

use hermes_config::vars;
use hermes_proc::find_on_path;

use super::row::Row;
use crate::context::Context;

const SECTION: &str = "Command Installation";

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let found = find_on_path(OsStr::new("hermes"), context.env.os(&vars::PATH));
    let own = std::env::current_exe()
        .and_then(|program| program.canonicalize())
        .ok();
    let Some(found) = found else {
        rows.push(
            Row::warning(SECTION, "on_path", "hermes is not on PATH")
                .hint("link the program into a directory that is, such as ~/.local/bin"),
        );
        return;
    };
    let same = hermes_fs::canonicalize(&found).ok() == own;
    rows.push(if same {
        Row::ok(
            SECTION,
            "on_path",
            format!(
                "hermes on PATH is this program ({})",
                context.display(&found)
            ),
        )
    } else {
        Row::warning(
            SECTION,
            "on_path",
            format!(
                "hermes on PATH is another program: {}",
                context.display(&found)
            ),
        )
        .hint("both use the same home; make sure you call the one you mean")
    });
}
