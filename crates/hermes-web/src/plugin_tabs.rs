//! Tabs that plugins add to a front-end of another build: which there are, and their files.
//!
//! Only files for browsers are served. Server code that a plugin brings is not run here, so a tab that
//! needs some is offered only if this program has it built in.

use std::path::{Path, PathBuf};

use hermes_config::settings::Config;
use hermes_fs::Directory;
use serde_json::{Value, json};

use crate::call::{Answered, Call, json as plain_answer};
use crate::http::ApiError;
use crate::pages::file_below;

/// Plugins whose server side is built in.
const BUILT_IN: [&str; 1] = ["kanban"];
/// Endings of files that a browser loads.
const SERVED: [&str; 17] = [
    "js", "mjs", "css", "json", "html", "svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "woff2",
    "woff", "ttf", "otf", "map",
];
/// Largest manifest.
const MAX_MANIFEST: u64 = 256 << 10;
/// Most plugins that are looked at in one directory.
const MOST_PLUGINS: usize = 500;

/// A tab.
struct Tab {
    name: String,
    /// Its files.
    directory: PathBuf,
    /// What the front-end is told.
    described: Value,
}

/// `GET /api/dashboard/plugins`: the tabs beside the built-in ones.
pub(crate) fn list(call: &Call) -> Answered {
    let tabs: Vec<Value> = found(call).into_iter().map(|tab| tab.described).collect();
    plain_answer(&json!(tabs))
}

/// `GET /api/dashboard/plugins/rescan`: they are looked for with every request.
pub(crate) fn rescan(call: &Call) -> Answered {
    plain_answer(&json!({"ok": true, "count": found(call).len()}))
}

/// `GET /dashboard-plugins/{name}/{*file}`.
pub(crate) fn file(call: &Call) -> Answered {
    let missing = || {
        let shown = hermes_text::shown(call.path(), 200);
        ApiError::not_found(format!("there is nothing at {shown}"))
    };
    let name = call.param("name");
    let tab = found(call).into_iter().find(|tab| tab.name == name);
    let tab = tab.ok_or_else(missing)?;
    let file = call.param("file");
    let ending = Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str());
    let ending = ending.map(str::to_lowercase).unwrap_or_default();
    if !SERVED.contains(&ending.as_str()) {
        return Err(missing());
    }
    file_below(&tab.directory, file, "no-store")
}

/// The tabs that the front-end may load: plugins of the home that are switched on, and those beside
/// the front-end that are not switched off. The first of a name counts.
fn found(call: &Call) -> Vec<Tab> {
    let Some(dist) = &call.app.web_dist else {
        return Vec::new();
    };
    let context = call.context();
    let config = context.config();
    let mut tabs: Vec<Tab> = Vec::new();
    let own = context.location.home.join("plugins");
    // The front-end lies in a package, with the plugins in the directory that holds it.
    let beside = dist.parent().and_then(Path::parent);
    let beside = beside.map(|package| package.join("plugins"));
    for (directory, source) in [(Some(own), "user"), (beside, "bundled")] {
        let Some(directory) = directory else { continue };
        for tab in tabs_in(&directory, source) {
            let is_new = tabs.iter().all(|known| known.name != tab.name);
            if is_new && is_on(config, &tab.name, source) {
                tabs.push(tab);
            }
        }
    }
    tabs
}

/// Whether a plugin's tab is switched on.
fn is_on(config: &Config, name: &str, source: &str) -> bool {
    let lists = |key: &str| config.texts(key).contains(&name);
    let is_chosen = source != "user" || lists("plugins.enabled");
    is_chosen && !lists("plugins.disabled") && !lists("dashboard.hidden_plugins")
}

fn tabs_in(directory: &Path, source: &str) -> Vec<Tab> {
    // A directory that is not there has no plugins, and one that cannot be read offers none.
    let entries = Directory::open(directory).and_then(|directory| directory.entries());
    let plugins = entries.unwrap_or_default().into_iter().take(MOST_PLUGINS);
    plugins
        .filter_map(|plugin| tab(&plugin.path, source))
        .collect()
}

/// The tab of a plugin, if it has one that works here.
fn tab(plugin: &Path, source: &str) -> Option<Tab> {
    let directory = plugin.join("dashboard");
    let text = hermes_fs::read_text_capped(&directory.join("manifest.json"), MAX_MANIFEST).ok()?;
    let manifest: Value = match serde_json::from_str(&text) {
        Ok(manifest @ Value::Object(_)) => manifest,
        Ok(_) | Err(_) => {
            tracing::warn!(path = %directory.display(), "manifest.json is no JSON object");
            return None;
        }
    };
    let text = |name: &str| manifest[name].as_str().map(str::to_owned);
    let own_name = plugin.file_name()?.to_str()?.to_owned();
    let name = text("name").unwrap_or(own_name);
    let needs_server = manifest["api"].as_str().is_some_and(|api| !api.is_empty());
    let has_server = BUILT_IN.contains(&name.as_str());
    if needs_server && !has_server {
        return None;
    }
    let tab = &manifest["tab"];
    let path = tab["path"].as_str().map(str::to_owned);
    let mut shown = json!({
        "path": path.unwrap_or_else(|| format!("/{name}")),
        "position": tab["position"].as_str().unwrap_or("end"),
    });
    if let Some(replaced) = tab["override"]
        .as_str()
        .filter(|path| path.starts_with('/'))
    {
        shown["override"] = json!(replaced);
    }
    if tab["hidden"] == true {
        shown["hidden"] = json!(true);
    }
    let slots = manifest["slots"].as_array();
    let slots = slots.into_iter().flatten().filter(|slot| slot.is_string());
    let described = json!({
        "name": name,
        "label": text("label").unwrap_or_else(|| name.clone()),
        "description": text("description").unwrap_or_default(),
        "icon": text("icon").unwrap_or_else(|| "Puzzle".to_owned()),
        "version": text("version").unwrap_or_else(|| "0.0.0".to_owned()),
        "tab": shown,
        "slots": slots.collect::<Vec<_>>(),
        "entry": text("entry").unwrap_or_else(|| "dist/index.js".to_owned()),
        "css": text("css"),
        "has_api": needs_server,
        "source": source,
    });
    Some(Tab {
        name,
        directory,
        described,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files directly")]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;

    use super::*;

    fn plugin(root: &Path, name: &str, manifest: &str) {
        let directory = root.join(name).join("dashboard");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("manifest.json"), manifest).unwrap();
    }

    #[test]
    fn tabs_are_those_that_work_here() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        plugin(
            root,
            "kanban",
            r#"{"name": "kanban", "api": "plugin_api.py", "css": "a.css"}"#,
        );
        plugin(
            root,
            "needy",
            r#"{"name": "needy", "api": "plugin_api.py"}"#,
        );
        plugin(
            root,
            "plain",
            r#"{"label": "Plain", "tab": {"path": "/x", "hidden": true}}"#,
        );
        plugin(root, "broken", "no JSON");
        plugin(root, "list", "[]");
        fs::create_dir_all(root.join("without")).unwrap();
        let tabs = tabs_in(root, "bundled");
        let names: Vec<&str> = tabs.iter().map(|tab| tab.name.as_str()).collect();
        assert_eq!(names, ["kanban", "plain"]);
        assert_eq!(tabs[0].described["has_api"], true);
        assert_eq!(
            tabs[0].described["tab"],
            json!({"path": "/kanban", "position": "end"})
        );
        assert_eq!(tabs[1].described["tab"]["hidden"], true);
        assert_eq!(tabs_in(&root.join("nowhere"), "user").len(), 0);
    }
}
