//! Every environment variable the product reads by itself, declared once with what it does. Those
//! that only override a setting are declared with it, in the schema.
//!
//! `docs/reference/variables.md` is generated from [`ALL`] and the schema. New behaviour gets a key in
//! `config.yaml`, not a variable; what stands here is honoured because the reference has it, because
//! it must be known before there is a configuration, or because it belongs to the system.

/// A declared environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    pub name: &'static str,
    pub doc: &'static str,
}

macro_rules! vars {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        $($(#[doc = $doc])+ pub const $name: Var = Var { name: stringify!($name), doc: concat!($($doc),+) };)+
        /// All variables of this list, in the order of declaration.
        pub const ALL: &[&Var] = &[$(&$name),+];
    };
}

/// What a supervisor tells the process that it starts. It is nobody else's business: what that process
/// starts is not supervised.
pub const OF_SUPERVISOR: [Var; 6] = [
    INVOCATION_ID,
    XPC_SERVICE_NAME,
    HERMES_S6_SUPERVISED_CHILD,
    HERMES_GATEWAY_EXTERNAL_SUPERVISOR,
    NOTIFY_SOCKET,
    WATCHDOG_USEC,
];

vars! {
    /// Home of the profile in use; unset or blank means `~/.hermes`.
    HERMES_HOME;
    /// Octal mode for directories of the home instead of 0700; unparsable means 0700.
    HERMES_HOME_MODE;
    /// Any value: file modes in the home are left alone.
    HERMES_SKIP_CHMOD;
    /// Any value: this process runs in a container whose volume decides file modes.
    HERMES_CONTAINER;
    /// The install belongs to a package manager (`nix`, `brew`, or any yes): settings are read-only.
    HERMES_MANAGED;
    /// Directory of the administrator's `config.yaml`, which beats all but flags.
    HERMES_MANAGED_DIR;
    /// Owner of directories that root creates in the home.
    HERMES_UID;
    /// Group of directories that root creates in the home.
    HERMES_GID;
    /// Owner of the volume in the container image, where `HERMES_UID` is not set.
    PUID;
    /// Group of the volume in the container image, where `HERMES_GID` is not set.
    PGID;
    /// Content for `auth.json` in the container image, written at a start that finds none.
    HERMES_AUTH_JSON_BOOTSTRAP;
    /// `running`: in the container image the gateway of a new volume starts with the container.
    HERMES_GATEWAY_BOOTSTRAP_STATE;
    /// `1`, `true` or `yes`: root stays root when it calls `hermes` in the container image.
    HERMES_DOCKER_EXEC_AS_ROOT;
    /// `1`, `true` or `yes`: the container image is asked to serve the dashboard.
    HERMES_DASHBOARD;
    /// Address on which `hermes dashboard` listens, unless `--host` says another; 127.0.0.1 if unset.
    HERMES_DASHBOARD_HOST;
    /// Port of `hermes dashboard`, unless `--port` says another; 9119 if unset, 0 means any free one.
    HERMES_DASHBOARD_PORT;
    /// `1`, `true` or `yes`: nobody is asked to log in to the dashboard, as with `--insecure`.
    HERMES_DASHBOARD_INSECURE;
    /// `1`, `true` or `yes`: a dashboard without logins shows secrets and offers terminals, too.
    HERMES_DASHBOARD_INSECURE_FULL;
    /// Names under which the dashboard is reached, separated by commas, instead of
    /// `dashboard.extra_hosts`.
    HERMES_DASHBOARD_EXTRA_HOSTS;
    /// Any yes: the dashboard offers a chat in a terminal, as with `--tui`.
    HERMES_DASHBOARD_TUI;
    /// The token of the dashboard's pages on this machine, instead of a new one at every start.
    HERMES_DASHBOARD_SESSION_TOKEN;
    /// What a service sends as a bearer to `/api/gateway/drain` of the dashboard; at least 43 characters.
    HERMES_DASHBOARD_DRAIN_SECRET;
    /// Directory of another front-end that the dashboard serves instead of its own pages.
    HERMES_WEB_DIST;
    /// Where a dashboard asks whether a gateway in another container runs, such as
    /// `http://gateway:8642`.
    GATEWAY_HEALTH_URL;
    /// Seconds that such a question may take; 3 if unset.
    GATEWAY_HEALTH_TIMEOUT;
    /// Address of another portal for logins of the provider nous.
    HERMES_PORTAL_BASE_URL;
    /// The same; `HERMES_PORTAL_BASE_URL` wins.
    NOUS_PORTAL_BASE_URL;
    /// Set in gateways that s6 supervises: the sticky profile is not consulted.
    HERMES_S6_SUPERVISED_CHILD;
    /// Directory in which s6 looks for the service slots of gateways; `/run/service` if unset.
    S6_PROFILE_GATEWAY_SCANDIR;
    /// Any value: systemd supervises this process.
    INVOCATION_ID;
    /// Any value but `0`: launchd supervises this process.
    XPC_SERVICE_NAME;
    /// Any yes: another supervisor starts this gateway again; `--external-supervisor` sets it.
    HERMES_GATEWAY_EXTERNAL_SUPERVISOR;
    /// Any yes: no supervisor starts this gateway again, as with `--no-supervise`.
    HERMES_GATEWAY_NO_SUPERVISE;
    /// Socket on which systemd hears that a service is ready.
    NOTIFY_SOCKET;
    /// Microseconds within which systemd wants to hear from a service again.
    WATCHDOG_USEC;
    /// Any yes: root may run the gateway in the container image.
    HERMES_ALLOW_ROOT_GATEWAY;
    /// `0`: starts and ends of gateways are not written to `logs/gateway-exit-diag.log`.
    HERMES_GATEWAY_EXIT_DIAG;
    /// Directory of the locks that gateways take for bot tokens; unset means `hermes/gateway-locks` in
    /// `XDG_STATE_HOME`. `gateway run --replace` removes those of the gateway that it replaces.
    HERMES_GATEWAY_LOCK_DIR;
    /// Largest file, in megabytes, that `backup` takes; 0 means no limit, unset means 2048.
    HERMES_BACKUP_MAX_FILE_MB;
    /// `1` skips the migration of settings when a container boots.
    HERMES_SKIP_CONFIG_MIGRATION;
    /// Overrides the setting `terminal.cwd`.
    TERMINAL_CWD;
    /// Overrides the setting `terminal.timeout`.
    TERMINAL_TIMEOUT;
    /// Most seconds a command in the foreground may ask for; 600 if unset.
    TERMINAL_MAX_FOREGROUND_TIMEOUT;
    /// Gigabytes of sandboxes from which the singularity backend warns; 500 if unset.
    TERMINAL_DISK_WARNING_GB;
    /// Overrides the setting `terminal.persistent_shell` for the ssh backend.
    TERMINAL_SSH_PERSISTENT;
    /// Any value: files are compared with the remote machine before every command, not every 5 s.
    HERMES_FORCE_FILE_SYNC;
    /// Overrides the setting `terminal.sudo_password`.
    SUDO_PASSWORD;
    /// Where sessions say they come from, instead of `cli`.
    HERMES_SESSION_SOURCE;
    /// Text added to the system prompt of every request and never stored.
    HERMES_EPHEMERAL_SYSTEM_PROMPT;
    /// Any yes: `config.yaml` is not read; `.env` still is.
    HERMES_IGNORE_USER_CONFIG;
    /// Any yes: no persona, context files, memory or preloaded skills.
    HERMES_IGNORE_RULES;
    /// Seconds a worker that is asked to end has for its tools; 1.5 unless a number.
    HERMES_SIGTERM_GRACE;
    /// Any yes: risky commands run unasked in this process; what must never run still does not.
    HERMES_YOLO_MODE;
    /// Any yes: hooks that nobody has seen are accepted.
    HERMES_ACCEPT_HOOKS;
    /// Any yes: no plugin is used.
    HERMES_SAFE_MODE;
    /// Any yes: what is found when plugins are looked for is told on standard error.
    HERMES_PLUGINS_DEBUG;
    /// Any yes: plugins in `.hermes/plugins` of the directory that Hermes is started in are found, too.
    HERMES_ENABLE_PROJECT_PLUGINS;
    /// Directory of plugins that came with the installation.
    HERMES_BUNDLED_PLUGINS;
    /// `1` in an agent's shells: commands called there cannot widen what the agent may do.
    HERMES_AGENT_SHELL;
    /// Directories, separated by `:`, outside of which file tools do not write.
    HERMES_WRITE_SAFE_ROOT;
    /// Any value: interrupts are traced.
    HERMES_DEBUG_INTERRUPT;
    /// Root of the task boards instead of the shared root of all profiles.
    HERMES_KANBAN_HOME;
    /// Database of the board in use, unless a board is named explicitly.
    HERMES_KANBAN_DB;
    /// Address of the database server that boards are on, instead of `kanban.database`; a password does not
    /// belong into it.
    HERMES_KANBAN_DATABASE_URL;
    /// Password of the role in that address.
    PGPASSWORD;
    /// File with passwords of database servers, instead of `~/.pgpass`.
    PGPASSFILE;
    /// Board in use, before the one chosen with `kanban boards switch`.
    HERMES_KANBAN_BOARD;
    /// Directory of scratch workspaces, unless a board is named explicitly.
    HERMES_KANBAN_WORKSPACES_ROOT;
    /// Directory of attachments, unless a board is named explicitly.
    HERMES_KANBAN_ATTACHMENTS_ROOT;
    /// Seconds a claim on a card lasts without a heartbeat; 900 unless a positive number.
    HERMES_KANBAN_CLAIM_TTL_SECONDS;
    /// Seconds after its start in which a worker is not taken for crashed; 30 unless a number.
    HERMES_KANBAN_CRASH_GRACE_SECONDS;
    /// Seconds a card waits after its worker reached a provider's quota; 300 unless a number, 0 means none.
    HERMES_KANBAN_RATE_LIMIT_COOLDOWN_SECONDS;
    /// Milliseconds a board waits for another process's lock; 120000 unless a positive number.
    HERMES_KANBAN_BUSY_TIMEOUT_MS;
    /// Seconds without a sign of life after which the agent of a scheduled job is ended; 600 unless a
    /// number, 0 means never.
    HERMES_CRON_TIMEOUT;
    /// `0`, `false`, `no` or `off`: the gateway dispatches no cards.
    HERMES_KANBAN_DISPATCH_IN_GATEWAY;
    /// Most tokens of a specification; 6000 if unset, never below 1500.
    HERMES_KANBAN_SPECIFY_MAX_TOKENS;
    /// `0`, `false`, `no` or `off`: a worker is not reminded to finish its card.
    HERMES_KANBAN_STOP_NUDGE;
    /// Card a worker is about; set by the dispatcher.
    HERMES_KANBAN_TASK;
    /// Workspace of a worker's card; set by the dispatcher.
    HERMES_KANBAN_WORKSPACE;
    /// Branch of a worker's worktree; set by the dispatcher.
    HERMES_KANBAN_BRANCH;
    /// Attempt a worker belongs to; set by the dispatcher.
    HERMES_KANBAN_RUN_ID;
    /// Claim a worker works under; set by the dispatcher.
    HERMES_KANBAN_CLAIM_LOCK;
    /// `1` in workers of cards with a goal; set by the dispatcher.
    HERMES_KANBAN_GOAL_MODE;
    /// Most turns of a worker of a card with a goal; set by the dispatcher.
    HERMES_KANBAN_GOAL_MAX_TURNS;
    /// Program that is started as worker instead of this one.
    HERMES_BIN;
    /// Name under which a worker's profile speaks on the board.
    HERMES_PROFILE;
    /// As `HERMES_PROFILE`, and before it.
    HERMES_PROFILE_NAME;
    /// Tenant of cards that name none.
    HERMES_TENANT;
    /// Platform of the chat a process answers; set by the gateway.
    HERMES_SESSION_PLATFORM;
    /// Chat on that platform; set by the gateway.
    HERMES_SESSION_CHAT_ID;
    /// Thread in that chat; set by the gateway.
    HERMES_SESSION_THREAD_ID;
    /// Who speaks in that chat; set by the gateway.
    HERMES_SESSION_USER_ID;
    /// Conversation a process belongs to; set by programs that show conversations.
    HERMES_SESSION_KEY;
    /// Home of the account, handed on by a Hermes that gave its children another.
    HERMES_REAL_HOME;
    /// Model of `-z` and of the full-screen interface when no flag names one.
    HERMES_INFERENCE_MODEL;
    /// Seconds one request to a model may take; 1800 if unset.
    HERMES_API_TIMEOUT;
    /// Seconds a streaming model may send nothing at all; 120 if unset.
    HERMES_STREAM_READ_TIMEOUT;
    /// Seconds a streaming model may send nothing of its answer; 180 if unset, more for long
    /// conversations.
    HERMES_STREAM_STALE_TIMEOUT;
    /// Seconds a model that does not stream may take; 90 if unset, more for long conversations.
    HERMES_API_CALL_STALE_TIMEOUT;
    /// How often a broken stream is taken up again before it counts as an error; 2 if unset.
    HERMES_STREAM_RETRIES;
    /// Seconds one call of git may take for a snapshot of files, 10 to 60; 30 if unset.
    HERMES_CHECKPOINT_TIMEOUT;
    /// Whether every request to a model is kept in `sessions/request_dump_*.json`, without keys.
    HERMES_DUMP_REQUESTS;
    /// Address for the provider `custom` when `model.base_url` is unset.
    CUSTOM_BASE_URL;
    /// Host of the GitHub that Copilot belongs to, instead of `github.com`.
    COPILOT_GH_HOST;
    /// Where Ollama listens, as its own programs read it; `hermes setup` looks there.
    OLLAMA_HOST;
    /// File of certificates to trust instead of the system's, before `REQUESTS_CA_BUNDLE`.
    HERMES_CA_BUNDLE;
    /// File of certificates to trust instead of the system's, before `SSL_CERT_FILE`.
    REQUESTS_CA_BUNDLE;
    /// File of certificates to trust instead of the system's.
    SSL_CERT_FILE;
    /// Proxy for plain addresses, also as `http_proxy`; never used for this machine.
    HTTP_PROXY;
    /// Proxy for encrypted addresses, also as `https_proxy`; never used for this machine.
    HTTPS_PROXY;
    /// Proxy for all addresses without one of their own, also as `all_proxy`.
    ALL_PROXY;
    /// Hosts, separated by commas, that no proxy is asked for, also as `no_proxy`.
    NO_PROXY;
    /// The user's home directory.
    HOME;
    /// The user's directory of state, in which gateways lock bot tokens; unset means `~/.local/state`.
    XDG_STATE_HOME;
    /// Where programs are looked up.
    PATH;
    /// Name of the user who ran `sudo`; profiles of that user are found from a root shell.
    SUDO_USER;
    /// The user's shell, taken for commands where there is no bash.
    SHELL;
    /// Program that `config edit` opens, before `VISUAL`.
    EDITOR;
    /// Program that `config edit` opens if `EDITOR` is unset.
    VISUAL;
    /// Any value: no colour.
    NO_COLOR;
    /// Set where there is a desktop: a login opens its page in the browser.
    DISPLAY;
    /// Set where there is a desktop: a login opens its page in the browser.
    WAYLAND_DISPLAY;
    /// Container engine to use: a path, or a name to look up on `PATH`.
    HERMES_DOCKER_BINARY;
    /// Address of the Docker daemon, as for the docker program.
    DOCKER_HOST;
    /// Named daemon of the docker program, as for itself.
    DOCKER_CONTEXT;
    /// Directory of the docker program's settings, as for itself.
    DOCKER_CONFIG;
    /// Address of the Podman service, as for the podman program.
    CONTAINER_HOST;
    /// Set in Kubernetes pods: counts as a container.
    KUBERNETES_SERVICE_HOST;
    /// Where temporary files go, as in every Unix program.
    TMPDIR;
    /// Zone of the system, as in every Unix program.
    TZ;
    /// Name of the user, as in every Unix program.
    USER;
    /// Kind of the terminal; `dumb` means no colour, and a conversation line by line.
    TERM;
    /// Locale, before `LC_CTYPE` and `LANG`; one without UTF-8 makes signs on the screen ASCII.
    LC_ALL;
    /// Locale of characters, before `LANG`.
    LC_CTYPE;
    /// Locale.
    LANG;
    /// `truecolor` or `24bit` where the terminal shows all colours, which skins make use of.
    COLORTERM;
    /// Set by xterm, which does not break lines anew when it gets narrower.
    XTERM_VERSION;
    /// Set by GNU screen, which does not break lines anew when it gets narrower.
    STY;
    /// Debug builds only: the process ends itself at its n-th write, to test crash safety.
    HERMES_TEST_KILL_AT_WRITE;
    /// `auto`, `on` or `off`: whether commands run in the kernel's sandbox, instead of
    /// `terminal.sandbox`.
    HERMES_TERMINAL_SANDBOX;
    /// `1`, `true`, `yes` or `on`: add-ons are installed only into `HERMES_LAZY_INSTALL_TARGET`, and
    /// not at all where that is not set.
    HERMES_DISABLE_LAZY_INSTALLS;
    /// Directory of installed add-ons instead of `lazy-packages` in the home; absolute.
    HERMES_LAZY_INSTALL_TARGET;
    /// Where packages of npm and PyPI are looked up that are started as MCP servers, instead of OSV's
    /// public database of malware.
    OSV_ENDPOINT;
    /// Debug builds only: directory of locks that replace those of the add-on catalog.
    HERMES_TEST_ADDON_LOCKS;
    /// Debug builds only: parts of the kernel to do without, to test the sandbox as on an older one.
    HERMES_TEST_SANDBOX_WITHOUT;
    /// Debug builds only: where marks of a container are looked for, to test as on a host.
    HERMES_TEST_SYSTEM_ROOT;
    /// Width of the terminal in columns, where it cannot be asked for.
    COLUMNS;
}
