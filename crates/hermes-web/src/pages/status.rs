//! What runs here: gateways, platforms, workers, and how the machine is doing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use askama::Template;
use hermes_runtime::Context;
use serde::Deserialize;
use serde_json::Value;

use super::chart::{Spark, spark};
use super::frame::{self, html, now};
use super::profiles::Profiles;
use super::shell::{Shell, Trouble};
use super::shown::{bytes, nullable, plural, span};
use super::source::Source;
use crate::api::program;
use crate::app::off_loop;
use crate::call::{Answered, Call};
use crate::samples::Sample;

/// How long the list of sandboxes may take.
const SANDBOX_LIMIT: Duration = Duration::from_secs(3);

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage {
    shell: Shell,
    troubles: Vec<Trouble>,
    tiles: Vec<Tile>,
    gateways: Vec<GatewayRow>,
    gateway_running: bool,
    platforms: Vec<PlatformRow>,
    workers: Vec<WorkerRow>,
    facts: Vec<(&'static str, String)>,
    now: i64,
}

struct Tile {
    name: &'static str,
    value: String,
    note: String,
    spark: Option<Spark>,
    percent: Option<u64>,
}

struct GatewayRow {
    profile: String,
    state: String,
    tone: &'static str,
    process: String,
    note: String,
}

struct PlatformRow {
    name: String,
    state: String,
    tone: &'static str,
    note: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    version: String,
    #[serde(deserialize_with = "nullable")]
    hermes_home: String,
    #[serde(deserialize_with = "nullable")]
    config_path: String,
    gateway_running: bool,
    gateway_pid: Option<i64>,
    #[serde(deserialize_with = "nullable")]
    gateway_state: String,
    #[serde(deserialize_with = "nullable")]
    gateway_exit_reason: String,
    #[serde(deserialize_with = "nullable")]
    gateway_platforms: BTreeMap<String, Value>,
    #[serde(deserialize_with = "nullable")]
    active_sessions: u64,
    #[serde(deserialize_with = "nullable")]
    active_agents: u64,
    auth_required: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    hostname: String,
    #[serde(deserialize_with = "nullable")]
    platform: String,
    cpu_count: Option<u32>,
    memory: Option<Share>,
    disk: Option<Share>,
    #[serde(deserialize_with = "nullable")]
    load_avg: Vec<f64>,
    uptime_seconds: Option<i64>,
    process: Option<OwnProcess>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Share {
    total: u64,
    used: u64,
}

impl Share {
    fn percent(self) -> u64 {
        let hundredth = self.total / 100;
        self.used.checked_div(hundredth).unwrap_or(0).min(100)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnProcess {
    pid: i64,
    rss: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Workers {
    workers: Vec<WorkerRow>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WorkerRow {
    task_id: String,
    #[serde(rename = "task_title")]
    title: String,
    #[serde(deserialize_with = "nullable")]
    profile: String,
    #[serde(deserialize_with = "nullable")]
    started_at: i64,
}

/// What is found out on the disk and at the container engine.
struct Found {
    has_dispatcher: bool,
    /// Containers of this home, where commands run in containers.
    sandboxes: Option<usize>,
}

impl Found {
    fn look(context: &Context) -> Self {
        let home = hermes_runtime::board_home(context);
        let lock = home.dispatcher_lock();
        let in_containers = context.config().text("terminal.backend") == "docker";
        Self {
            has_dispatcher: hermes_fs::FileLock::is_held(&lock).unwrap_or(false),
            sandboxes: in_containers.then(|| sandboxes(context)).flatten(),
        }
    }
}

fn sandboxes(context: &Context) -> Option<usize> {
    let words = ["sandbox", "list", "--all-profiles", "--json"];
    // Without an engine there is nothing to count, and `hermes doctor` says why.
    let listed = program::run(context, &words, SANDBOX_LIMIT).ok()?;
    let listed: Value = serde_json::from_str(&listed).ok()?;
    listed["sandboxes"].as_array().map(Vec::len)
}

fn tone(state: &str) -> &'static str {
    match state {
        "running" | "connected" | "ok" => "ok",
        "starting" | "retrying" | "draining" | "connecting" | "paused" => "warn",
        "fatal" | "startup_failed" | "error" | "failed" => "bad",
        _ => "",
    }
}

fn gateways(status: &Status, profiles: &Profiles, own: &str) -> Vec<GatewayRow> {
    let rows = profiles.profiles.iter().map(|profile| {
        let is_own = profile.name == own;
        let state = match (
            is_own,
            profile.gateway_running || is_own && status.gateway_running,
        ) {
            (true, _) if !status.gateway_state.is_empty() => status.gateway_state.clone(),
            (_, true) => "running".to_owned(),
            (_, false) => "stopped".to_owned(),
        };
        let process = status
            .gateway_pid
            .filter(|_| is_own && status.gateway_running);
        GatewayRow {
            profile: profile.name.clone(),
            tone: tone(&state),
            state,
            process: process.map_or_else(String::new, |pid| format!("pid {pid}")),
            note: if is_own {
                status.gateway_exit_reason.clone()
            } else {
                String::new()
            },
        }
    });
    rows.collect()
}

fn platforms(status: &Status) -> Vec<PlatformRow> {
    let rows = status.gateway_platforms.iter().map(|(name, value)| {
        let word = value["state"]
            .as_str()
            .or(value["status"].as_str())
            .or(value.as_str());
        let state = word.unwrap_or("unknown").to_owned();
        let note = value["error_message"].as_str().or(value["error"].as_str());
        PlatformRow {
            name: name.clone(),
            tone: tone(&state),
            state,
            note: note.unwrap_or_default().to_owned(),
        }
    });
    rows.collect()
}

#[expect(clippy::cast_precision_loss, reason = "a line of a sparkline")]
fn ratio(share: Share) -> f64 {
    share.used as f64 / share.total.max(1) as f64
}

fn tiles(
    (status, stats, found): (&Status, &Stats, &Found),
    workers: usize,
    samples: &[Sample],
) -> Vec<Tile> {
    let line = |value: fn(&Sample) -> f64, ceiling| {
        let values: Vec<f64> = samples.iter().map(value).collect();
        spark(&values, ceiling)
    };
    let tile = |name, value: String, note: String| Tile {
        name,
        value,
        note,
        spark: None,
        percent: None,
    };
    let state = if status.gateway_running {
        "running"
    } else {
        "stopped"
    };
    let mut tiles = vec![
        tile(
            "Gateway",
            state.to_owned(),
            format!("{} turns on their way", status.active_agents),
        ),
        Tile {
            spark: line(|sample| sample.workers, None),
            ..tile(
                "Workers",
                workers.to_string(),
                format!("card{} being worked on", plural(workers)),
            )
        },
        if found.has_dispatcher {
            tile(
                "Dispatcher",
                "running".to_owned(),
                "starts ready cards".to_owned(),
            )
        } else {
            tile(
                "Dispatcher",
                "none".to_owned(),
                "hermes gateway start".to_owned(),
            )
        },
        tile(
            "Conversations",
            status.active_sessions.to_string(),
            "active just now".to_owned(),
        ),
    ];
    if let Some(count) = found.sandboxes {
        let note = format!("container{} of this home", plural(count));
        tiles.push(tile("Sandboxes", count.to_string(), note));
    }
    if let Some(memory) = stats.memory {
        tiles.push(Tile {
            spark: line(|sample| sample.memory, Some(1.0)),
            ..tile(
                "Memory",
                format!("{} %", memory.percent()),
                format!("{} of {}", bytes(memory.used), bytes(memory.total)),
            )
        });
    }
    if let Some(load) = stats.load_avg.first() {
        let cores = stats.cpu_count.unwrap_or(1);
        tiles.push(Tile {
            spark: line(|sample| sample.load, None),
            ..tile(
                "Load",
                format!("{load:.2}"),
                format!("{cores} core{}", plural(cores as usize)),
            )
        });
    }
    if let Some(disk) = stats.disk {
        let free = bytes(disk.total.saturating_sub(disk.used));
        tiles.push(Tile {
            percent: Some(disk.percent()),
            ..tile(
                "Disk",
                format!("{} %", disk.percent()),
                format!("{free} free where the home is"),
            )
        });
    }
    tiles
}

fn facts(status: &Status, stats: &Stats, context: &Context) -> Vec<(&'static str, String)> {
    let short = |path: &str| context.location.display(Path::new(path));
    let process = stats.process.as_ref();
    let process = process.map(|own| format!("pid {}, {}", own.pid, bytes(own.rss)));
    let logins = if status.auth_required {
        "needed"
    } else {
        "not needed on this machine"
    };
    let all = [
        ("Version", status.version.clone()),
        ("Home", short(&status.hermes_home)),
        ("Settings", short(&status.config_path)),
        ("Machine", stats.hostname.clone()),
        ("System", stats.platform.clone()),
        ("Up", stats.uptime_seconds.map(span).unwrap_or_default()),
        ("Dashboard", process.unwrap_or_default()),
        ("Login", logins.to_owned()),
    ];
    all.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let mut troubles = Vec::new();
    let status: Status = source.get("/api/status").await.unwrap_or_else(|trouble| {
        troubles.push(trouble);
        Status::default()
    });
    // What a part of the page cannot be told is left out of it.
    let stats: Stats = source.get("/api/system/stats").await.unwrap_or_default();
    let profiles: Profiles = source.get("/api/profiles").await.unwrap_or_else(|trouble| {
        troubles.push(trouble);
        Profiles::default()
    });
    let workers: Workers = source
        .get("/api/plugins/kanban/workers/active")
        .await
        .unwrap_or_else(|trouble| {
            troubles.push(trouble);
            Workers::default()
        });
    #[expect(clippy::cast_precision_loss, reason = "a handful of workers")]
    let sample = Sample {
        at: now(),
        memory: stats.memory.map_or(0.0, ratio),
        load: stats.load_avg.first().copied().unwrap_or_default(),
        workers: workers.workers.len() as f64,
    };
    let samples = call.app.samples.add(sample);
    let context = call.context();
    let found = off_loop(move || Ok(Found::look(&context))).await?;
    let mut shell = frame::shell(&call, "Status", "status");
    shell.refresh = Some(4);
    let page = StatusPage {
        tiles: tiles((&status, &stats, &found), workers.workers.len(), &samples),
        gateways: gateways(&status, &profiles, &shell.profile),
        gateway_running: status.gateway_running,
        platforms: platforms(&status),
        workers: workers.workers,
        facts: facts(&status, &stats, &call.context()),
        troubles,
        shell,
        now: now(),
    };
    html(&page)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_share_of_nothing_is_nothing() {
        assert_eq!(Share::default().percent(), 0);
        assert_eq!(
            Share {
                total: 1_000,
                used: 250
            }
            .percent(),
            25
        );
    }
}
