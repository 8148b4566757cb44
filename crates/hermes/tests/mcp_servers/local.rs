//! Servers that are programs.

use std::path::Path;

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::Desk;
use crate::packages::{everything, filesystem, time};

fn everything_desk() -> Desk {
    let (node, program) = everything();
    Desk::new(&json!({"command": node.node(), "args": [program, "stdio"], "env": {"OWN": "mine"}}))
}

#[test]
fn everything_is_listed_and_called() {
    let desk = everything_desk();
    let tools = desk.tools();
    assert!(
        tools.contains(&"echo".to_owned()) && tools.contains(&"get-sum".to_owned()),
        "{tools:?}"
    );
    assert_eq!(
        desk.call("echo", json!({"message": "hallo"})),
        json!({"result": "Echo: hallo"})
    );
    let sum = desk.call("get_sum", json!({"a": 2, "b": 3}));
    assert!(sum["result"].as_str().unwrap().contains('5'), "{sum}");
    let image = desk.call("get_tiny_image", json!({}));
    let path = image["files"][0]["path"].as_str().unwrap();
    assert!(
        std::fs::read(path).unwrap().starts_with(b"\x89PNG"),
        "{image}"
    );
    let wrong = desk.call("get_sum", json!({"a": "two"}));
    assert!(wrong["error"].is_string(), "{wrong}");
}

#[test]
fn everything_has_resources_and_prompts() {
    let desk = everything_desk();
    let resources = desk.call("list_resources", json!({}));
    let uri = resources["resources"][0]["uri"].clone();
    assert!(uri.is_string(), "{resources}");
    let read = desk.call("read_resource", json!({"uri": uri}));
    assert!(read.get("error").is_none(), "{read}");
    let prompts = desk.call("list_prompts", json!({}));
    let name = prompts["prompts"][0]["name"].clone();
    let prompt = desk.call("get_prompt", json!({"name": name}));
    assert!(prompt["messages"][0]["content"].is_string(), "{prompt}");
}

#[test]
fn everything_asks_the_model_where_it_may() {
    let (node, program) = everything();
    let server = |sampling: bool| json!({"command": node.node(), "args": [program, "stdio"], "sampling": {"enabled": sampling}});
    let tool = "trigger-sampling-request".to_owned();
    assert!(!Desk::new(&server(false)).tools().contains(&tool));
    let desk = Desk::new(&server(true));
    let tools = desk.tools();
    assert!(tools.contains(&tool), "{tools:?}");
    desk.home.put(
        "script.yaml",
        "turns:\n  - match: {task: mcp, last: two and two}\n    text: it is four\n  \
         - match: {step: 1}\n    calls: [{tool: mcp__srv__trigger_sampling_request, \
         arguments: {prompt: two and two, maxTokens: 20}}]\n  \
         - match: {last: it is four}\n    text: answered\n  - text: missed\n",
    );
    let run = desk.home.run(["chat", "-Q", "-q", "go"]);
    run.succeeds().prints_part("answered");
}

#[test]
fn everything_sees_no_secret_of_ours() {
    let desk = everything_desk();
    desk.home.put(".env", "OPENAI_API_KEY=sk-canary-dotenv\n");
    let run = desk
        .home
        .hermes(["tools", "call", "mcp__srv__get_env", "{}"])
        .env("ANTHROPIC_API_KEY", "sk-canary-process")
        .env("MY_OWN_THING", "canary-thing")
        .run();
    let text = run.succeeds().stdout.clone();
    assert!(text.contains("mine") && text.contains("PATH"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn the_filesystem_server_reads_its_directory_and_nothing_else() {
    let (node, program) = filesystem();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "inside\n").unwrap();
    let desk = Desk::new(&json!({"command": node.node(), "args": [program, directory.path()]}));
    let read = desk.call(
        "read_text_file",
        json!({"path": directory.path().join("a.txt")}),
    );
    assert!(
        read["result"].as_str().unwrap().contains("inside"),
        "{read}"
    );
    let refused = desk.call("read_text_file", json!({"path": "/etc/hostname"}));
    assert!(
        refused["error"].as_str().unwrap().contains("denied"),
        "{refused}"
    );
}

#[test]
fn a_python_server_answers_and_refuses() {
    let desk = Desk::new(&json!({"command": time()}));
    let now = desk.call("get_current_time", json!({"timezone": "Europe/Berlin"}));
    assert!(
        now["result"].as_str().unwrap().contains("Europe/Berlin"),
        "{now}"
    );
    let wrong = desk.call("get_current_time", json!({"timezone": "Nowhere/Land"}));
    assert!(wrong["error"].is_string(), "{wrong}");
}

#[test]
fn a_server_killed_during_a_call_is_an_answer_and_the_next_call_works() {
    let desk = everything_desk();
    assert!(
        desk.tools()
            .contains(&"trigger-long-running-operation".to_owned())
    );
    desk.home.put(
        "script.yaml",
        "turns:\n  - match: {step: 1}\n    calls: [{tool: mcp__srv__trigger_long_running_operation, \
         arguments: {duration: 120, steps: 2}}]\n  \
         - match: {last: \"ended while the call ran\"}\n    \
         calls: [{tool: mcp__srv__echo, arguments: {message: two}}]\n  \
         - match: {last: \"Echo: two\"}\n    text: again\n  - text: missed\n",
    );
    let home = desk.home.user_home();
    let killer = std::thread::spawn(move || {
        let mut killed = 0;
        eventually("the server runs", || {
            killed = server_of(&home).inspect(|pid| kill(*pid)).unwrap_or(0);
            killed != 0
        });
    });
    let run = desk.home.run(["chat", "-Q", "-q", "go"]);
    killer.join().unwrap();
    run.succeeds().prints_part("again");
}

/// The server in the environment of this home.
fn server_of(home: &Path) -> Option<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let has = |name: &str, text: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        };
        has("cmdline", "server-everything") && has("environ", &home.display().to_string())
    })
}

fn kill(pid: u32) {
    // The call is on its way: the server has answered the first questions.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
