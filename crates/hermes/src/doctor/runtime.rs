//! The program itself.

use super::facts::install_method;
use super::row::Row;
use crate::context::Context;

const SECTION: &str = "Runtime";

/// Where systems keep the certificates of authorities.
const CA_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    rows.push(Row::ok(
        SECTION,
        "version",
        format!(
            "hermes {}, installed as {}",
            crate::commands::version::SHORT,
            install_method(context)
        ),
    ));
    match std::env::current_exe() {
        Ok(program) => rows.push(Row::ok(SECTION, "program", context.display(&program))),
        Err(error) => rows.push(Row::problem(
            SECTION,
            "program",
            format!("cannot find itself: {error}"),
        )),
    }
    if let Some(managed) = context.home_policy().managed {
        rows.push(Row::warning(
            SECTION,
            "managed",
            format!("settings belong to {}", managed.name()),
        ));
    }
    let bundle = CA_BUNDLES
        .iter()
        .find(|path| std::path::Path::new(path).is_file());
    rows.push(match bundle {
        Some(path) => Row::ok(
            SECTION,
            "ca_certificates",
            format!("CA certificates: {path}"),
        ),
        None => Row::warning(SECTION, "ca_certificates", "no CA certificates found")
            .hint("install the package ca-certificates"),
    });
}
