//! `hermes plugins`: lists, switches, and where plugins are found.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::Desk;

#[test]
fn an_empty_home_has_no_plugins_and_gets_no_files() {
    let desk = Desk::new("");
    let before = desk.home.tree();
    desk.run(&["plugins"])
        .succeeds()
        .prints("There are no plugins\n");
    assert_eq!(
        desk.run(&["plugins", "list", "--json"]).succeeds().json(),
        json!([])
    );
    assert_eq!(desk.home.tree(), before);
}

#[test]
fn the_list_has_the_fields_and_filters_of_the_reference() {
    let desk = Desk::new("plugins: {enabled: [one], disabled: [memory/two]}\n");
    let bundled = desk.home.outside("bundled");
    std::fs::create_dir_all(bundled.join("shipped")).unwrap();
    std::fs::write(bundled.join("shipped/plugin.yaml"), "kind: backend\n").unwrap();
    desk.home.put(
        "plugins/one/plugin.yaml",
        "version: 1.5\ndescription: First\n",
    );
    desk.home
        .put("plugins/memory/two/plugin.yml", "name: second\n");
    desk.home.put("plugins/three/plugin.yaml", "");
    let list = |args: &[&str]| {
        let call = desk.home.hermes(["plugins", "list"]).args(args);
        let call = call.env("HERMES_BUNDLED_PLUGINS", &bundled);
        call.run()
    };
    let all = list(&["--json"]).succeeds().json();
    let short = |one: &Value| {
        let mut fields = one.as_object().unwrap().clone();
        for more in ["key", "kind", "runtime", "path", "python_packages", "error"] {
            assert!(fields.remove(more).is_some(), "{more}");
        }
        Value::Object(fields)
    };
    let all: Vec<Value> = all.as_array().unwrap().iter().map(short).collect();
    assert_eq!(
        all,
        [
            json!({"name": "second", "status": "disabled", "version": "", "description": "", "source": "user"}),
            json!({"name": "one", "status": "enabled", "version": "1.5", "description": "First", "source": "user"}),
            json!({"name": "shipped", "status": "enabled", "version": "", "description": "", "source": "bundled"}),
            json!({"name": "three", "status": "not enabled", "version": "", "description": "", "source": "user"}),
        ]
    );
    let names = |args: &[&str]| -> Vec<String> {
        let mut all = vec!["--json"];
        all.extend(args);
        let listed = list(&all).succeeds().json();
        let listed = listed.as_array().unwrap().iter();
        listed
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["--enabled"]), ["one", "shipped"]);
    assert_eq!(names(&["--enabled", "--user"]), ["one"]);
    assert_eq!(names(&["--no-bundled"]), ["second", "one", "three"]);
    let plain = list(&["--plain", "--user"]);
    let first = plain.succeeds().stdout.lines().next().unwrap().to_owned();
    assert_eq!(first, "disabled     user              memory/two");
}

#[test]
fn a_project_brings_plugins_only_when_that_is_allowed() {
    let desk = Desk::new("");
    let project = desk.home.outside("project");
    std::fs::create_dir_all(project.join(".hermes/plugins/local")).unwrap();
    std::fs::write(project.join(".hermes/plugins/local/plugin.yaml"), "").unwrap();
    let list = |allowed: &str| {
        let call = desk.home.hermes(["plugins", "list", "--json"]);
        let call = call.env("HERMES_ENABLE_PROJECT_PLUGINS", allowed);
        call.in_directory(&project).run().succeeds().json()
    };
    assert_eq!(list("0"), json!([]));
    assert_eq!(list("1")[0]["source"], "project");
    let remove = desk.home.hermes(["plugins", "remove", "local"]);
    let remove = remove.env("HERMES_ENABLE_PROJECT_PLUGINS", "1");
    let removed = remove.in_directory(&project).run();
    removed.exits(1).says_part("belongs to the project");
    assert!(project.join(".hermes/plugins/local/plugin.yaml").is_file());
}

#[test]
fn what_is_looked_at_is_told_on_request() {
    let desk = Desk::new("");
    desk.home.put("plugins/bad/plugin.yaml", "name: [\n");
    let call = desk.home.hermes(["plugins", "list", "--json"]);
    let run = call.env("HERMES_PLUGINS_DEBUG", "1").run();
    run.succeeds().says_part("plugins: looking in");
    run.says_part("plugin.yaml: line");
    run.json();
    let quiet = desk.run(&["plugins", "list", "--json"]);
    assert!(!quiet.stderr.contains("looking in"), "{quiet:?}");
}

#[test]
fn enabling_and_disabling_keep_the_rest_of_the_settings() {
    let desk = Desk::new("# mine\nplugins:\n  enabled: [other] # keep\n");
    desk.home.put(
        "plugins/tts/voice/plugin.yaml",
        "name: spoken\nrequires_env: [VOICE_KEY]\n",
    );
    desk.run(&["plugins", "enable", "voice"])
        .succeeds()
        .prints("✓ tts/voice is enabled, from the next session on\n")
        .says_part("it needs VOICE_KEY");
    let text = desk.home.read("config.yaml");
    assert!(text.contains("# mine"), "{text}");
    assert!(
        text.contains("other") && text.contains("tts/voice"),
        "{text}"
    );
    assert_eq!(desk.list()[0]["status"], "enabled");
    desk.run(&["plugins", "disable", "spoken"]).succeeds();
    assert_eq!(desk.list()[0]["status"], "disabled");
    desk.run(&["plugins", "enable", "tts/voice"]).succeeds();
    assert_eq!(desk.list()[0]["status"], "enabled");
    desk.run(&["plugins", "enable", "voise"])
        .exits(1)
        .says_part("no such plugin: 'voise'");
    desk.run(&["plugins", "enable"]).exits(2);
}

#[test]
fn an_agent_changes_no_plugins() {
    let desk = Desk::new("");
    desk.home.put("plugins/one/plugin.yaml", "");
    let before = desk.home.read("config.yaml");
    for args in [
        vec!["plugins", "enable", "one"],
        vec!["plugins", "disable", "one"],
        vec!["plugins", "remove", "one"],
        vec!["plugins", "update", "one"],
        vec!["plugins", "install", "./x"],
    ] {
        let run = desk.home.hermes(&args).env("HERMES_AGENT_SHELL", "1").run();
        run.exits(1);
    }
    assert_eq!(desk.home.read("config.yaml"), before);
    assert!(desk.home.has("plugins/one/plugin.yaml"));
}

#[test]
fn plugins_are_switched_at_a_terminal() {
    let desk = Desk::new("");
    desk.home
        .put("plugins/one/plugin.yaml", "description: The first\n");
    let mut screen = desk.home.hermes(["plugins"]).start_on_screen(20, 80);
    screen.wait_for("[ ] one");
    screen.press("\u{1b}[B\r");
    screen.wait_for("[x] one");
    screen.press("\u{1b}[A\r");
    screen.wait_for("1 plugin enabled");
    screen.wait();
    assert_eq!(desk.list()[0]["status"], "enabled");
}
