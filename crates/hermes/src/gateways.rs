//! What is known about gateways from outside.

use std::path::{Path, PathBuf};

use hermes_home::profiles::names;
use hermes_home::{ProfileName, gateway_elsewhere, gateway_pid};
use hermes_supervise::StateFile;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// The gateway of one home.
pub(crate) struct GatewayRow {
    /// The profile; `custom` for a home of its own.
    pub(crate) name: String,
    pub(crate) is_current: bool,
    pub(crate) pid: Option<u32>,
    /// The host of one that lives in another container or on another machine.
    pub(crate) other_host: Option<String>,
    /// What the state file says, whoever wrote it.
    pub(crate) state: Option<Map<String, Value>>,
}

impl GatewayRow {
    fn of_home(name: String, home: &Path, is_current: bool) -> Self {
        let pid = gateway_pid(home);
        Self {
            name,
            is_current,
            pid,
            other_host: pid.map_or_else(|| gateway_elsewhere(home), |_| None),
            state: StateFile::of_home(home).read(),
        }
    }

    /// What is said of one that does not run.
    pub(crate) fn absence(&self) -> String {
        match &self.other_host {
            Some(host) => format!("not running here, but on host {}", one_line(host, 64)),
            None => "not running".to_owned(),
        }
    }

    /// A text of the state file.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.state.as_ref()?.get(name)?.as_str()
    }

    /// The state of a gateway that runs; a dead one may have left anything.
    pub(crate) fn live_state(&self) -> Option<&str> {
        self.pid.and_then(|_| self.text("gateway_state"))
    }

    /// Services that need attention: name, state, note.
    pub(crate) fn services(&self) -> Vec<(&str, &str, &str)> {
        let Some(state) = self.state.as_ref().filter(|_| self.pid.is_some()) else {
            return Vec::new();
        };
        let services = state.get("services").and_then(Value::as_object);
        let rows = services.into_iter().flatten().map(|(name, row)| {
            let text = |field: &str| row.get(field).and_then(Value::as_str).unwrap_or_default();
            (name.as_str(), text("state"), text("note"))
        });
        rows.collect()
    }

    /// The record of `--json`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "current": self.is_current,
            "running": self.pid.is_some(),
            "pid": self.pid,
            "other_host": self.other_host,
            "gateway_state": self.live_state(),
            "desired_state": self.text("desired_state"),
        })
    }
}

/// The gateway of the home in use.
pub(crate) fn gateway_row(context: &Context) -> GatewayRow {
    let name = context.location.profile_label().to_owned();
    GatewayRow::of_home(name, &context.location.home, true)
}

/// The gateways of all profiles, and of the home in use if it belongs to none.
pub(crate) fn all_gateways(context: &Context) -> Result<Vec<GatewayRow>> {
    let mut rows = Vec::new();
    if context.current.is_none() {
        rows.push(gateway_row(context));
    }
    for (name, home) in homes(context)? {
        let is_current = context.current.as_ref() == Some(&name);
        rows.push(GatewayRow::of_home(name.to_string(), &home, is_current));
    }
    Ok(rows)
}

/// The homes of all profiles.
pub(crate) fn homes(context: &Context) -> Result<Vec<(ProfileName, PathBuf)>> {
    let location = &context.location;
    let names = names(location)?.into_iter();
    Ok(names
        .map(|name| {
            let home = location.profile_home(&name);
            (name, home)
        })
        .collect())
}

/// Who looks after gateways of this machine.
pub(crate) fn manager(context: &Context) -> &'static str {
    if hermes_home::is_container(&context.env, &context.system) {
        "docker (foreground)"
    } else {
        "manual process"
    }
}
