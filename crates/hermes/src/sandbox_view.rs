//! The sandbox of this machine's commands for people and programs: what it allows, and what of that
//! the kernel enforces. For `sandbox policy`, `doctor` and the receipt of a child environment.

use std::path::Path;

use hermes_policy::{SandboxMode, SandboxPolicy};
use hermes_proc::sandbox::{Enforcement, Network};
use hermes_runtime::{live_environment, local_sandbox};
use serde_json::{Value, json};

use crate::context::Context;

/// The sandbox as it would be now.
pub(crate) struct SandboxView {
    pub(crate) mode: SandboxMode,
    pub(crate) policy: SandboxPolicy,
    /// What is enforced, or why nothing can be.
    pub(crate) enforcement: Result<Enforcement, String>,
}

impl SandboxView {
    /// Looks, and has the kernel try; changes nothing.
    pub(crate) fn of(context: &Context) -> Self {
        let directory = context.system.start_dir.clone().unwrap_or_default();
        let sandbox = local_sandbox(context, &live_environment(context), directory);
        Self {
            mode: sandbox.settings().mode,
            policy: sandbox.policy(),
            enforcement: sandbox.probe(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
            paths.iter().map(|path| shown(path)).collect()
        };
        let writable = self.policy.writable.iter();
        let writable: Vec<Value> = writable
            .map(|it| json!({"path": shown(&it.path), "reason": it.reason.word()}))
            .collect();
        let (enforced, gaps) = match &self.enforcement {
            Ok(found) => (
                json!({
                    "landlock": found.landlock,
                    "namespaces": found.namespaces,
                    "seccomp": true,
                }),
                found.gaps.as_slice(),
            ),
            Err(_) => (Value::Null, &[][..]),
        };
        let gaps: Vec<Value> = gaps
            .iter()
            .map(|gap| json!({"id": gap.id, "what": gap.what, "reason": gap.reason}))
            .collect();
        json!({
            "mode": self.mode.word(),
            "network": network_word(self.policy.network),
            "enforced": enforced,
            "not_enforced": gaps,
            "error": self.enforcement.as_ref().err(),
            "writable": writable,
            "protected": paths(&self.policy.protected),
            "hidden": paths(&self.policy.hidden),
            "unreachable_sockets": paths(&self.policy.sockets),
            "warnings": self.policy.warnings,
        })
    }

    /// The mechanisms in use, or why there are none.
    pub(crate) fn summary(&self) -> String {
        match &self.enforcement {
            Ok(found) => format!("enforced by {}", found.summary()),
            Err(reason) => format!("not available: {reason}"),
        }
    }
}

pub(crate) fn network_word(network: Network) -> &'static str {
    match network {
        Network::On => "on",
        Network::Loopback => "loopback",
        Network::Off => "off",
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
