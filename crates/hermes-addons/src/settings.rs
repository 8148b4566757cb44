//! What of the settings and of the environment concerns add-ons, resolved once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hermes_config::{Config, Environment, vars};
use hermes_http::MalwareList;
use serde_json::Value;

use crate::gate::Gate;
use crate::node_package::NodePackage;

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

/// Variables of the machine's account by which its programs reach the network. Installers and workers
/// get them.
const NETWORK: [&str; 11] = [
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
];

/// Variables by which the account's installers find their package index. Nothing else of the
/// environment reaches an installer.
const PACKAGE_INDEX: [&str; 5] = [
    "NODE_EXTRA_CA_CERTS",
    "PIP_INDEX_URL",
    "PIP_CONFIG_FILE",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
];

/// Variables that name npm's registry and the account's own settings of npm.
const NPM_REGISTRY: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];
const NPM_SETTINGS: [&str; 2] = ["npm_config_userconfig", "NPM_CONFIG_USERCONFIG"];

/// Variables with their values, as processes get them.
pub(crate) type Variables = Vec<(OsString, OsString)>;

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

/// What the variables of the machine's account say of npm.
#[derive(Debug, Clone, Default)]
pub(crate) struct NpmAccount {
    pub(crate) registry: Option<String>,
    /// The file of the account's settings, where it is not `~/.npmrc`.
    pub(crate) settings: Option<PathBuf>,
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
    /// What the account's programs reach the network by, and its installers their index.
    pub(crate) network: Variables,
    pub(crate) package_index: Variables,
    /// Where the account's npm finds its registry, if variables say so.
    pub(crate) npm: NpmAccount,
    /// The time zone of the machine's account.
    pub(crate) zone: Option<OsString>,
    pub(crate) worker: WorkerSettings,
    /// Whether a person is asked before a call installs something.
    pub(crate) confirm: bool,
    /// How long a call waits for an install that it needs.
    pub(crate) first_use_wait: Duration,
    /// How long a call does without an install after a failed one, at first.
    pub(crate) retry_after: Duration,
    /// Add-ons that settings name, with the settings that do.
    pub(crate) needs: BTreeMap<String, Vec<String>>,
    /// By which packages are refused that are known as malware.
    pub(crate) malware: MalwareList,
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
        let given = |name: &&str| env.lookup(name).filter(|value| !value.is_empty());
        let variables = |names: &[&str]| -> Variables {
            let found = names.iter().filter_map(|name| Some((*name, given(name)?)));
            found
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect()
        };
        let npm = NpmAccount {
            registry: NPM_REGISTRY.iter().find_map(given).map(str::to_owned),
            settings: NPM_SETTINGS.iter().find_map(given).map(PathBuf::from),
        };
        Self {
            gate: Gate::resolve(config, env, target.is_some()),
            store: target.unwrap_or_else(|| places.home.join(STORE_NAME)),
            python: (!python.is_empty()).then(|| PathBuf::from(python)),
            install_timeout: Duration::from_secs(seconds),
            max_store_bytes: megabytes << 20,
            is_managed: env.is_set(&vars::HERMES_MANAGED),
            search_path: env.os(&vars::PATH).map(OsStr::to_owned).unwrap_or_default(),
            network: variables(&NETWORK),
            package_index: variables(&PACKAGE_INDEX),
            npm,
            zone: env.lookup("TZ").map(OsString::from),
            worker,
            confirm: config.flag("addons.confirm"),
            first_use_wait: Duration::from_secs(first_use_wait),
            retry_after: Duration::from_secs(retry_after),
            needs: needs(config),
            malware: MalwareList::resolve(config),
            test_locks: test_locks(env),
            places,
            warnings,
        }
    }

    /// Whether the kernel is to confine workers.
    pub fn confines_workers(&self) -> bool {
        self.worker.sandbox
    }

    /// Whether installing is allowed.
    pub fn gate(&self) -> Gate {
        self.gate
    }
}

/// The add-ons that settings name.
fn needs(config: &Config) -> BTreeMap<String, Vec<String>> {
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |feature: String, setting: String| {
        needs.entry(feature).or_default().push(setting);
    };
    let speech = config.get("tts.provider").and_then(Value::as_str);
    if speech.is_some_and(|provider| provider.trim() == "espeak") {
        note("tts.espeak".to_owned(), "tts.provider".to_owned());
    }
    let servers = config.get("mcp_servers").and_then(Value::as_object);
    for (server, entry) in servers.into_iter().flatten() {
        let addon = entry.get("addon").and_then(Value::as_str);
        if let Some(package) = addon.and_then(|addon| NodePackage::parse(addon.trim()).ok()) {
            note(package.feature(), format!("mcp_servers.{server}"));
        }
    }
    needs
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
