//! One home with MCP servers, two programs: what either adds, the other uses, and removes.

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    servers_of_the_reference_are_used_here,
    servers_added_here_are_known_to_the_reference,
);

fn server_program() -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/programs/server.py");
    program.display().to_string()
}

/// Adds a server as the reference does.
fn add_theirs(world: &World, name: &str, server: &Value) {
    let script = "import json, sys\n\
        from hermes_cli.mcp_config import _save_mcp_server\n\
        _save_mcp_server(sys.argv[1], json.loads(sys.argv[2]))";
    world.python(script, &[name, &server.to_string()]);
}

/// The servers as the reference knows them.
fn theirs(world: &World) -> Value {
    let script = "import json\n\
        from hermes_cli.mcp_config import _get_mcp_servers\n\
        print(json.dumps(_get_mcp_servers()))";
    let printed = world.python(script, &[]);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn ours(world: &World) -> Value {
    serde_json::from_str(&world.ours(&["mcp", "list", "--json"])).unwrap()
}

fn called(world: &World, tool: &str, args: &Value) -> Value {
    serde_json::from_str(&world.ours(&["tools", "call", tool, &args.to_string()])).unwrap()
}

fn servers_of_the_reference_are_used_here(version: Version) {
    let world = World::made_by_the_reference(version);
    let server = json!({
        "command": "python3",
        "args": [server_program(), "interop"],
        "env": {"PLAIN": "x"},
        "connect_timeout": 30,
        "tools": {"include": ["echo", "env"]},
        "sampling": {"enabled": false, "max_rpm": 5},
    });
    add_theirs(&world, "their-srv", &server);
    let remote = json!({
        "url": "https://mcp.example.org/mcp",
        "headers": {"Authorization": "Bearer ${MCP_REMOTE_API_KEY}"},
        "enabled": false,
    });
    add_theirs(&world, "remote", &remote);
    let listed = ours(&world);
    assert_eq!(listed["problems"], json!([]));
    let names: Vec<&Value> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| &server["name"])
        .collect();
    assert_eq!(names, ["their-srv", "remote"]);
    assert_eq!(listed["servers"][1]["enabled"], false);
    let echoed = called(&world, "mcp__their_srv__echo", &json!({"text": "hallo"}));
    assert_eq!(echoed, json!({"result": "hallo"}));
    let environment = called(&world, "mcp__their_srv__env", &json!({}));
    assert!(
        environment["result"].as_str().unwrap().contains("PLAIN"),
        "{environment}"
    );
    let listed = world.ours(&["tools", "list", "--json"]);
    assert!(listed.contains("mcp__their_srv__echo"), "{listed}");
    assert!(!listed.contains("mcp__their_srv__pid"), "{listed}");
    // Nothing that we keep stands in the way of the reference.
    assert_eq!(theirs(&world)["their-srv"], server);
    world.ours(&["mcp", "remove", "their-srv"]);
    assert_eq!(theirs(&world).get("their-srv"), None);
}

fn servers_added_here_are_known_to_the_reference(version: Version) {
    let world = World::made_by_the_reference(version);
    let program = server_program();
    world.ours(&[
        "mcp",
        "add",
        "our-srv",
        "--command",
        "python3",
        "--env",
        "K=v",
        "--args",
        &program,
    ]);
    let known = theirs(&world);
    assert_eq!(known["our-srv"]["command"], "python3");
    assert_eq!(known["our-srv"]["args"], json!([program]));
    assert_eq!(known["our-srv"]["env"], json!({"K": "v"}));
    let listed = world.theirs(&["mcp", "list"]);
    assert!(listed.contains("our-srv"), "{listed}");
    let script = "from hermes_cli.mcp_config import _remove_mcp_server\n\
        assert _remove_mcp_server('our-srv')";
    world.python(script, &[]);
    assert_eq!(ours(&world)["servers"], json!([]));
}
