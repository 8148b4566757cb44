//! Schemathesis reads `/api/openapi.json` and sends whatever it allows, and whatever it does not.

use std::process::Command;

use crate::packages;
use crate::server::{Server, TOKEN, home};

/// What must hold of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";
/// Cases per endpoint and phase.
const CASES: &str = "8";
/// Seconds at most.
const MOST_SECONDS: &str = "60";

#[test]
fn the_dashboard_does_what_its_document_says() {
    let home = home();
    home.hermes(["kanban", "create", "A card"]).run().succeeds();
    let server = Server::local(&home);
    let output = Command::new(packages::schemathesis().program("schemathesis"))
        .arg("run")
        .arg(format!("http://127.0.0.1:{}/api/openapi.json", server.port))
        .arg("--header")
        .arg(format!("X-Hermes-Session-Token: {TOKEN}"))
        .args(["--checks", CHECKS])
        .args(["--max-examples", CASES, "--max-time", MOST_SECONDS])
        // Streams go on, and actions of the gateway and the dispatcher start processes.
        .args(["--exclude-path-regex", STREAMS_AND_ACTIONS])
        // The same cases every time.
        .args(["--seed", "18", "--request-timeout", "20"])
        .current_dir(home.outside(""))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(server.get("/api/sessions")["total"].as_i64(), Some(0));
}

const STREAMS_AND_ACTIONS: &str =
    "/events|/api/pty|/api/gateway/(re)?start|/api/gateway/stop|/api/hermes/update|/dispatch";
