//! `GET /health` and `GET /health/detailed`.

use std::path::Path;

use hermes_runtime::Context;
use hermes_session::SessionStore;
use serde_json::{Value, json};

use crate::app::off_loop;
use crate::call::{Answered, Call, json as answer};
use crate::metrics::Gauges;

/// Share of the disk from which it counts as nearly full.
const NEARLY_FULL: f64 = 90.0;
/// Largest state file that is read.
const MOST_STATE: u64 = 1 << 20;

pub(crate) async fn health(_: Call) -> Answered {
    Ok(answer(&json!({
        "status": "ok",
        "platform": "hermes-agent",
        "version": env!("CARGO_PKG_VERSION"),
    })))
}

pub(crate) async fn health_detailed(call: Call) -> Answered {
    let context = call.app.context();
    let gauges = call.app.gauges();
    let report = off_loop(move || Ok(detailed(&context, gauges))).await?;
    Ok(answer(&report))
}

fn detailed(context: &Context, gauges: Gauges) -> Value {
    let state = state_file(&context.location.home);
    let gateway_state = state.get("gateway_state").and_then(Value::as_str);
    let active = state.get("active_agents").and_then(Value::as_u64);
    let active = active.unwrap_or_default().max(gauges.active_turns as u64);
    let is_running = matches!(gateway_state, None | Some("running"));
    let checks = json!({
        "state_db": state_db(&context.location.home),
        "config": config(context),
        "model": check(context.config().model() != (None, None), "no model is set"),
        "disk": disk(&context.location.home),
        "gateway": gateway(&state, gateway_state),
        "background_queues": {
            "status": "ok",
            "active_api_runs": gauges.active_turns,
            "open_conversations": gauges.open_conversations,
        },
    });
    let is_ready = checks
        .as_object()
        .is_some_and(|checks| checks.values().all(|check| check["status"] == "ok"));
    let status = if is_ready { "ok" } else { "degraded" };
    json!({
        "status": status,
        "readiness": {"status": status, "checks": checks},
        "platform": "hermes-agent",
        "version": env!("CARGO_PKG_VERSION"),
        "gateway_state": gateway_state,
        "platforms": state.get("platforms").cloned().unwrap_or_else(|| json!({})),
        "active_agents": active,
        "gateway_busy": is_running && active > 0,
        "gateway_drainable": is_running,
        "exit_reason": state.get("exit_reason"),
        "updated_at": state.get("updated_at"),
        "pid": std::process::id(),
    })
}

/// What the gateway last said of itself; empty where the server runs without one.
fn state_file(home: &Path) -> Value {
    let bytes = hermes_fs::read_optional(&home.join("gateway_state.json"), MOST_STATE);
    let bytes = bytes.ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}))
}

fn check(is_good: bool, otherwise: &str) -> Value {
    if is_good {
        json!({"status": "ok"})
    } else {
        json!({"status": "degraded", "detail": otherwise})
    }
}

fn state_db(home: &Path) -> Value {
    match SessionStore::open_read_only(home) {
        Ok(Some(_)) => json!({"status": "ok"}),
        Ok(None) => json!({"status": "ok", "detail": "not initialized"}),
        Err(error) if error.is_damage() => check(false, "damaged"),
        Err(_) => check(false, "cannot be opened"),
    }
}

fn config(context: &Context) -> Value {
    let file = context.config().user_file();
    let is_broken = file.document().is_none() && context.sources().config_path().exists();
    check(!is_broken, "config.yaml cannot be read")
}

fn disk(home: &Path) -> Value {
    match hermes_fs::disk_space(home) {
        Some(space) => {
            #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
            let used = 100.0 - space.free as f64 * 100.0 / (space.total.max(1) as f64);
            let status = if used >= NEARLY_FULL {
                "degraded"
            } else {
                "ok"
            };
            let used = (used * 10.0).round() / 10.0;
            json!({"status": status, "used_percent": used, "free_bytes": space.free})
        }
        None => check(false, "not known"),
    }
}

fn gateway(state: &Value, gateway_state: Option<&str>) -> Value {
    let platforms = state.get("platforms").and_then(Value::as_object);
    let is_connected =
        |platform: &&Value| matches!(platform["state"].as_str(), Some("connected" | "running"));
    let connected = platforms.map_or(0, |all| all.values().filter(is_connected).count());
    let is_good = matches!(gateway_state, None | Some("running" | "draining"));
    json!({
        "status": if is_good { "ok" } else { "degraded" },
        "state": gateway_state.unwrap_or("unknown"),
        "connected_platforms": connected,
        "platforms": platforms.map_or(0, serde_json::Map::len),
    })
}
