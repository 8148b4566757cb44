//! Logins and goals that one program leaves behind for the other.

use std::fs;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    our_logins_are_used_by_the_reference,
    their_logins_are_used_by_us,
    goal_is_the_same_for_both
);

/// What their pool chooses for a provider.
const CHOOSE: &str = "import json, sys\n\
    from agent.credential_pool import load_pool\n\
    entry = load_pool(sys.argv[1]).select()\n\
    print(json.dumps({'token': entry.access_token, 'refresh': entry.refresh_token,\n\
        'url': entry.base_url, 'kind': entry.auth_type}))";

fn chosen(world: &World, provider: &str) -> Value {
    let printed = world.python(CHOOSE, &[provider]);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn our_logins_are_used_by_the_reference(version: Version) {
    let world = World::empty(version);
    let code = json!({"user_code": "A", "device_auth_id": "d", "interval": 0});
    let grant = json!({"authorization_code": "c", "code_verifier": "v"});
    let tokens = json!({"access_token": "codex-access", "refresh_token": "codex-refresh"});
    let server = ModelServer::start([])
        .with(
            "/api/accounts/deviceauth/usercode",
            ScriptedAnswer::status(200, &code),
        )
        .with(
            "/api/accounts/deviceauth/token",
            ScriptedAnswer::status(200, &grant),
        )
        .with("/oauth/token", ScriptedAnswer::status(200, &tokens));
    let root = server.root();
    world.ours(&[
        "auth",
        "add",
        "openai-codex",
        "--no-browser",
        "--portal-url",
        &root,
    ]);
    let entry = chosen(&world, "openai-codex");
    assert_eq!(entry["token"], "codex-access");
    assert_eq!(entry["refresh"], "codex-refresh");
    assert_eq!(entry["url"], "https://chatgpt.com/backend-api/codex");
    assert_eq!(entry["kind"], "oauth");
    let listed = world.theirs(&["auth", "list", "openai-codex"]);
    assert!(listed.contains("oauth"), "{listed}");
    // They have rewritten the file; the login is still ours.
    let listed = world.ours(&["auth", "list", "openai-codex"]);
    assert!(listed.contains("login"), "{listed}");
}

fn their_logins_are_used_by_us(version: Version) {
    let world = World::empty(version);
    world.python(
        "from hermes_cli.auth import _save_codex_tokens\n\
         _save_codex_tokens({'access_token': 'theirs-access', 'refresh_token': 'theirs-refresh'})",
        &[],
    );
    let server = ModelServer::always(ScriptedAnswer::text("hello"));
    let output = world
        .our_command()
        .args(["-z", "hi", "-m", "gpt-5"])
        .env("HERMES_CODEX_BASE_URL", server.base_url())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let asked = server.questions().pop().unwrap();
    assert_eq!(asked.header("authorization"), Some("Bearer theirs-access"));
    assert_eq!(chosen(&world, "openai-codex")["token"], "theirs-access");
}

fn goal_is_the_same_for_both(version: Version) {
    let world = World::empty(version);
    let refused = json!({"error": {"message": "no access"}});
    let server = ModelServer::always(ScriptedAnswer::status(403, &refused));
    world.ours(&["config", "set", "model.default", "m"]);
    world.ours(&["config", "set", "model.provider", "custom"]);
    world.ours(&["config", "set", "model.base_url", &server.base_url()]);
    let say = |lines: &str| {
        let input = world.home().join("lines");
        fs::write(&input, lines).unwrap();
        let output = world
            .our_command()
            .args(["chat", "--cli", "-c"])
            .stdin(fs::File::open(&input).unwrap())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // The turn fails, so the goal is paused.
    world
        .our_command()
        .args(["chat", "-Q", "-q", "hello"])
        .output()
        .unwrap();
    let said = say("/goal Port the parser\n/subgoal docs\n");
    assert!(said.contains("The goal is paused"), "{said}");
    let sessions: Value =
        serde_json::from_str(&world.ours(&["sessions", "list", "--json"])).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();
    let printed = world.python(
        "import json, sys\n\
         from hermes_cli.goals import load_goal, save_goal\n\
         goal = load_goal(sys.argv[1])\n\
         print(json.dumps([goal.goal, goal.status, goal.subgoals, goal.max_turns]))\n\
         goal.max_turns = 7\n\
         save_goal(sys.argv[1], goal)",
        &[id],
    );
    let theirs: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(theirs, json!(["Port the parser", "paused", ["docs"], 20]));
    let said = say("/goal show\n");
    assert!(
        said.contains("1 of 7 turns") || said.contains("0 of 7 turns"),
        "{said}"
    );
    assert!(said.contains("1. docs"), "{said}");
}
