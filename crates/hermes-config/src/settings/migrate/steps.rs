//! The steps, in order. A step runs for files older than its number.

use serde_json::{Map, Value, json};

use super::{ConfigError, Draft, exfiltration};
use crate::dotenv;

type Step = fn(&mut Draft<'_>) -> Result<(), ConfigError>;

const STEPS: [(i64, Step); 10] = [
    (12, custom_providers_to_providers),
    (14, drop_flat_stt_model),
    (16, tool_progress_overrides),
    (17, compression_summary),
    (21, enabled_plugins),
    (25, catalogue_age),
    (29, write_approval),
    (31, verify_on_stop),
    (33, async_children),
    (i64::MAX, suspicious_mcp_servers),
];

/// Variables that later versions stopped reading.
const DROPPED_VARIABLES: [(i64, &str); 3] = [
    (9, "ANTHROPIC_TOKEN"),
    (13, "LLM_MODEL"),
    (13, "OPENAI_MODEL"),
];

/// Runs what a file of this version lacks.
pub(super) fn run(draft: &mut Draft<'_>, from: i64) -> Result<(), ConfigError> {
    if dotenv::repair(&mut draft.env) > 0 {
        draft.say("split .env lines that contained several assignments");
    }
    for (_, name) in DROPPED_VARIABLES
        .iter()
        .filter(|(version, _)| from < *version)
    {
        draft.drop_variable(name);
    }
    STEPS
        .iter()
        .filter(|(version, _)| from < *version)
        .try_for_each(|(_, step)| step(draft))
}

fn drop_flat_stt_model(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    if draft.get("stt.model").is_some() {
        draft.remove("stt.model")?;
        draft.say("removed stt.model: each speech provider has its own model");
    }
    Ok(())
}

/// `custom_providers` was a list; `providers` is a map by name.
fn custom_providers_to_providers(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    let Some(Value::Array(list)) = draft.get("custom_providers") else {
        return Ok(());
    };
    let mut providers = match draft.get("providers") {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let mut moved = 0;
    for entry in list {
        let Value::Object(entry) = entry else {
            continue;
        };
        let mut name = provider_name(&entry);
        let mut serial = 2;
        while providers.contains_key(&name) {
            name = format!("{}-{serial}", provider_name(&entry));
            serial += 1;
        }
        providers.insert(name, Value::Object(renamed_fields(entry)));
        moved += 1;
    }
    draft.remove("custom_providers")?;
    if moved > 0 {
        draft.set("providers", &Value::Object(providers))?;
    }
    draft.say(format!("moved {moved} of custom_providers into providers"));
    Ok(())
}

fn renamed_fields(entry: Map<String, Value>) -> Map<String, Value> {
    entry
        .into_iter()
        .filter(|(key, value)| {
            let placeholder = matches!(value.as_str(), Some("no-key" | "no-key-required"));
            !(key == "api_key" && placeholder)
        })
        .map(|(key, value)| {
            let key = match key.as_str() {
                "base_url" => "api".to_owned(),
                "model" => "default_model".to_owned(),
                "api_mode" => "transport".to_owned(),
                _ => key,
            };
            (key, value)
        })
        .collect()
}

/// Kebab case of the name, else the host of the address.
fn provider_name(entry: &Map<String, Value>) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let source = match text("name").trim() {
        "" => {
            let address = text("base_url");
            let host = address.split_once("://").map_or(address, |(_, rest)| rest);
            host.split(['/', ':']).next().unwrap_or_default().to_owned()
        }
        name => name.to_owned(),
    };
    let kebab: String = source
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let kebab = kebab
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    if kebab.is_empty() {
        "provider".to_owned()
    } else {
        kebab
    }
}

fn tool_progress_overrides(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    let Some(Value::Object(overrides)) = draft.get("display.tool_progress_overrides") else {
        return Ok(());
    };
    for (platform, value) in overrides {
        let key = format!("display.platforms.{platform}.tool_progress");
        if draft.get(&key).is_none() {
            draft.set(&key, &value)?;
        }
    }
    draft.remove("display.tool_progress_overrides")?;
    draft.say("moved display.tool_progress_overrides into display.platforms");
    Ok(())
}

fn compression_summary(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    for part in ["model", "provider", "base_url"] {
        let old = format!("compression.summary_{part}");
        let Some(value) = draft.get(&old) else {
            continue;
        };
        let new = format!("auxiliary.compression.{part}");
        let filled = !value.is_null() && value.as_str() != Some("");
        if filled && draft.get(&new).is_none() {
            draft.set(&new, &value)?;
            draft.say(format!("moved {old} to {new}"));
        } else {
            draft.say(format!("removed {old}"));
        }
        draft.remove(&old)?;
    }
    Ok(())
}

/// Add-ons became opt-in: those already installed stay on.
fn enabled_plugins(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    if draft.get("plugins.enabled").is_some() {
        return Ok(());
    }
    let disabled: Vec<String> = match draft.get("plugins.disabled") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let Ok(entries) = hermes_fs::read_dir(&draft.home.join("plugins")) else {
        return Ok(());
    };
    let installed: Vec<String> = entries
        .iter()
        .filter(|entry| {
            ["plugin.yaml", "plugin.yml"]
                .iter()
                .any(|file| entry.path.join(file).is_file())
        })
        .filter_map(|entry| entry.name.to_str().map(str::to_owned))
        .filter(|name| !disabled.contains(name))
        .collect();
    if !installed.is_empty() {
        draft.set("plugins.enabled", &json!(installed))?;
        draft.say(format!(
            "enabled the installed add-ons: {}",
            installed.join(", ")
        ));
    }
    Ok(())
}

fn catalogue_age(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    if draft.get("model_catalog.ttl_hours") == Some(json!(24)) {
        draft.set("model_catalog.ttl_hours", &json!(1))?;
        draft.say("model_catalog.ttl_hours: 24, the old default, becomes 1");
    }
    Ok(())
}

fn write_approval(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    for section in ["memory", "skills"] {
        let old = format!("{section}.write_mode");
        let Some(value) = draft.get(&old) else {
            continue;
        };
        let approve = value.as_str() == Some("approve");
        draft.set(&format!("{section}.write_approval"), &json!(approve))?;
        draft.remove(&old)?;
        draft.say(format!("{old} becomes {section}.write_approval: {approve}"));
    }
    Ok(())
}

fn verify_on_stop(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    if let Some(value) = draft.get("agent.verify_on_stop")
        && (value == json!(true) || value.as_str() == Some("auto"))
    {
        draft.set("agent.verify_on_stop", &json!(false))?;
        draft.say("agent.verify_on_stop becomes false");
    }
    Ok(())
}

fn async_children(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    let Some(old) = draft.get("delegation.max_async_children") else {
        return Ok(());
    };
    let current = draft
        .get("delegation.max_concurrent_children")
        .and_then(|v| v.as_i64());
    let most = old.as_i64().into_iter().chain(current).max();
    if let Some(most) = most.filter(|most| Some(*most) != current) {
        draft.set("delegation.max_concurrent_children", &json!(most))?;
    }
    draft.remove("delegation.max_async_children")?;
    draft.say("folded delegation.max_async_children into max_concurrent_children");
    Ok(())
}

fn suspicious_mcp_servers(draft: &mut Draft<'_>) -> Result<(), ConfigError> {
    let Some(Value::Object(servers)) = draft.get("mcp_servers") else {
        return Ok(());
    };
    for (name, server) in servers {
        let off = server.get("enabled") == Some(&json!(false));
        if !off && exfiltration::is_suspicious(&server) {
            draft.set(&format!("mcp_servers.{name}.enabled"), &json!(false))?;
            draft.say(format!(
                "disabled the MCP server {name}: its command looks like it sends secrets away"
            ));
        }
    }
    Ok(())
}
