//! What runs day and night: gateway, platforms, board, schedule.

use super::super::key::{
    Fallback, Kind, choice, custom, flag, int, list, map, positive, switch, text, whole,
};

sections! {
    /// The task board and its dispatcher.
    "kanban" open = true {
        /// Address of the PostgreSQL server that boards are on, for several machines; empty means a file
        /// per board on this machine.
        "database": text("");
        /// Directory that all machines of a board on a server see, for attachments and workspaces on
        /// their way; empty means that they go through the database.
        "shared_files": text("");
        /// Most bytes of one attachment or scratch workspace that goes to another machine.
        "transfer_max_file_bytes": positive(67_108_864);
        /// Most bytes of all that of one card.
        "transfer_max_bytes": positive(268_435_456);
        /// Whether the gateway dispatches ready cards.
        "dispatch_in_gateway": flag(true);
        /// Seconds between two ticks of the dispatcher.
        "dispatch_interval_seconds": whole(60);
        /// Failures after which a card is blocked.
        "failure_limit": int(2);
        /// Size at which a worker's log is rotated.
        "worker_log_rotate_bytes": int(2_097_152);
        /// Rotated logs kept per worker.
        "worker_log_backup_count": int(1);
        /// Profile that splits large cards.
        "orchestrator_profile": text("");
        /// Profile for cards without one.
        "default_assignee": text("");
        /// Most cards in progress; empty means no limit.
        "max_spawn": custom(Kind::IntOr(&[]), Fallback::Null);
        /// Most cards in progress; `auto` goes by the memory, empty means no limit.
        "max_in_progress": custom(Kind::IntOr(&["auto"]), Fallback::Null);
        /// Most cards in progress per profile; empty means no limit.
        "max_in_progress_per_profile": custom(Kind::IntOr(&[]), Fallback::Null);
        /// Most cards in progress on this host, its slots; `auto` goes by the memory, empty means no limit.
        "max_in_progress_per_host": custom(Kind::IntOr(&["auto"]), Fallback::Null);
        /// Name of this host on boards that several machines share; empty means that of the machine.
        "host_name": text("");
        /// Labels of this host, a list or a text with commas; cards can ask for them (`--host gpu`).
        "host_labels": custom(Kind::Any, Fallback::Texts(&[]));
        /// Which cards of a profile count for that limit: those of the same `board`, or those of all
        /// boards of the `home`.
        "cap_scope": choice(&["board", "home"], "board");
        /// Whether the parts of a split card become ready at once.
        "auto_promote_children": flag(true);
        /// Whether a chat subscribes to the cards its agent creates.
        "auto_subscribe_on_create": flag(true);
        /// Directories, besides its own workspace, in which an agent may let cards be worked on.
        "workspace_roots": list();
        /// Seconds each acceptance check of a card may take.
        "check_timeout_seconds": positive(600);
        /// Failures in a row that are reported; empty means `failure_limit`.
        "diagnostics.failure_threshold": int(0).null();
        /// Crashes in a row that are reported.
        "diagnostics.crash_threshold": int(2);
        /// Hours after which a blocked card that nobody answers is reported.
        "diagnostics.blocked_stale_hours": whole(24);
        /// Seconds after which a ready card that nobody claims is reported.
        "diagnostics.stranded_threshold_seconds": whole(1800);
        /// Blocks after an unblock that are reported.
        "diagnostics.block_cycle_threshold": int(3);
        /// Seconds in which those are counted.
        "diagnostics.block_cycle_window_seconds": whole(86_400);
        /// Whether large cards are split automatically.
        "auto_decompose": flag(true);
        /// Most cards split per tick.
        "auto_decompose_per_tick": int(3);
        /// Seconds after which a silent worker counts as dead.
        "dispatch_stale_timeout_seconds": int(14_400);
    }

    /// The gateway process.
    "gateway" open = true {
        /// Whether only files in allowed directories are delivered.
        "strict": flag(false).var("HERMES_MEDIA_DELIVERY_STRICT");
        /// Directories whose files may be delivered.
        "media_delivery_allow_dirs": list().var("HERMES_MEDIA_ALLOW_DIRS");
        /// Whether newly created files may be delivered.
        "trust_recent_files": flag(true).var("HERMES_MEDIA_TRUST_RECENT_FILES");
        /// Seconds for which a file counts as newly created.
        "trust_recent_files_seconds": int(600).var("HERMES_MEDIA_TRUST_RECENT_FILES_SECONDS");
        /// Whether the default gateway serves all profiles, as that of the Python runtime can: the slots of
        /// the others stay down when a container boots.
        "multiplex_profiles": flag(false).var("GATEWAY_MULTIPLEX_PROFILES");
        /// Seconds a platform may take to connect.
        "platform_connect_timeout": whole(30);
        /// Largest file accepted from a chat.
        "max_inbound_media_bytes": int(134_217_728);
        /// Restarts requested by chat within the window.
        "restart_loop_guard.max_restarts": int(3);
        /// That window.
        "restart_loop_guard.window_seconds": int(60);
        /// Starts within the window before restarts are held back.
        "respawn_storm.max_starts": int(5).var("HERMES_GATEWAY_MAX_STARTS");
        /// That window.
        "respawn_storm.window_seconds": int(120).var("HERMES_GATEWAY_START_WINDOW_S");
        /// Watchdog period under systemd; 0 means none.
        "systemd_watchdog_seconds": int(0);
        /// Runs the API serves at once.
        "api_server.max_concurrent_runs": int(10);
        /// Fewest characters of the API server's key; never below 8.
        "api_server.min_key_length": int(8);
        /// Megabytes of conversations that stay open between two requests; others are read from
        /// `state.db` again.
        // No more, because a gateway with a thousand idle sessions of 200 KB must stay below 64 MB,
        // and opening one again costs a query.
        "agent_cache_mb": int(32);
    }

    /// Chat platforms and the API server, by name.
    "platforms" open = true {
        /// Whether the API server is on; unset means on if there is a key.
        "api_server.enabled": switch(false).unset().var("API_SERVER_ENABLED");
        /// Address it listens on.
        "api_server.extra.host": text("").unset().var("API_SERVER_HOST");
        /// Port it listens on. If unset, 8642 for the default profile and `gateway_port` of `profile.yaml` for others.
        "api_server.extra.port": int(0).unset().var("API_SERVER_PORT");
        /// The key that its clients send; better kept in `.env` as `API_SERVER_KEY`.
        "api_server.extra.key": text("").unset().secret();
        /// Origins whose pages may use it, as a list or separated by commas; `*` means all.
        "api_server.extra.cors_origins": custom(Kind::Any, Fallback::Unset).var("API_SERVER_CORS_ORIGINS");
        /// Name of the model that it offers; empty means the profile's name.
        "api_server.extra.model_name": text("").unset().var("API_SERVER_MODEL_NAME");
        /// Further names of models, each with `model` and perhaps `provider`.
        "api_server.extra.model_routes": map().unset();
        /// Whether it is used.
        "*.enabled": flag(false);
        /// Its bot token; better kept in `.env`.
        "*.token": text("").unset().secret();
        /// Its key; better kept in `.env`.
        "*.api_key": text("").unset().secret();
        /// Further settings.
        "*.extra": map().unset();
        /// Where notices of this platform go.
        "*.home_channel": map().unset();
    }

    /// Scheduled jobs.
    "cron" open = true {
        /// Whether delivered results carry a header and footer.
        "wrap_response": flag(true);
        /// Jobs that may run at once; 0 means no limit, empty means 8.
        "max_parallel_jobs": int(0).null().var("HERMES_CRON_MAX_PARALLEL");
        /// Outputs kept per job; 0 keeps all.
        "output_retention": int(50);
        /// Seconds a script of a job may take.
        "script_timeout_seconds": int(3600).var("HERMES_CRON_SCRIPT_TIMEOUT");
        /// What becomes of runs of a recurring job that were missed: `run` makes up for one of them,
        /// `skip` for none.
        "catch_up": choice(&["run", "skip"], "run");
        /// Hours by which a job that runs once may be late; a later one is recorded as missed.
        "oneshot_max_late_hours": whole(24);
        /// Who schedules jobs instead of the gateway.
        "provider": text("");
    }
}
