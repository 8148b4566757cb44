//! Handlers of `hooks/<name>/HOOK.yaml`: told of what the gateway does once somebody has accepted them.

use std::os::unix::fs::PermissionsExt as _;

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::api_restart::Api;
use crate::post::{end, until};

/// A gateway with a Python handler and a program, which write down what they are told.
fn with_handlers() -> Api {
    let api = Api::playing("turns: [{text: Sunny.}]", "");
    let home = &api.post.home;
    let told = home.outside("told");
    home.put(
        "hooks/journal/HOOK.yaml",
        "name: journal\ndescription: writes\nevents: [gateway:startup, agent:start, agent:end, command:*]\n",
    );
    home.put(
        "hooks/journal/handler.py",
        format!(
            "import json\n\nasync def handle(event_type, context):\n    print('to the log')\n    \
             with open({}, 'a') as f:\n        f.write(json.dumps([event_type, context]) + '\\n')\n",
            json!(told)
        ),
    );
    home.put("hooks/steps/HOOK.yaml", "events: [agent:step]\n");
    let program = format!(
        "#!/bin/sh\nread -r line\necho \"[\\\"$1\\\", $line]\" >> {}\nexit 3\n",
        told.display()
    );
    home.put("hooks/steps/handler.sh", program);
    let path = home.path("hooks/steps/handler.sh");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.put("hooks/broken/HOOK.yaml", "events: [agent:start]\n");
    api
}

fn told(api: &Api) -> Vec<Value> {
    let path = api.post.home.outside("told");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn ask(api: &Api) {
    let body = json!({"model": "x", "messages": [{"role": "user", "content": "Weather?"}]});
    let headers = "Content-Type: application/json\r\n";
    let reply = api.send("POST", "/v1/chat/completions", headers, &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("Sunny."), "{}", reply.body);
}

#[test]
fn accepted_handlers_are_told_of_the_start_and_of_turns() {
    let api = with_handlers();
    let mut gateway = api.post.gateway(&["--accept-hooks"]);
    until("the start", || (told(&api).len() == 1).then_some(()));
    ask(&api);
    until("the turn", || (told(&api).len() == 4).then_some(()));
    let all = told(&api);
    let names: Vec<&str> = all.iter().filter_map(|one| one[0].as_str()).collect();
    assert_eq!(
        names,
        ["gateway:startup", "agent:start", "agent:step", "agent:end"]
    );
    assert_eq!(all[0][1]["platforms"], json!(["api_server"]));
    assert_eq!(all[1][1]["message"], "Weather?");
    assert_eq!(all[1][1]["platform"], "api_server");
    assert_eq!(all[2][1]["event_type"], "agent:step");
    assert_eq!(all[2][1]["context"]["iteration"], 1);
    assert_eq!(all[3][1]["response"], "Sunny.");
    end(&mut gateway, Signal::TERM);
    let home = &api.post.home;
    let listed = home.run(["hooks", "list", "--json"]).json();
    let accepted = listed["hooks"].as_array().unwrap();
    assert!(
        accepted.iter().all(|hook| hook["accepted"] == true),
        "{listed}"
    );
    let problems = listed["problems"].to_string();
    assert!(problems.contains("command:* is never told"), "{problems}");
    assert!(
        problems.contains("hooks/broken/HOOK.yaml has no handler"),
        "{problems}"
    );
    let tried = home.run(["hooks", "test", "agent:end"]);
    tried.succeeds();
    assert_eq!(told(&api).last().unwrap()[0], "agent:end");
    home.run(["hooks", "test", "agent:step"])
        .exits(1)
        .prints_part("code 3");
}

#[test]
fn handlers_that_nobody_has_accepted_are_not_run() {
    let api = with_handlers();
    let mut gateway = api.post.gateway(&[]);
    ask(&api);
    end(&mut gateway, Signal::TERM);
    assert_eq!(told(&api), Vec::<Value>::new());
    let listed = api.post.home.run(["hooks", "list"]);
    listed.succeeds().prints_part("agent:start");
}
