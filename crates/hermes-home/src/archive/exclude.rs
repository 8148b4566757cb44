//! What an export leaves out. Pure: names in, verdict out.
//!
//! Two reasons to leave something out: it is a secret or a copy of one, or it belongs to this
//! machine at this moment (caches, locks, markers of a running gateway).

use std::path::Path;

/// The only root entries of the default profile that are exported. Its home is also the root of
/// everything else, so here the list says what goes in.
const DEFAULT_PROFILE: [&str; 18] = [
    "config.yaml",
    "SOUL.md",
    "MEMORY.md",
    "USER.md",
    "todo.json",
    "system_prompt.md",
    "AGENTS.md",
    "CLAUDE.md",
    ".cursorrules",
    "profile.yaml",
    "skills",
    "cron",
    "scripts",
    "sessions",
    "plugins",
    "memories",
    "knowledge",
    "preferences",
];

/// Secrets, at any depth.
const CREDENTIALS: [&str; 3] = ["auth.json", "auth.lock", ".env"];

/// Caches at any depth.
const CACHES: [&str; 2] = ["__pycache__", ".cache"];

/// Root entries that belong to this machine or hold copies of secrets: snapshots and backups
/// contain `.env` and an unblanked `config.yaml`.
const ROOT_ENTRIES: [&str; 13] = [
    "image_cache",
    "audio_cache",
    "cache",
    "backups",
    "state-snapshots",
    "processes.json",
    "gateway-starts.log",
    "api_turns.db",
    ".gateway-takeover.json",
    ".gateway-planned-stop.json",
    ".drain_request.json",
    ".clean_shutdown",
    ".restart_notify.json",
];

/// Beginnings of such names: gateway identity and state with their locks, update hand-over, and
/// the dated copies that configuration commands put beside the originals.
const ROOT_PREFIXES: [&str; 6] = [
    "gateway.",
    "gateway_state.json",
    ".update_",
    ".env.",
    "auth.json.",
    "config.yaml.",
];

/// Whether the entry at `relative` (below the home) stays out of the archive.
pub(super) fn is_excluded(relative: &Path, is_default: bool) -> bool {
    let mut components = relative.components();
    let Some(first) = components.next() else {
        return false;
    };
    let first = first.as_os_str().to_string_lossy();
    let at_root = components.next().is_none();
    if is_default && !DEFAULT_PROFILE.contains(&first.as_ref()) {
        return true;
    }
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let name = name.as_ref();
    let anywhere = CREDENTIALS.contains(&name)
        || CACHES.contains(&name)
        || name.strip_suffix(".tmp").is_some()
        || hermes_store::is_sidecar_name(name);
    let root_only =
        ROOT_ENTRIES.contains(&name) || ROOT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    anywhere || (at_root && root_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(path: &str) -> bool {
        is_excluded(Path::new(path), false)
    }

    #[test]
    fn secrets_and_their_copies_stay_home() {
        for path in [
            ".env",
            "auth.json",
            "auth.lock",
            "skills/x/.env",
            "home/app/auth.json",
            ".env.bak",
            "config.yaml.corrupt.20260101-000000.bak",
            "state-snapshots",
            "backups",
        ] {
            assert!(excluded(path), "{path}");
        }
    }

    #[test]
    fn runtime_files_stay_home() {
        for path in [
            "gateway.pid",
            "gateway.lock",
            "gateway_state.json",
            "gateway_state.json.lock",
            ".update_check",
            ".clean_shutdown",
            "api_turns.db",
            "cache",
            "state.db-wal",
            "a/b.tmp",
            "skills/x/__pycache__",
        ] {
            assert!(excluded(path), "{path}");
        }
    }

    #[test]
    fn the_rest_goes_along() {
        for path in [
            "config.yaml",
            "SOUL.md",
            "state.db",
            "skills/web/gateway.py",
            "skills/x/cache",
            "skills/x/.env.example",
            "sessions/a.json",
        ] {
            assert!(!excluded(path), "{path}");
        }
    }

    #[test]
    fn the_default_profile_exports_a_fixed_list() {
        let excluded = |path: &str| is_excluded(Path::new(path), true);
        for path in ["config.yaml", "skills", "skills/a/b", "memories/USER.md"] {
            assert!(!excluded(path), "{path}");
        }
        for path in ["profiles", "kanban.db", "state.db", "logs", "skills/.env"] {
            assert!(excluded(path), "{path}");
        }
    }
}
