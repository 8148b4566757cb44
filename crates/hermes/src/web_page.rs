//! Pages of others, in the browser of the person.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};

use crate::context::Context;

/// How long the program that opens a browser may take.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// Opens a page in the browser where there is a desktop. That it cannot is no failure: the person has
/// the address.
pub(crate) fn open_page(context: &Context, page: &str) {
    let has_desktop = cfg!(target_os = "macos")
        || context.env.is_set(&vars::DISPLAY)
        || context.env.is_set(&vars::WAYLAND_DISPLAY);
    if !has_desktop || !(page.starts_with("https://") || page.starts_with("http://")) {
        return;
    }
    let path = context.env.os(&vars::PATH);
    let mut programs = ["xdg-open", "open"].into_iter();
    let Some(program) = programs.find_map(|name| find_on_path(OsStr::new(name), path)) else {
        return;
    };
    let plan = context.environment().helper_plan();
    let child = ChildSpec::new(&program, [OsString::from(page)], plan);
    // Some openers last as long as the browser; nobody waits for them.
    std::thread::spawn(move || drop(child.run_captured(OPEN_LIMIT, 1024)));
}
