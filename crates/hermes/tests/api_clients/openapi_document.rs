//! Schemathesis reads `/openapi.json` and sends whatever it allows, and whatever it does not.

use std::process::Command;

use crate::packages;
use crate::served::{KEY, Served, succeeds};

/// What must hold of every answer. Who has no key is put off after a while, which the tester does not
/// expect of a server, and answers to other methods are in no document.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";
/// Cases per endpoint and phase.
const CASES: &str = "12";
/// Seconds at most.
const MOST_SECONDS: &str = "60";

#[test]
fn the_server_does_what_its_document_says() {
    let served = Served::new();
    let mut command = Command::new(packages::schemathesis().program("schemathesis"));
    command
        .arg("run")
        .arg(format!("{}/openapi.json", served.root()))
        .arg("--header")
        .arg(format!("Authorization: Bearer {KEY}"))
        .args(["--checks", CHECKS])
        .args(["--max-examples", CASES, "--max-time", MOST_SECONDS])
        // The same cases every time.
        .args(["--seed", "14"])
        .args(["--request-timeout", "20"])
        .current_dir(served.home.outside(""));
    succeeds(&served, &mut command);
}
