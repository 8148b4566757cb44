//! What a full backup leaves out and what an import never brings back. Pure: names in, verdict out.

use std::path::Path;

use super::journal;

/// Left out wherever they are: what can be made again, and other backups.
const ANYWHERE: [&str; 15] = [
    "__pycache__",
    ".git",
    "node_modules",
    ".venv",
    "venv",
    "site-packages",
    ".cache",
    ".tox",
    ".nox",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    "backups",
    "checkpoints",
    "lazy-packages",
];

/// Identity of processes that run now.
const RUNTIME: [&str; 3] = ["gateway.pid", "cron.pid", "gateway.lock"];

/// Never restored into a home: they describe processes of the machine the backup was made on. An
/// imported state "stopped" has kept hosted gateways from starting.
const NEVER_RESTORED: [&str; 6] = [
    "gateway_state.json",
    "gateway.pid",
    "gateway.lock",
    "cron.pid",
    "processes.json",
    // Runs that were interrupted long ago, or that went on since.
    "api_turns.db",
];

/// Whether a full backup leaves out the entry at `relative`; its parents are not.
pub(super) fn is_excluded(relative: &Path) -> bool {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let name = name.as_ref();
    let at_root = relative.components().count() == 1;
    ANYWHERE.contains(&name)
        || RUNTIME.contains(&name)
        || [".pyc", ".pyo"]
            .iter()
            .any(|suffix| name.strip_suffix(suffix).is_some())
        || hermes_store::is_sidecar_name(name)
        || (at_root && (name == "hermes-agent" || journal::is_own_name(name)))
}

/// Whether an import never brings back the member at `relative`.
pub(super) fn is_never_restored(relative: &Path) -> bool {
    let relative = relative.to_string_lossy();
    let parts: Vec<&str> = relative.split('/').collect();
    match parts.as_slice() {
        [name] | ["profiles", _, name] if NEVER_RESTORED.contains(name) => true,
        [first, ..] if journal::is_own_name(first) => true,
        [.., name] => hermes_store::is_sidecar_name(name),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_leave_out_what_can_be_made_again() {
        for path in [
            "hermes-agent",
            "profiles/a/home/.cache",
            "workspace/x/.git",
            "backups",
            "skills/a/b.pyc",
            "profiles/a/state.db-wal",
            "gateway.lock",
            "profiles/a/gateway.pid",
            ".import.journal",
            ".import.tmp-12",
        ] {
            assert!(is_excluded(Path::new(path)), "{path}");
        }
        for path in [
            ".env",
            "auth.json",
            "state.db",
            "state-snapshots",
            "workspace/hermes-agent",
            "gateway_state.json",
            "gitignore",
        ] {
            assert!(!is_excluded(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn imports_never_bring_back_processes() {
        for path in [
            "gateway_state.json",
            "profiles/coder/processes.json",
            "cron.pid",
            "profiles/coder/api_turns.db",
            "a/b/state.db-shm",
            ".import.journal",
            ".import.tmp-7/x",
        ] {
            assert!(is_never_restored(Path::new(path)), "{path}");
        }
        for path in ["config.yaml", "workspace/app/processes.json", "state.db"] {
            assert!(!is_never_restored(Path::new(path)), "{path}");
        }
    }
}
