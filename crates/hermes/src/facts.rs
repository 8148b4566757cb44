//! Facts about the program and a home that several commands show.

use hermes_config::dotenv::known_names;
use hermes_config::settings::Layer;
use serde_json::Value;

use crate::context::Context;

/// Version of the reference whose files and commands this program shares.
pub(crate) const COMPATIBLE: &str = "0.19.0";

/// Version of this program.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (as hermes-agent 0.19.0)");

/// Largest stamp or job file looked at.
const MAX_BYTES: u64 = 8 << 20;

/// How the program was installed: the stamp beside it or beside its `bin`, else the home's (a `docker` stamp there
/// counts only inside a container), else a package manager, else `binary`.
pub(crate) fn install_method(context: &Context) -> String {
    let stamp = |dir: &std::path::Path| {
        let text = hermes_fs::read_text_capped(&dir.join(".install_method"), 64).ok()?;
        let text = text.trim().to_owned();
        let known = ["docker", "git", "pip", "homebrew", "nixos", "binary"];
        known.contains(&text.as_str()).then_some(text)
    };
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(|program| {
        let directory = program.parent()?;
        // `bin` is a directory of the installation, not the installation.
        let above = directory.ends_with("bin").then(|| directory.parent());
        stamp(directory).or_else(|| stamp(above.flatten()?))
    });
    let in_home = || {
        stamp(&context.location.home).filter(|method| {
            method != "docker" || hermes_home::is_container(&context.env, &context.system)
        })
    };
    let managed = || match context.home_policy().managed?.name() {
        "NixOS" => Some("nixos".to_owned()),
        "Homebrew" => Some("homebrew".to_owned()),
        _ => None,
    };
    beside
        .or_else(in_home)
        .or_else(managed)
        .unwrap_or_else(|| "binary".to_owned())
}

/// The backend in effect, and where it came from if not from `config.yaml`.
pub(crate) fn terminal_backend(context: &Context) -> String {
    setting_and_origin(context, "terminal.backend")
}

/// A text setting in effect, and where it came from if not from `config.yaml`.
pub(crate) fn setting_and_origin(context: &Context, key: &str) -> String {
    let config = context.config();
    let value = config.text(key);
    match config.candidates(key).first() {
        Some(winner) if matches!(winner.layer, Layer::Environment | Layer::DotEnv) => {
            let variable = winner.variable.as_deref().unwrap_or_default();
            format!("{value} (from {variable}, {})", winner.layer.name())
        }
        Some(winner) if winner.layer == Layer::Managed => {
            format!("{value} (set by the administrator)")
        }
        _ => value.to_owned(),
    }
}

/// Platforms with a token in reach or enabled in the settings.
pub(crate) fn configured_platforms(context: &Context) -> Vec<String> {
    let config = context.config();
    let mut platforms: Vec<String> = known_names()
        .filter(|known| known.category == "messaging" && known.secret)
        .filter(|known| config.secret(known.name).is_some())
        .filter_map(|known| Some(known.name.split_once('_')?.0.to_lowercase()))
        .collect();
    if let Some(Value::Object(map)) = config.get("platforms") {
        let enabled = map
            .iter()
            .filter(|(_, p)| p.get("enabled") == Some(&Value::Bool(true)));
        platforms.extend(enabled.map(|(name, _)| name.clone()));
    }
    platforms.sort();
    platforms.dedup();
    platforms
}

/// Number of scheduled jobs; the file holds a list, or a mapping with `jobs`.
pub(crate) fn cron_jobs(context: &Context) -> usize {
    let path = context.location.home.join("cron/jobs.json");
    let Ok(text) = hermes_fs::read_text_capped(&path, MAX_BYTES) else {
        return 0;
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(jobs)) => jobs.len(),
        Ok(Value::Object(map)) => map
            .get("jobs")
            .and_then(Value::as_array)
            .map_or(0, Vec::len),
        _ => 0,
    }
}
