//! The same servers behind an address.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::Desk;
use crate::packages::everything;

/// `server-everything` on a port of its own, until it is dropped.
struct Served {
    process: Child,
    port: u16,
}

impl Served {
    fn start(kind: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut served = Self {
            process: Self::process(kind, port),
            port,
        };
        served.wait();
        served
    }

    fn process(kind: &str, port: u16) -> Child {
        let (node, program) = everything();
        Command::new(node.node())
            .arg(program)
            .arg(kind)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn wait(&mut self) {
        let port = self.port;
        eventually("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    fn end(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn over_streamable_http() {
    let mut served = Served::start("streamableHttp");
    let url = format!("http://127.0.0.1:{}/mcp", served.port);
    let desk = Desk::new(&json!({"url": url, "connect_timeout": 20}));
    assert_eq!(
        desk.call("echo", json!({"message": "hallo"})),
        json!({"result": "Echo: hallo"})
    );
    served.end();
    let gone = desk.call("echo", json!({"message": "hallo"}));
    assert!(
        gone["error"]
            .as_str()
            .unwrap()
            .contains("cannot be reached"),
        "{gone}"
    );
    served.process = Served::process("streamableHttp", served.port);
    served.wait();
    assert_eq!(
        desk.call("echo", json!({"message": "back"})),
        json!({"result": "Echo: back"})
    );
}

#[test]
fn over_the_older_transport() {
    let served = Served::start("sse");
    let url = format!("http://127.0.0.1:{}/sse", served.port);
    let desk = Desk::new(&json!({"url": url, "transport": "sse", "connect_timeout": 20}));
    assert_eq!(
        desk.call("echo", json!({"message": "hallo"})),
        json!({"result": "Echo: hallo"})
    );
}
