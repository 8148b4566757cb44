//! Which certificates a login trusts: those of the system, those of a file, or any.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::fresh;

/// Makes `ca.pem`, `other.pem`, and a certificate for this machine that the first has signed.
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
    openssl(&format!(
        "req {key} -keyout server.key -out server.csr -subj /CN=server"
    ));
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
         -extfile names -out server.pem",
    );
}

/// A request as it came.
fn request(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.to_ascii_lowercase();
    let length = length
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(0, |value| value.trim().parse().unwrap());
    let mut whole = head.into_bytes();
    let start = whole.len();
    whole.resize(start + length, 0);
    reader.read_exact(&mut whole[start..]).ok()?;
    Some(whole)
}

/// An encrypted address for a plain server of this machine.
fn encrypted(plain: &str, directory: &Path) -> String {
    drop(rustls::crypto::ring::default_provider().install_default());
    let chain = CertificateDer::from_pem_file(directory.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(directory.join("server.key")).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key);
    let config = Arc::new(config.unwrap());
    let plain = plain.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            // Those who do not trust the certificate hang up during the handshake.
            let Some(asked) = request(&mut stream) else {
                continue;
            };
            let mut server = TcpStream::connect(&plain).unwrap();
            server.write_all(&asked).unwrap();
            server.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            server.read_to_end(&mut answer).unwrap();
            drop(stream.write_all(&answer));
            stream.conn.send_close_notify();
            drop(stream.flush());
        }
    });
    address
}

#[test]
fn login_trusts_the_certificates_it_is_told_to() {
    let directory = tempfile::tempdir().unwrap();
    make_certificates(directory.path());
    let device = json!({
        "device_code": "d", "user_code": "ABCD-EFGH", "expires_in": 3, "interval": 0,
        "verification_uri": "https://portal.example/device",
    });
    let token = json!({
        "access_token": "access-canary", "refresh_token": "r", "expires_in": 3600,
        "token_type": "Bearer",
    });
    let portal = ModelServer::always(ScriptedAnswer::text("x"))
        .with(
            "/api/oauth/device/code",
            ScriptedAnswer::status(200, &device),
        )
        .with("/api/oauth/token", ScriptedAnswer::status(200, &token));
    let address = encrypted(&portal.root(), directory.path());
    let file = |name: &str| -> PathBuf { directory.path().join(name) };
    let (ca, other) = (file("ca.pem"), file("other.pem"));
    let log_in = |flags: &[&str]| {
        let home = fresh();
        let words = [
            "auth",
            "add",
            "nous",
            "--no-browser",
            "--portal-url",
            &address,
        ];
        let ended = home.run(words.iter().chain(flags).copied().collect::<Vec<_>>());
        assert_eq!(home.has("auth.json"), ended.code == Some(0), "{ended}");
        ended
    };
    log_in(&[]).exits(3).says_part("certificate");
    log_in(&["--ca-bundle", other.to_str().unwrap()])
        .exits(3)
        .says_part("certificate");
    log_in(&["--ca-bundle", "/nonexistent/ca.pem"])
        .exits(3)
        .says_part("/nonexistent/ca.pem");
    log_in(&["--ca-bundle", ca.to_str().unwrap()])
        .succeeds()
        .never_shows("access-canary");
    log_in(&["--insecure"]).succeeds();
}
