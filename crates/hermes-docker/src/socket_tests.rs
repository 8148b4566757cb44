#![allow(clippy::disallowed_methods, reason = "tests access files directly")]

use std::os::unix::net::UnixListener;

use hermes_proc::SpawnClass;
use pretty_assertions::assert_eq;

use super::*;

/// A daemon that gives one answer to each of its callers and notes the first line they say.
struct Daemon {
    dir: tempfile::TempDir,
    worker: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Daemon {
    fn answering(answers: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("socket")).unwrap();
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let worker = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") {
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let request = String::from_utf8(request).unwrap();
                asked.push(request.lines().next().unwrap().to_owned());
                // A caller that has seen enough closes its end.
                drop(stream.write_all(answer.as_bytes()));
            }
            asked
        });
        Self {
            dir,
            worker: Some(worker),
        }
    }

    fn socket(&self) -> EngineSocket {
        EngineSocket(self.dir.path().join("socket"))
    }

    fn asked(mut self) -> Vec<String> {
        self.worker.take().unwrap().join().unwrap()
    }
}

#[test]
fn the_daemon_its_images_and_our_container_are_looked_at() {
    let found = |body: &str| format!("HTTP/1.0 200 OK\r\n\r\n{body}");
    let missing = "HTTP/1.0 404 Not Found\r\n\r\n{}";
    let running = found(r#"{"State": {"Status": "running"}, "Mounts": []}"#);
    let daemon = Daemon::answering(&[
        &found(r#"{"Components": [{"Name": "Engine"}], "Version": "20.10.24"}"#),
        &found(r#"{"Components": [{"Name": "Podman Engine"}], "Version": "4.3.1"}"#),
        &found(r#"{"Config": {"Entrypoint": ["/init"]}}"#),
        missing,
        "HTTP/1.0 500 Oh\r\n\r\n{}",
        missing,
        &running,
        &running,
    ]);
    let socket = daemon.socket();
    assert_eq!(socket.version().as_deref(), Some("20.10.24"));
    assert_eq!(socket.version(), None, "it does not speak for Podman");
    let init = serde_json::json!(["/init"]);
    assert_eq!(socket.entry_point("a/b:c"), Some(Sought::Found(init)));
    assert_eq!(socket.entry_point("x"), Some(Sought::Missing));
    assert_eq!(socket.entry_point("x"), None, "no answer is not an absence");
    assert_eq!(socket.own_container("vm"), Some(Sought::Missing));
    let Some(Sought::Found(ours)) = socket.own_container("vm") else {
        panic!("it is there");
    };
    assert_eq!(ours["Mounts"], serde_json::json!([]));
    assert_eq!(daemon.asked()[2], "GET /images/a%2Fb%3Ac/json HTTP/1.0");
}

#[test]
fn lists_and_looks_are_read() {
    let daemon = Daemon::answering(&[
        "HTTP/1.0 200 OK\r\nContent-Type: \
         application/json\r\n\r\n[{\"Id\":\"abc\",\"State\":\"running\"}]\n",
        "HTTP/1.0 200 OK\r\n\r\n{\"Id\":\"abc\"}",
    ]);
    let socket = daemon.socket();
    let listed = socket.list(&[("hermes-agent", "1"), ("hermes-owner", "")], None);
    assert_eq!(listed, Some(vec![("abc".to_owned(), "running".to_owned())]));
    assert_eq!(socket.inspect("abc").unwrap()["Id"], "abc");
    assert_eq!(
        daemon.asked(),
        [
            "GET \
             /containers/json?all=1&filters=%7B%22label%22%3A%5B%22hermes-agent%3D1%22%2C%22hermes-owner%22%5D%7D \
             HTTP/1.0",
            "GET /containers/abc/json HTTP/1.0",
        ]
    );
}

#[test]
fn a_state_is_asked_for_and_removals_are_told_from_refusals() {
    let daemon = Daemon::answering(&[
        "HTTP/1.0 200 OK\r\n\r\n[]",
        "HTTP/1.0 204 No Content\r\n\r\n",
        "HTTP/1.0 409 Conflict\r\n\r\n{\"message\":\"cannot remove a running container\"}",
    ]);
    let socket = daemon.socket();
    assert_eq!(socket.list(&[("a", "")], Some("exited")), Some(vec![]));
    assert_eq!(socket.remove("abc", true, LIMIT), Some(Ok(())));
    let refused = socket.remove("abc", false, LIMIT).unwrap().unwrap_err();
    assert!(
        refused.to_string().contains("a running container"),
        "{refused}"
    );
    assert_eq!(socket.remove("a/b", false, LIMIT), None);
    assert_eq!(
        daemon.asked(),
        [
            "GET \
             /containers/json?all=1&filters=%7B%22label%22%3A%5B%22a%22%5D%2C%22status%22%3A%5B%22exited%22%5D%7D \
             HTTP/1.0",
            "DELETE /containers/abc?force=1 HTTP/1.0",
            "DELETE /containers/abc?force=0 HTTP/1.0",
        ]
    );
    let gone = EngineSocket("/nonexistent/socket".into());
    assert_eq!(gone.remove("abc", true, LIMIT), None);
}

#[test]
fn anything_odd_is_no_answer() {
    for odd in [
        "",
        "garbage",
        "HTTP/1.0 404 Not Found\r\n\r\n{\"message\":\"No such container: abc\"}",
        "HTTP/1.0 200 OK\r\n\r\nnot json",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}",
        "SSH-2.0-x\r\n\r\n{}",
    ] {
        let daemon = Daemon::answering(&[odd]);
        assert_eq!(daemon.socket().inspect("abc"), None, "{odd}");
    }
    for odd in [
        "HTTP/1.0 200 OK\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\n\r\n[{\"Id\":7}]",
    ] {
        let daemon = Daemon::answering(&[odd]);
        assert_eq!(daemon.socket().list(&[], None), None, "{odd}");
    }
    let endless = "x".repeat(MOST_ANSWER + 100_000);
    let daemon = Daemon::answering(&[&endless]);
    assert_eq!(daemon.socket().inspect("abc"), None);
    let gone = EngineSocket("/nonexistent/socket".into());
    assert_eq!(gone.inspect("abc"), None);
    for odd in ["", "a/b", "a?b", "a b", "../x"] {
        assert_eq!(gone.inspect(odd), None);
    }
}

#[test]
fn only_the_socket_that_the_program_would_use_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let _listener = UnixListener::bind(path("socket")).unwrap();
    std::fs::write(path("docker"), b"\x7fELF").unwrap();
    std::fs::write(path("podman"), b"\x7fELF").unwrap();
    let home = |name: &str, settings: Option<&str>| {
        std::fs::create_dir_all(path(name).join(".docker")).unwrap();
        if let Some(settings) = settings {
            std::fs::write(path(name).join(".docker/config.json"), settings).unwrap();
        }
        EnvPlan::empty(SpawnClass::Helper).with("HOME", path(name))
    };
    let used = |program: &str, plan: &EnvPlan| {
        EngineSocket::at(&path("socket"), &path(program), plan).is_some()
    };
    let plain = home("plain", None);
    assert!(used("docker", &plain));
    assert!(used(
        "docker",
        &home(
            "default",
            Some("{\"currentContext\": \"default\", \"auths\": {}}")
        )
    ));
    assert!(!used(
        "docker",
        &home("other", Some("{\"currentContext\": \"colima\"}"))
    ));
    assert!(!used("docker", &home("broken", Some("{"))));
    assert!(!used("podman", &plain));
    assert!(!used("missing", &plain));
    let other = path("other-socket");
    let _other = UnixListener::bind(&other).unwrap();
    let found = |plan: &EnvPlan| EngineSocket::at(&path("socket"), &path("docker"), plan);
    let address = format!("unix://{}", other.display());
    for home in ["plain", "other"] {
        let plan = EnvPlan::empty(SpawnClass::Helper).with("HOME", path(home));
        let named = found(&plan.with("DOCKER_HOST", &address));
        assert_eq!(
            named,
            Some(EngineSocket(other.clone())),
            "whatever the context"
        );
    }
    for address in [
        "tcp://10.0.0.1:2376",
        "ssh://u@h",
        "unix://",
        "unix:///nowhere",
    ] {
        assert_eq!(
            found(&plain.clone().with("DOCKER_HOST", address)),
            None,
            "{address}"
        );
    }
    for name in ["HERMES_DOCKER_BINARY", "DOCKER_HOST", "DOCKER_CONTEXT"] {
        assert!(!used("docker", &plain.clone().with(name, "x")), "{name}");
        assert!(used("docker", &plain.clone().with(name, "")), "{name}");
    }
    let elsewhere = plain.clone().with("DOCKER_CONFIG", path("other/.docker"));
    assert!(!used("docker", &elsewhere));
    assert!(
        EngineSocket::at(&path("docker"), &path("docker"), &plain).is_none(),
        "no socket"
    );
    std::fs::write(path("docker"), "#!/bin/sh\nexec podman \"$@\"\n").unwrap();
    assert!(!used("docker", &plain), "podman behind the name docker");
}
