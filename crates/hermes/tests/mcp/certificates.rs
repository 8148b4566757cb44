//! Servers at encrypted addresses: whose certificate is trusted, and which one of ours is shown.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::Desk;

/// Makes `ca.pem`, `other.pem`, and certificates of a server and a client that the first has signed.
fn make_certificates(directory: &Path) {
    let openssl = |words: &str| {
        let output = Command::new("openssl")
            .args(words.split_whitespace())
            .current_dir(directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "openssl {words}: {output:?}");
    };
    std::fs::write(directory.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for name in ["ca", "other"] {
        openssl(&format!(
            "req -x509 {key} -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}"
        ));
    }
    for name in ["server", "client"] {
        openssl(&format!(
            "req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"
        ));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
             -extfile names -out {name}.pem"
        ));
    }
}

/// The server, until it is dropped.
struct Served {
    process: Child,
    port: u16,
}

impl Served {
    fn start(directory: &Path) -> Self {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/programs/https_server.py");
        let mut process = Command::new("python3")
            .arg(program)
            .arg(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            process,
            port: line.trim().parse().unwrap(),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// What `mcp test` says about the server under these settings.
fn tested(desk: &Desk, port: u16, settings: &Value) -> Value {
    let mut server = settings.clone();
    server["url"] = json!(format!("https://127.0.0.1:{port}/mcp"));
    server["connect_timeout"] = json!(10);
    desk.settings(&format!("mcp_servers: {}\n", json!({"srv": server})));
    let run = desk.home.run(["mcp", "test", "srv", "--json"]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn a_server_of_an_own_authority_is_trusted_and_shown_our_certificate() {
    let directory = tempfile::tempdir().unwrap();
    make_certificates(directory.path());
    let served = Served::start(directory.path());
    let file = |name: &str| directory.path().join(name);
    let desk = Desk::new(&[], "");
    let both = [file("client.pem"), file("client.key")];
    for settings in [
        json!({"ssl_verify": file("ca.pem"), "client_cert": both[0], "client_key": both[1]}),
        json!({"ssl_verify": file("ca.pem"), "client_cert": both}),
        json!({"ssl_verify": false, "client_cert": both}),
    ] {
        let result = tested(&desk, served.port, &settings);
        assert_eq!(result["ok"], true, "{result}");
        assert_eq!(desk.call("who", json!({})), json!({"result": "client"}));
    }
}

#[test]
fn certificates_that_do_not_fit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    make_certificates(directory.path());
    let served = Served::start(directory.path());
    let file = |name: &str| directory.path().join(name);
    std::fs::write(file("text.pem"), "no certificate\n").unwrap();
    let desk = Desk::new(&[], "");
    let both = json!([file("client.pem"), file("client.key")]);
    for (settings, expected) in [
        // Nobody vouches for the server.
        (json!({"client_cert": both}), "cannot be reached"),
        (
            json!({"ssl_verify": file("other.pem"), "client_cert": both}),
            "cannot be reached",
        ),
        // The server does not get to see who calls.
        (json!({"ssl_verify": file("ca.pem")}), "cannot be reached"),
        (
            json!({"ssl_verify": file("none.pem"), "client_cert": both}),
            "none.pem cannot be used",
        ),
        (
            json!({"ssl_verify": file("text.pem"), "client_cert": both}),
            "contains no PEM certificates",
        ),
        (
            json!({"ssl_verify": file("ca.pem"), "client_cert": file("client.pem")}),
            "is no certificate with a key",
        ),
    ] {
        let result = tested(&desk, served.port, &settings);
        assert_eq!(result["ok"], false, "{settings}");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(expected), "{settings}: {error}");
    }
}
