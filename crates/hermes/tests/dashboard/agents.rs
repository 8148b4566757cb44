//! Commands of agents meet the dashboard of this machine, whose page has the token. (Issue 12.)

use hermes_testkit::{ModelServer, ScriptedAnswer, TestHome};
use serde_json::{Value, json};

use super::server::{Server, TOKEN, home};

/// Puts its socket away before anybody can look, and takes it out again for the answer.
const HIDES: &str = r#"
import array, os, socket, sys, time
port = int(sys.argv[1])
end = socket.create_connection(("127.0.0.1", port))
near, far = socket.socketpair()
held = array.array("i", [end.fileno()])
near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
end.send(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port)
end.close()
time.sleep(1)
_, data, _, _ = far.recvmsg(1, socket.CMSG_SPACE(4))
held.frombytes(data[0][2])
end = socket.socket(fileno=held[-1])
print(end.recv(100).split()[1].decode())
"#;

/// Each prints the status that it was answered with.
fn attempts(port: u16) -> Vec<String> {
    let url = format!("http://127.0.0.1:{port}");
    let curl = "$(command -v curl) -s -o /dev/null -w '%{http_code}\\n'";
    let page = format!("{curl} {url}/");
    let forged = "$(( ((($(ulimit -x) >> 32) - 1) << 32) | 0xffffffff ))";
    vec![
        page.clone(),
        format!("{curl} -H 'Accept: text/html' {url}/board"),
        format!("{curl} -H 'X-Hermes-Session-Token: {TOKEN}' {url}/api/sessions"),
        format!("{curl} -X PUT -d '{{}}' -H 'X-Hermes-Session-Token: {TOKEN}' {url}/api/config"),
        format!(
            "{curl} '{url}/api/pty?token={TOKEN}' -H 'Connection: Upgrade' -H 'Upgrade: websocket'"
        ),
        format!("{curl} -H 'Host: localhost' 'http://[::ffff:127.0.0.1]:{port}/'"),
        format!("env -i {page}"),
        format!("HERMES_AGENT_SHELL= setsid -w {page}"),
        format!("env -i bash -c \"ulimit -x 0; setsid -w {page}\""),
        format!("env -i bash -c \"ulimit -x {forged}; setsid -w {page}\""),
        // Its parent has ended when it asks, and it is nobody's session but its own.
        format!(
            "cd $(mktemp -d); mkfifo done; (env -i setsid bash -c \"while [ ! -e $PWD/go ]; do sleep \
             0.05; done; {page} >$PWD/done\" &) >/dev/null; touch go; cat done; cd - >/dev/null"
        ),
        format!(
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; printf \"GET / HTTP/1.0\\r\\nHost: \
             localhost\\r\\n\\r\\n\" >&3; head -1 <&3 | cut -d\" \" -f2'"
        ),
        format!("python3 ./hides.py {port}"),
    ]
}

/// What an agent's command prints that makes all attempts.
fn tried(home: &TestHome, port: u16, settings: &str) -> Vec<String> {
    let server = ModelServer::start_with(move |question| {
        let messages = question.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            return ScriptedAnswer::text("the end");
        }
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "bash ./attempts.sh 2>/dev/null"}),
        )
    });
    let url = server.base_url();
    home.put(
        "config.yaml",
        format!(
            "model: {{default: m, provider: custom, base_url: '{url}', context_length: 200000}}\n\
             auxiliary: {{title_generation: {{enabled: false}}}}\n{settings}"
        ),
    );
    let place = home.user_home();
    std::fs::write(place.join("hides.py"), HIDES).unwrap();
    std::fs::write(place.join("attempts.sh"), attempts(port).join("\n")).unwrap();
    home.run(["chat", "-Q", "-q", "go"]).succeeds();
    let questions = server.questions();
    let messages = questions.last().unwrap().body["messages"].clone();
    let said = messages.as_array().unwrap().last().unwrap()["content"].clone();
    let said = said.as_str().unwrap();
    let result: Value = serde_json::from_str(said).unwrap_or_else(|_| panic!("{said}"));
    let output = result["output"].as_str().unwrap_or(said);
    output.lines().map(str::to_owned).collect()
}

#[test]
fn no_command_of_an_agent_reads_the_page_or_uses_its_token() {
    for settings in [
        "approvals: {mode: off}\nterminal: {sandbox: off}\n",
        "terminal: {sandbox: on}\n",
    ] {
        let home = home();
        let server = Server::local(&home);
        let answers = tried(&home, server.port, settings);
        let expected = vec!["403"; attempts(server.port).len()];
        assert_eq!(answers, expected, "{settings}");
        // A person is answered beside it, and was not shut out.
        let page = server.request("GET", "/").send();
        assert!(page.status == 200 && page.body.contains(TOKEN));
    }
}

#[test]
fn commands_that_a_person_runs_through_hermes_are_told_why() {
    let home = home();
    let server = Server::local(&home);
    let url = format!("http://127.0.0.1:{}", server.port);
    for sandbox in ["on", "off"] {
        let run = |command: String| home.run(["exec", "--sandbox", sandbox, "--", &command]);
        let page = run(format!("curl -s {url}/"));
        page.succeeds().prints_part("the dashboard is for people");
        assert!(!page.stdout.contains(TOKEN), "{page}");
        let api = run(format!(
            "curl -s -H 'X-Hermes-Session-Token: {TOKEN}' {url}/api/sessions"
        ));
        let said: Value = serde_json::from_str(&api.stdout).unwrap();
        assert_eq!(said["reason"], "agent", "{api}");
        // What anybody may know.
        let status = run(format!(
            "curl -s -o /dev/null -w '%{{http_code}}' {url}/api/status"
        ));
        assert_eq!(status.stdout.trim(), "200", "{status}");
    }
}

#[test]
fn programs_of_people_are_answered_however_they_were_started() {
    let home = home();
    let server = Server::local(&home);
    let url = format!("http://127.0.0.1:{}/", server.port);
    for words in [
        vec!["curl"],
        vec!["env", "-i", "curl"],
        vec!["setsid", "-w", "curl"],
        vec!["sh", "-c", "curl \"$@\" & wait", "sh"],
    ] {
        let mut call = std::process::Command::new(words[0]);
        let call = call.args(&words[1..]).args(["-s", &url]);
        let output = call.output().unwrap();
        let page = String::from_utf8_lossy(&output.stdout);
        assert!(page.contains(TOKEN), "{words:?}: {page}");
    }
}
