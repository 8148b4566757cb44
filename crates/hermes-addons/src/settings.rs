//! What of the settings and of the environment concerns add-ons, resolved once.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hermes_config::{Config, Environment, vars};

use crate::gate::Gate;

/// The directory of the store in a home; the reference's name.
const STORE_NAME: &str = "lazy-packages";
/// Where the container image keeps the program.
pub(crate) const IMAGE_PREFIX: &str = "/opt/hermes";
/// Seconds that an install may be allowed.
const INSTALL_SECONDS: (i64, i64, i64) = (30, 300, 1800);
/// Largest store that may be allowed, in megabytes.
const STORE_MB: (i64, i64, i64) = (1, 4096, 1 << 30);

/// Limits of workers: megabytes, seconds and crashes.
const MEMORY_MB: (i64, i64, i64) = (64, 2048, 1 << 20);
const START_SECONDS: (i64, i64, i64) = (1, 20, 600);
const CALL_SECONDS: (i64, i64, i64) = (1, 60, 3600);
const IDLE_SECONDS: (i64, i64, i64) = (1, 300, 86_400);
const RESTARTS: (i64, i64, i64) = (1, 5, 100);
/// Seconds that a call waits for an install, and after which a failed one is tried again.
const WAIT_SECONDS: (i64, i64, i64) = (0, 45, 300);
const RETRY_SECONDS: (i64, i64, i64) = (0, 600, 86_400);

/// Variables of the machine's account by which its programs reach the network and its package index.
/// Nothing else of the environment reaches an installer.
const OF_ACCOUNT: [&str; 16] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_INDEX_URL",
    "PIP_CONFIG_FILE",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
];

/// Where a process of Hermes is at home.
#[derive(Debug, Clone)]
pub struct Places {
    /// `HERMES_HOME` of the profile.
    pub home: PathBuf,
    /// The home of the user.
    pub user_home: PathBuf,
    /// The directory of this program.
    pub program_directory: Option<PathBuf>,
}

/// How workers are run.
#[derive(Debug, Clone)]
pub(crate) struct WorkerSettings {
    pub(crate) memory_bytes: u64,
    pub(crate) start_timeout: Duration,
    pub(crate) call_timeout: Duration,
    /// Without a call for so long, a worker is ended.
    pub(crate) idle: Duration,
    /// Crashes within ten minutes after which a worker is not started again.
    pub(crate) max_restarts: usize,
    /// Whether the kernel confines them, where it can.
    pub(crate) sandbox: bool,
}

/// Resolved settings.
#[derive(Debug, Clone)]
pub struct AddonSettings {
    pub(crate) places: Places,
    pub(crate) store: PathBuf,
    pub(crate) gate: Gate,
    /// The interpreter that the settings name.
    pub(crate) python: Option<PathBuf>,
    pub(crate) install_timeout: Duration,
    pub(crate) max_store_bytes: u64,
    /// Whether a package manager owns the installation.
    pub(crate) is_managed: bool,
    pub(crate) search_path: OsString,
    pub(crate) of_account: Vec<(OsString, OsString)>,
    /// The time zone of the machine's account.
    pub(crate) zone: Option<OsString>,
    pub(crate) worker: WorkerSettings,
    /// How long a call waits for an install that it needs.
    pub(crate) first_use_wait: Duration,
    /// How long a call does without an install after a failed one, at first.
    pub(crate) retry_after: Duration,
    /// Debug builds only: locks in place of those of the catalog.
    pub(crate) test_locks: Option<PathBuf>,
    /// What of the settings was put right, for people.
    pub warnings: Vec<String>,
}

impl AddonSettings {
    /// Reads nothing but what it is given.
    pub fn resolve(config: &Config, env: &Environment, places: Places) -> Self {
        let mut warnings = Vec::new();
        let mut within = |key: &str, (least, default, most): (i64, i64, i64)| {
            let given = config.int(key).unwrap_or(default);
            let used = given.clamp(least, most);
            if used != given {
                warnings.push(format!("{key} is {given}; {used} is used instead"));
            }
            used.unsigned_abs()
        };
        let seconds = within("addons.install_timeout_seconds", INSTALL_SECONDS);
        let megabytes = within("addons.max_store_mb", STORE_MB);
        let worker = WorkerSettings {
            memory_bytes: within("addons.worker.memory_mb", MEMORY_MB) << 20,
            start_timeout: Duration::from_secs(within(
                "addons.worker.start_timeout_seconds",
                START_SECONDS,
            )),
            call_timeout: Duration::from_secs(within(
                "addons.worker.call_timeout_seconds",
                CALL_SECONDS,
            )),
            idle: Duration::from_secs(within("addons.worker.idle_seconds", IDLE_SECONDS)),
            max_restarts: usize::try_from(within("addons.worker.max_restarts", RESTARTS))
                .unwrap_or(usize::MAX),
            sandbox: config.text("addons.worker.sandbox") != "off",
        };
        let first_use_wait = within("addons.first_use_wait_seconds", WAIT_SECONDS);
        let retry_after = within("addons.retry_after_seconds", RETRY_SECONDS);
        let target = target(env);
        let python = config.text("addons.python").trim();
        let of_account = OF_ACCOUNT.iter().filter_map(|name| {
            let value = env.lookup(name).filter(|value| !value.is_empty())?;
            Some((OsString::from(name), OsString::from(value)))
        });
        Self {
            gate: Gate::resolve(config, env, target.is_some()),
            store: target.unwrap_or_else(|| places.home.join(STORE_NAME)),
            python: (!python.is_empty()).then(|| PathBuf::from(python)),
            install_timeout: Duration::from_secs(seconds),
            max_store_bytes: megabytes << 20,
            is_managed: env.is_set(&vars::HERMES_MANAGED),
            search_path: env.os(&vars::PATH).map(OsStr::to_owned).unwrap_or_default(),
            of_account: of_account.collect(),
            zone: env.lookup("TZ").map(OsString::from),
            worker,
            first_use_wait: Duration::from_secs(first_use_wait),
            retry_after: Duration::from_secs(retry_after),
            test_locks: test_locks(env),
            places,
            warnings,
        }
    }

    /// Whether installing is allowed.
    pub fn gate(&self) -> Gate {
        self.gate
    }
}

/// The target outside of the home; blank means none.
fn target(env: &Environment) -> Option<PathBuf> {
    let raw = env.os(&vars::HERMES_LAZY_INSTALL_TARGET)?;
    match raw.to_str().map(str::trim) {
        Some("") => None,
        Some(text) => Some(PathBuf::from(text)),
        None => Some(PathBuf::from(raw)),
    }
}

fn test_locks(env: &Environment) -> Option<PathBuf> {
    let given = env.os(&vars::HERMES_TEST_ADDON_LOCKS);
    given.filter(|_| cfg!(debug_assertions)).map(PathBuf::from)
}
