//! Encrypted connections and proxies, with real ones on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use hermes_providers::ErrorClass;
use pretty_assertions::assert_eq;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::bench::{Bench, ask, question};

/// A name that no resolver knows.
const HOST: &str = "llm.hermes-test.invalid";
const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Certificates for `HOST` and this machine, and who signed them.
struct Certificates {
    directory: tempfile::TempDir,
}

impl Certificates {
    fn make() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let openssl = |words: &str| {
            let output = Command::new("openssl")
                .args(words.split_whitespace())
                .current_dir(directory.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "openssl {words}: {output:?}");
        };
        let names = format!("subjectAltName=DNS:{HOST},IP:127.0.0.1\n");
        std::fs::write(directory.path().join("names"), names).unwrap();
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
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn server(&self) -> Arc<ServerConfig> {
        drop(rustls::crypto::ring::default_provider().install_default());
        let chain = CertificateDer::from_pem_file(self.path("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.path("server.key")).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key);
        Arc::new(config.unwrap())
    }
}

/// Reads a request: its first line and its headers.
fn request(stream: &mut impl Read) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(head)
}

/// A server that answers every question with `ok`; gives its port.
fn encrypted_server(certificates: &Certificates) -> u16 {
    let config = certificates.server();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            // Strangers hang up during the handshake.
            if request(&mut stream).is_some() {
                drop(stream.write_all(ANSWER.as_bytes()));
                stream.conn.send_close_notify();
                drop(stream.flush());
            }
        }
    });
    port
}

/// A proxy that leads everywhere to `port` of this machine, and keeps the first lines it reads.
fn proxy(port: u16) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let Some(head) = request(&mut stream) else {
                continue;
            };
            let line = head.lines().next().unwrap_or_default().to_owned();
            let is_tunnel = line.starts_with("CONNECT ");
            log.lock().unwrap().push(line);
            if is_tunnel {
                tunnel(stream, port);
            } else {
                drop(stream.write_all(ANSWER.as_bytes()));
            }
        }
    });
    (address, seen)
}

fn tunnel(mut client: TcpStream, port: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || drop(std::io::copy(&mut from_client, &mut to_server)));
    std::thread::spawn(move || drop(std::io::copy(&mut server, &mut client)));
}

fn bench(url: &str) -> Bench {
    Bench::custom(url, "  context_length: 9000\n")
}

fn trusting(bench: Bench, variable: &str, file: &Path) -> Bench {
    bench.env(variable, file.to_str().unwrap())
}

#[test]
fn ca_bundle_variable_replaces_the_trusted_certificates() {
    let certificates = Certificates::make();
    let url = format!("https://127.0.0.1:{}/v1", encrypted_server(&certificates));
    for variable in ["HERMES_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
        let bench = trusting(bench(&url), variable, &certificates.path("ca.pem"));
        let answer = ask(&*bench.open(), &question("hi")).unwrap();
        assert_eq!(answer.text, "ok", "{variable}");
    }
    // The first of them wins.
    let both = trusting(
        bench(&url),
        "HERMES_CA_BUNDLE",
        &certificates.path("ca.pem"),
    );
    let both = trusting(both, "SSL_CERT_FILE", &certificates.path("other.pem"));
    assert_eq!(ask(&*both.open(), &question("hi")).unwrap().text, "ok");
}

#[test]
fn untrusted_certificate_is_refused_in_one_line_without_retry() {
    let certificates = Certificates::make();
    let url = format!("https://127.0.0.1:{}/v1", encrypted_server(&certificates));
    let wrong = trusting(
        bench(&url),
        "HERMES_CA_BUNDLE",
        &certificates.path("other.pem"),
    );
    let nobody = bench(&url);
    for bench in [wrong, nobody] {
        let error = ask(&*bench.open(), &question("hi")).unwrap_err();
        assert_eq!((error.class, error.attempts), (ErrorClass::Timeout, 1));
        let line = error.to_string();
        assert!(line.contains("certificate"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(error.hint().unwrap().contains("HERMES_CA_BUNDLE"));
    }
    std::fs::write(certificates.path("empty"), "nothing").unwrap();
    let broken = trusting(bench(&url), "HERMES_CA_BUNDLE", &certificates.path("empty"));
    let error = ask(&*broken.open(), &question("hi")).unwrap_err();
    assert!(
        error.to_string().contains("holds no PEM certificates"),
        "{error}"
    );
}

#[test]
fn encrypted_and_plain_requests_go_through_their_proxies() {
    let certificates = Certificates::make();
    let (address, seen) = proxy(encrypted_server(&certificates));
    let url = format!("https://{HOST}/v1");
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let bench = trusting(
            bench(&url),
            "HERMES_CA_BUNDLE",
            &certificates.path("ca.pem"),
        );
        let provider = bench.env(variable, &address).open();
        assert_eq!(
            ask(&*provider, &question("hi")).unwrap().text,
            "ok",
            "{variable}"
        );
    }
    let tunnel = format!("CONNECT {HOST}:443 HTTP/1.1");
    assert_eq!(
        *seen.lock().unwrap(),
        [tunnel.clone(), tunnel.clone(), tunnel]
    );
    seen.lock().unwrap().clear();
    let plain = bench(&format!("http://{HOST}/v1")).env("HTTP_PROXY", &address);
    assert_eq!(ask(&*plain.open(), &question("hi")).unwrap().text, "ok");
    let line = format!("POST http://{HOST}/v1/chat/completions HTTP/1.1");
    assert_eq!(*seen.lock().unwrap(), [line]);
}

#[test]
fn no_proxy_hosts_are_reached_directly() {
    let certificates = Certificates::make();
    let port = encrypted_server(&certificates);
    let (address, seen) = proxy(port);
    // This machine, always.
    let here = bench(&format!("https://127.0.0.1:{port}/v1"));
    let here = trusting(here, "HERMES_CA_BUNDLE", &certificates.path("ca.pem"));
    let here = here.env("HTTPS_PROXY", &address);
    assert_eq!(ask(&*here.open(), &question("hi")).unwrap().text, "ok");
    // Those that are named; nobody knows where this one is.
    let named = Bench::custom(
        &format!("http://{HOST}/v1"),
        "  context_length: 9000\nagent: {api_max_retries: 1}\n",
    );
    let named = named
        .env("HTTP_PROXY", &address)
        .env("NO_PROXY", ".example.org,.hermes-test.invalid");
    let error = ask(&*named.open(), &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);
    assert_eq!(*seen.lock().unwrap(), [""; 0]);
}
