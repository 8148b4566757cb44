//! The program itself: version, place, certificates, and whether people can call it.

use std::ffi::OsStr;
use std::path::Path;

use hermes_config::vars;
use hermes_proc::find_on_path;

use super::row::Report;
use crate::context::Context;
use crate::facts::{VERSION, install_method};

/// Where systems keep the certificates of authorities.
const CA_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Programs that tools of the agent use: name, and what goes without it.
const PROGRAMS: [(&str, &str); 3] = [
    ("git", "needed for distributions and worktrees"),
    ("rg", "file search is slower without it"),
    ("node", "needed by some MCP servers"),
];

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Runtime";
    let method = install_method(context);
    report.ok(
        "version",
        format!("hermes {VERSION}, installed as {method}"),
    );
    match std::env::current_exe() {
        Ok(program) => report.ok("program", context.display(&program)),
        Err(error) => {
            report.problem(
                "program",
                format!("could not find its own executable: {error}"),
            );
        }
    }
    if let Some(managed) = context.home_policy().managed {
        report.warning(
            "managed",
            format!("settings are managed by {}", managed.name()),
        );
    }
    match CA_BUNDLES.iter().find(|path| Path::new(path).is_file()) {
        Some(path) => report.ok("ca_certificates", format!("CA certificates: {path}")),
        None => {
            report
                .warning("ca_certificates", "no CA certificates found")
                .hint("install the package ca-certificates");
        }
    }
}

/// Whether people can call the program.
pub(super) fn check_command(context: &Context, report: &mut Report) {
    report.section = "Command Installation";
    let own = std::env::current_exe().and_then(|program| program.canonicalize());
    let Some(found) = find_on_path(OsStr::new("hermes"), context.env.os(&vars::PATH)) else {
        report
            .warning("on_path", "hermes is not on PATH")
            .hint("link the program into a directory on PATH, such as ~/.local/bin");
        return;
    };
    let shown = context.display(&found);
    if hermes_fs::canonicalize(&found).ok() == own.ok() {
        report.ok(
            "on_path",
            format!("hermes on PATH is this program ({shown})"),
        );
    } else {
        report
            .warning(
                "on_path",
                format!("hermes on PATH is a different program: {shown}"),
            )
            .hint("both use the same home; make sure you run the one you intend to");
    }
}

/// Programs that tools of the agent use.
pub(super) fn check_tools(context: &Context, report: &mut Report) {
    report.section = "External Tools";
    for (name, without) in PROGRAMS {
        match find_on_path(OsStr::new(name), context.env.os(&vars::PATH)) {
            Some(found) => report.ok(name, format!("{name} ({})", found.display())),
            None => {
                report
                    .warning(name, format!("{name} was not found"))
                    .hint(without);
            }
        }
    }
}
