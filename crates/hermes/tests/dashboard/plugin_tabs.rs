//! Tabs of plugins in a front-end of another build: which are offered, and which files leave the home.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::server::{Server, dashboard, home};

fn plugin(root: &Path, name: &str, manifest: &Value) {
    let directory = root.join(name).join("dashboard/dist");
    fs::create_dir_all(&directory).unwrap();
    let manifest = manifest.to_string();
    fs::write(directory.join("../manifest.json"), manifest).unwrap();
    fs::write(directory.join("index.js"), format!("/* {name} */")).unwrap();
    fs::write(directory.join("../plugin_api.py"), "SECRET = 1").unwrap();
}

#[test]
fn tabs_of_plugins_are_listed_and_only_their_files_are_served() {
    let home = home();
    let package = home.outside("package");
    let dist = package.join("hermes_cli/web_dist");
    fs::create_dir_all(&dist).unwrap();
    fs::write(dist.join("index.html"), "<html><head></head></html>").unwrap();
    fs::write(package.join("outside.json"), "{}").unwrap();
    let beside = package.join("plugins");
    plugin(
        &beside,
        "kanban",
        &json!({"name": "kanban", "api": "plugin_api.py"}),
    );
    plugin(
        &beside,
        "needy",
        &json!({"name": "needy", "api": "plugin_api.py"}),
    );
    plugin(&beside, "hidden", &json!({"name": "hidden"}));
    let own = home.path("plugins");
    plugin(
        &own,
        "mine",
        &json!({"name": "mine", "tab": {"path": "/mine"}}),
    );
    plugin(&own, "off", &json!({"name": "off"}));
    home.put(
        "config.yaml",
        "plugins:\n  enabled: [mine]\n  disabled: [hidden]\n",
    );
    let server = Server::start(dashboard(&home).env("HERMES_WEB_DIST", &dist));
    let listed = server.get("/api/dashboard/plugins");
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tab| tab["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["mine", "kanban"]);
    assert_eq!(server.get("/api/dashboard/plugins/rescan")["count"], 2);
    let get = |path: &str| server.request("GET", path).send();
    let script = get("/dashboard-plugins/kanban/dist/index.js");
    assert_eq!((script.status, script.body.as_str()), (200, "/* kanban */"));
    assert_eq!(
        script.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    for path in [
        "/dashboard-plugins/kanban/plugin_api.py",
        "/dashboard-plugins/kanban/dist/../plugin_api.py",
        "/dashboard-plugins/kanban/../../../outside.json",
        "/dashboard-plugins/kanban/..%2f..%2f..%2foutside.json",
        "/dashboard-plugins/kanban/%2e%2e/%2e%2e/%2e%2e/outside.json",
        "/dashboard-plugins/..%2f..%2foutside.json",
        "/dashboard-plugins/../outside.json",
        "/dashboard-plugins/off/dist/index.js",
        "/dashboard-plugins/hidden/dist/index.js",
        "/dashboard-plugins/needy/dist/index.js",
        "/dashboard-plugins/nosuch/dist/index.js",
        "/dashboard-plugins/kanban/dist/nosuch.js",
    ] {
        let answer = get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(answer.json()["detail"].is_string(), "{path}");
    }
    std::os::unix::fs::symlink("/etc/hostname", beside.join("kanban/dashboard/link.json")).unwrap();
    assert_eq!(get("/dashboard-plugins/kanban/link.json").status, 404);
}

/// Our own front-end has no tabs of others.
#[test]
fn own_front_end_offers_no_tabs() {
    let home = home();
    plugin(&home.path("plugins"), "mine", &json!({"name": "mine"}));
    home.put("config.yaml", "plugins:\n  enabled: [mine]\n");
    let server = Server::local(&home);
    assert_eq!(server.get("/api/dashboard/plugins"), json!([]));
    let file = server.request("GET", "/dashboard-plugins/mine/dist/index.js");
    assert_eq!(file.send().status, 404);
}
