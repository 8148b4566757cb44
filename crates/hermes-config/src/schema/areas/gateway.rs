//! What runs day and night: gateway, platforms, board, schedule.

use super::super::key::{
    Fallback, Kind, Section, custom, flag, int, list, map, positive, text, whole,
};

pub(super) const KANBAN: Section = Section {
    name: "kanban",
    doc: "The task board and its dispatcher.",
    open: true,
    keys: &[
        flag(
            "dispatch_in_gateway",
            true,
            "Whether the gateway dispatches ready cards.",
        ),
        whole(
            "dispatch_interval_seconds",
            60,
            "Seconds between two ticks of the dispatcher.",
        ),
        int(
            "failure_limit",
            2,
            "Failures after which a card is blocked.",
        ),
        int(
            "worker_log_rotate_bytes",
            2_097_152,
            "Size at which a worker's log is rotated.",
        ),
        int(
            "worker_log_backup_count",
            1,
            "Rotated logs kept per worker.",
        ),
        text(
            "orchestrator_profile",
            "",
            "Profile that splits large cards.",
        ),
        text("default_assignee", "", "Profile for cards without one."),
        custom(
            "max_spawn",
            Kind::IntOr(&[]),
            Fallback::Null,
            "Most cards in progress; empty means no limit.",
        ),
        custom(
            "max_in_progress",
            Kind::IntOr(&["auto"]),
            Fallback::Null,
            "Most cards in progress; `auto` goes by the memory, empty means no limit.",
        ),
        custom(
            "max_in_progress_per_profile",
            Kind::IntOr(&[]),
            Fallback::Null,
            "Most cards in progress per profile; empty means no limit.",
        ),
        flag(
            "auto_promote_children",
            true,
            "Whether the parts of a split card become ready at once.",
        ),
        flag(
            "auto_subscribe_on_create",
            true,
            "Whether a chat follows the cards its agent files.",
        ),
        positive(
            "check_timeout_seconds",
            600,
            "Seconds each acceptance check of a card may take.",
        ),
        int(
            "diagnostics.failure_threshold",
            0,
            "Failures in a row that are reported; empty means `failure_limit`.",
        )
        .null(),
        int(
            "diagnostics.crash_threshold",
            2,
            "Crashes in a row that are reported.",
        ),
        whole(
            "diagnostics.blocked_stale_hours",
            24,
            "Hours after which a blocked card that nobody answers is reported.",
        ),
        whole(
            "diagnostics.stranded_threshold_seconds",
            1800,
            "Seconds after which a ready card that nobody takes is reported.",
        ),
        int(
            "diagnostics.block_cycle_threshold",
            3,
            "Blocks after an unblock that are reported.",
        ),
        whole(
            "diagnostics.block_cycle_window_seconds",
            86_400,
            "Seconds in which those are counted.",
        ),
        flag(
            "auto_decompose",
            true,
            "Whether large cards are split by themselves.",
        ),
        int(
            "auto_decompose_per_tick",
            3,
            "Most cards split at one look.",
        ),
        int(
            "dispatch_stale_timeout_seconds",
            14_400,
            "Seconds after which a silent worker counts as dead.",
        ),
    ],
};

pub(super) const GATEWAY: Section = Section {
    name: "gateway",
    doc: "The gateway process.",
    open: true,
    keys: &[
        flag(
            "strict",
            false,
            "Whether only files of allowed directories are delivered.",
        )
        .var("HERMES_MEDIA_DELIVERY_STRICT"),
        list(
            "media_delivery_allow_dirs",
            "Directories whose files may be delivered.",
        )
        .var("HERMES_MEDIA_ALLOW_DIRS"),
        flag(
            "trust_recent_files",
            true,
            "Whether files just made may be delivered.",
        )
        .var("HERMES_MEDIA_TRUST_RECENT_FILES"),
        int(
            "trust_recent_files_seconds",
            600,
            "How long a file counts as just made.",
        )
        .var("HERMES_MEDIA_TRUST_RECENT_FILES_SECONDS"),
        flag(
            "multiplex_profiles",
            false,
            "Whether the default gateway serves all profiles.",
        )
        .var("GATEWAY_MULTIPLEX_PROFILES"),
        whole(
            "platform_connect_timeout",
            30,
            "Seconds a platform may take to connect.",
        ),
        int(
            "max_inbound_media_bytes",
            134_217_728,
            "Largest file accepted from a chat.",
        ),
        int(
            "restart_loop_guard.max_restarts",
            3,
            "Restarts asked for by chat within the window.",
        ),
        int("restart_loop_guard.window_seconds", 60, "That window."),
        int(
            "respawn_storm.max_starts",
            5,
            "Starts within the window before the brake.",
        ),
        int("respawn_storm.window_seconds", 120, "That window."),
        int(
            "systemd_watchdog_seconds",
            0,
            "Watchdog period under systemd; 0 means none.",
        ),
        int(
            "api_server.max_concurrent_runs",
            10,
            "Runs the API serves at once.",
        ),
    ],
};

pub(super) const PLATFORMS: Section = Section {
    name: "platforms",
    doc: "Chat platforms and the API server, by name.",
    open: false,
    keys: &[
        map("", "Name of a platform to its settings."),
        flag("*.enabled", false, "Whether it is used."),
        text("*.token", "", "Its bot token; better kept in `.env`.")
            .unset()
            .secret(),
        text("*.api_key", "", "Its key; better kept in `.env`.")
            .unset()
            .secret(),
        map(
            "*.extra",
            "Further settings (`platforms.api_server.extra.host`, `.port`, `.key`).",
        )
        .unset(),
        map("*.home_channel", "Where notices of this platform go.").unset(),
    ],
};

pub(super) const CRON: Section = Section {
    name: "cron",
    doc: "Scheduled jobs.",
    open: true,
    keys: &[
        flag(
            "wrap_response",
            true,
            "Whether results carry a header and footer.",
        ),
        int(
            "max_parallel_jobs",
            0,
            "Jobs that may run at once; empty means no limit.",
        )
        .null(),
        int("output_retention", 50, "Outputs kept per job."),
        text(
            "provider",
            "",
            "Provider for jobs; empty means the usual one.",
        ),
    ],
};
