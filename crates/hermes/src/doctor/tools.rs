//! Programs that tools of the agent use.

use std::ffi::OsStr;

use hermes_config::vars;
use hermes_proc::find_on_path;

use super::row::Row;
use crate::context::Context;

const SECTION: &str = "External Tools";

/// Programs that are good to have: name, and what goes without it.
const PROGRAMS: [(&str, &str); 3] = [
    ("git", "needed for distributions and worktrees"),
    ("rg", "file search is slower without it"),
    ("node", "needed by some MCP servers"),
];

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let path = context.env.os(&vars::PATH);
    for (name, without) in PROGRAMS {
        rows.push(match find_on_path(OsStr::new(name), path) {
            Some(found) => Row::ok(SECTION, name, format!("{name} ({})", found.display())),
            None => Row::warning(SECTION, name, format!("{name} was not found")).hint(without),
        });
    }
}
