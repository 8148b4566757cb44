//! The tables: those of the reference, in its order, and ours behind them.
//!
//! Columns, their order and the names of indexes are shared with another program. Nothing here is
//! ever changed or removed; what is new goes to the end, may be missing, and is ignored there.

/// A table and what a new one is made with.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) create: &'static str,
    /// Columns that old files may lack, with what adds them, in the order they came to be.
    pub(crate) late: &'static [(&'static str, &'static str)],
}

pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "tasks",
        create: "CREATE TABLE IF NOT EXISTS tasks (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            body TEXT,
            assignee TEXT,
            status TEXT NOT NULL,
            priority INTEGER DEFAULT 0,
            created_by TEXT,
            created_at INTEGER NOT NULL,
            started_at INTEGER,
            completed_at INTEGER,
            workspace_kind TEXT NOT NULL DEFAULT 'scratch',
            workspace_path TEXT,
            branch_name TEXT,
            project_id TEXT,
            claim_lock TEXT,
            claim_expires INTEGER,
            tenant TEXT,
            result TEXT,
            idempotency_key TEXT,
            consecutive_failures INTEGER NOT NULL DEFAULT 0,
            worker_pid INTEGER,
            last_failure_error TEXT,
            max_runtime_seconds INTEGER,
            last_heartbeat_at INTEGER,
            current_run_id INTEGER,
            workflow_template_id TEXT,
            current_step_key TEXT,
            skills TEXT,
            model_override TEXT,
            max_retries INTEGER,
            goal_mode INTEGER NOT NULL DEFAULT 0,
            goal_max_turns INTEGER,
            session_id TEXT,
            block_kind TEXT,
            block_recurrences INTEGER NOT NULL DEFAULT 0,
            scheduled_at INTEGER,
            sandbox TEXT,
            filed_within TEXT,
            host_labels TEXT,
            host_name TEXT,
            repository TEXT
        )",
        late: &[
            ("tenant", "tenant TEXT"),
            ("result", "result TEXT"),
            ("branch_name", "branch_name TEXT"),
            ("project_id", "project_id TEXT"),
            ("idempotency_key", "idempotency_key TEXT"),
            (
                "consecutive_failures",
                "consecutive_failures INTEGER NOT NULL DEFAULT 0",
            ),
            ("worker_pid", "worker_pid INTEGER"),
            ("last_failure_error", "last_failure_error TEXT"),
            ("max_runtime_seconds", "max_runtime_seconds INTEGER"),
            ("last_heartbeat_at", "last_heartbeat_at INTEGER"),
            ("current_run_id", "current_run_id INTEGER"),
            ("workflow_template_id", "workflow_template_id TEXT"),
            ("current_step_key", "current_step_key TEXT"),
            ("skills", "skills TEXT"),
            ("max_retries", "max_retries INTEGER"),
            ("model_override", "model_override TEXT"),
            ("goal_mode", "goal_mode INTEGER NOT NULL DEFAULT 0"),
            ("goal_max_turns", "goal_max_turns INTEGER"),
            ("session_id", "session_id TEXT"),
            ("sandbox", "sandbox TEXT"),
            ("filed_within", "filed_within TEXT"),
            ("repository", "repository TEXT"),
            ("block_kind", "block_kind TEXT"),
            (
                "block_recurrences",
                "block_recurrences INTEGER NOT NULL DEFAULT 0",
            ),
            ("scheduled_at", "scheduled_at INTEGER"),
            ("host_labels", "host_labels TEXT"),
            ("host_name", "host_name TEXT"),
        ],
    },
    Table {
        name: "task_links",
        create: "CREATE TABLE IF NOT EXISTS task_links (
            parent_id TEXT NOT NULL,
            child_id TEXT NOT NULL,
            PRIMARY KEY (parent_id, child_id)
        )",
        late: &[],
    },
    Table {
        name: "task_comments",
        create: "CREATE TABLE IF NOT EXISTS task_comments (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task_id TEXT NOT NULL,
            author TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at INTEGER NOT NULL
        )",
        late: &[],
    },
    Table {
        name: "task_events",
        create: "CREATE TABLE IF NOT EXISTS task_events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task_id TEXT NOT NULL,
            run_id INTEGER,
            kind TEXT NOT NULL,
            payload TEXT,
            created_at INTEGER NOT NULL
        )",
        late: &[("run_id", "run_id INTEGER")],
    },
    Table {
        name: "task_runs",
        create: "CREATE TABLE IF NOT EXISTS task_runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task_id TEXT NOT NULL,
            profile TEXT,
            step_key TEXT,
            status TEXT NOT NULL,
            claim_lock TEXT,
            claim_expires INTEGER,
            worker_pid INTEGER,
            max_runtime_seconds INTEGER,
            last_heartbeat_at INTEGER,
            started_at INTEGER NOT NULL,
            ended_at INTEGER,
            outcome TEXT,
            summary TEXT,
            metadata TEXT,
            error TEXT,
            host_id TEXT,
            host_name TEXT
        )",
        late: &[("host_id", "host_id TEXT"), ("host_name", "host_name TEXT")],
    },
    Table {
        name: "task_attachments",
        create: "CREATE TABLE IF NOT EXISTS task_attachments (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task_id TEXT NOT NULL,
            filename TEXT NOT NULL,
            stored_path TEXT NOT NULL,
            content_type TEXT,
            size INTEGER NOT NULL DEFAULT 0,
            uploaded_by TEXT,
            created_at INTEGER NOT NULL
        )",
        late: &[],
    },
    Table {
        name: "kanban_notify_subs",
        create: "CREATE TABLE IF NOT EXISTS kanban_notify_subs (
            task_id TEXT NOT NULL,
            platform TEXT NOT NULL,
            chat_id TEXT NOT NULL,
            thread_id TEXT NOT NULL DEFAULT '',
            user_id TEXT,
            notifier_profile TEXT,
            created_at INTEGER NOT NULL,
            last_event_id INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (task_id, platform, chat_id, thread_id)
        )",
        late: &[("notifier_profile", "notifier_profile TEXT")],
    },
    // From here on the tables are ours alone. They are not STRICT: an SQLite before 3.37, which the
    // reference may come with, could not open the file at all then.
    Table {
        name: "task_checks",
        create: "CREATE TABLE IF NOT EXISTS task_checks (
            task_id TEXT NOT NULL,
            position INTEGER NOT NULL CHECK (position >= 1),
            command TEXT NOT NULL CHECK (command <> ''),
            created_at INTEGER NOT NULL,
            on_host INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (task_id, position)
        )",
        late: &[("on_host", "on_host INTEGER NOT NULL DEFAULT 0")],
    },
    Table {
        name: "task_check_sessions",
        create: "CREATE TABLE IF NOT EXISTS task_check_sessions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            task_id TEXT NOT NULL,
            run_id INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'passed', 'failed', 'abandoned')),
            checker TEXT NOT NULL,
            checker_pid INTEGER NOT NULL,
            checker_start INTEGER,
            checker_boot TEXT,
            request TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            ended_at INTEGER,
            status_before TEXT,
            CHECK ((state = 'pending') = (ended_at IS NULL))
        )",
        late: &[("status_before", "status_before TEXT")],
    },
    Table {
        name: "task_check_results",
        create: "CREATE TABLE IF NOT EXISTS task_check_results (
            session_id INTEGER NOT NULL,
            position INTEGER NOT NULL,
            command TEXT NOT NULL,
            exit_code INTEGER,
            timed_out INTEGER NOT NULL DEFAULT 0,
            output TEXT NOT NULL,
            duration_ms INTEGER NOT NULL,
            PRIMARY KEY (session_id, position)
        )",
        late: &[],
    },
    Table {
        name: "task_reviews",
        create: "CREATE TABLE IF NOT EXISTS task_reviews (
            task_id TEXT PRIMARY KEY,
            repository TEXT,
            base_commit TEXT,
            base_branch TEXT,
            on_approve TEXT,
            approved_by TEXT,
            approved_at INTEGER,
            approved_action TEXT,
            approved_commit TEXT,
            approved_branch TEXT
        )",
        late: &[],
    },
    Table {
        name: "task_review_comments",
        create: "CREATE TABLE IF NOT EXISTS task_review_comments (
            task_id TEXT NOT NULL,
            number INTEGER NOT NULL CHECK (number >= 1),
            file TEXT NOT NULL,
            side TEXT NOT NULL CHECK (side IN ('old', 'new')),
            first_line INTEGER NOT NULL CHECK (first_line >= 1),
            last_line INTEGER NOT NULL CHECK (last_line >= first_line),
            quote TEXT NOT NULL,
            commit_id TEXT,
            author TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            outdated INTEGER NOT NULL DEFAULT 0,
            resolved_by TEXT,
            resolved_at INTEGER,
            PRIMARY KEY (task_id, number)
        )",
        late: &[],
    },
    Table {
        name: "task_review_replies",
        create: "CREATE TABLE IF NOT EXISTS task_review_replies (
            task_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            position INTEGER NOT NULL CHECK (position >= 1),
            author TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (task_id, number, position)
        )",
        late: &[],
    },
    Table {
        name: "hermes_hosts",
        create: "CREATE TABLE IF NOT EXISTS hermes_hosts (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            labels TEXT NOT NULL,
            slots INTEGER,
            version TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            heartbeat_at INTEGER NOT NULL,
            beat_seconds INTEGER NOT NULL,
            left_at INTEGER,
            machine TEXT NOT NULL,
            boot_id TEXT NOT NULL,
            home TEXT NOT NULL,
            home_mark TEXT NOT NULL
        )",
        late: &[],
    },
];

/// Indexes: the name, and what stands behind it in `CREATE INDEX`.
pub(crate) const INDEXES: &[&str] = &[
    "idx_tasks_assignee_status ON tasks(assignee, status)",
    "idx_tasks_status ON tasks(status)",
    "idx_links_child ON task_links(child_id)",
    "idx_links_parent ON task_links(parent_id)",
    "idx_comments_task ON task_comments(task_id, created_at)",
    "idx_events_task ON task_events(task_id, created_at)",
    "idx_runs_task ON task_runs(task_id, started_at)",
    "idx_runs_status ON task_runs(status)",
    "idx_attachments_task ON task_attachments(task_id, created_at)",
    "idx_notify_task ON kanban_notify_subs(task_id)",
    "idx_tasks_tenant ON tasks(tenant)",
    "idx_tasks_idempotency ON tasks(idempotency_key)",
    "idx_tasks_session_id ON tasks(session_id)",
    "idx_events_run ON task_events(run_id, id)",
    // Ours: the order of lists without a sort, the comments of a day, checks in progress. None of them
    // holds a status, so that claiming and completing a card writes no page for them.
    "hermes_tasks_priority ON tasks(priority DESC, created_at, id)",
    "hermes_comments_time ON task_comments(created_at)",
    "hermes_checks_open ON task_check_sessions(task_id, state)",
];

/// Indexes of ours that earlier versions made.
pub(crate) const RETIRED_INDEXES: &[&str] = &["hermes_tasks_order", "hermes_runs_completed"];

/// The name of an index.
pub(crate) fn index_name(index: &str) -> &str {
    index.split(' ').next().unwrap_or_default()
}
