//! Settings of the container backend, typed.
//!
//! Read only when this backend is chosen: stale values must not bother anyone else. A value that
//! cannot be is an error here, in one line that names it. Where the reference goes on with a value
//! of its own, so do we, and say so; an entry of a list that cannot be is left out with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::Config;
use hermes_config::dotenv::is_valid_name;
use serde_json::Value;

use super::error::{DockerError, Result};

const PERSIST: &str = "docker_persist_across_processes";
const REAPER: &str = "docker_orphan_reaper";
/// Settings for which the reference has a meaning whatever their value.
const SWITCHES: [&str; 2] = [PERSIST, REAPER];
const DEFAULT_LIFETIME: Duration = Duration::from_mins(5);

/// What to do with a container that was made with other settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDrift {
    Warn,
    /// Replace it if nothing runs in it.
    Recreate,
    Ignore,
}

/// Whether a container gets an init process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitMode {
    /// Unless its image brings one.
    Auto,
    Fixed(bool),
}

/// Who shares a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Shared,
    /// Each conversation has its own.
    Session,
}

/// Everything the settings say about containers.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting that people know by its name"
)]
pub struct DockerSettings {
    pub image: String,
    /// `host:container[:opts]`, as written, blank ones left out.
    pub volumes: Vec<String>,
    /// Names of variables handed into sessions.
    pub forward: Vec<String>,
    /// Variables of all processes in the container.
    pub env: BTreeMap<String, String>,
    pub extra_args: Vec<String>,
    /// Whether the current directory is bound at `/workspace`.
    pub mount_cwd: bool,
    pub run_as_host_user: bool,
    pub network: bool,
    /// Whether a later process finds the container again.
    pub persist_across_processes: bool,
    /// Whether containers nobody uses are removed.
    pub orphan_reaper: bool,
    /// Cores; none if not above zero.
    pub cpus: f64,
    /// Megabytes of memory; none if not above zero.
    pub memory_mb: i64,
    /// Megabytes of disk; none if not above zero.
    pub disk_mb: i64,
    /// Processes and threads; none if not above zero.
    pub pids_limit: i64,
    pub require_limits: bool,
    /// Whether home and workspace are directories of the host.
    pub container_persistent: bool,
    /// Where those directories are.
    pub sandbox_dir: PathBuf,
    /// How long an idle sandbox is kept by a process.
    pub lifetime: Duration,
    /// Files of the home that containers see.
    pub credential_files: Vec<String>,
    pub external_skill_dirs: Vec<String>,
    pub cwd: String,
    /// What to do about other settings.
    pub on_drift: OnDrift,
    /// How long fetching an image may take.
    pub pull_timeout: Duration,
    /// Whether skills, credentials and caches are mounted.
    pub auto_mounts: bool,
    /// Where paths of this machine are for the engine.
    pub host_path_map: Vec<(PathBuf, PathBuf)>,
    pub isolation: Isolation,
    pub init: InitMode,
    /// Entries that were left out, one sentence each.
    pub warnings: Vec<String>,
    /// Values that another one stands in for, one sentence each; people are shown these.
    pub notices: Vec<String>,
}

impl DockerSettings {
    /// Reads the settings in effect.
    pub fn from_config(config: &Config) -> Result<Self> {
        for (key, _) in hermes_config::schema::keys() {
            if is_about_containers(&key)
                && let Some(wrong) = config.wrong_value(&key)
            {
                return Err(DockerError::Settings {
                    message: wrong.to_string(),
                    hint: wrong.hint(),
                });
            }
        }
        let reader = Reader {
            config,
            warnings: Vec::new(),
            notices: Vec::new(),
        };
        reader.all()
    }

    /// The directory of one sandbox: its home, its workspace, when it was last used.
    pub fn sandbox_of(&self, task_label: &str) -> PathBuf {
        // Both are labels and would lead out of the directory.
        let name = match task_label {
            "." => "_",
            ".." => "__",
            other => other,
        };
        self.sandbox_dir.join("docker").join(name)
    }
}

/// Whether an unusable value of a setting is an error.
fn is_about_containers(key: &str) -> bool {
    let Some(name) = key.strip_prefix("terminal.") else {
        return false;
    };
    if SWITCHES.contains(&name) {
        return false;
    }
    name.starts_with("docker_")
        || name.starts_with("container_")
        || ["credential_files", "sandbox_dir", "persistent_shell"].contains(&name)
}

struct Reader<'a> {
    config: &'a Config,
    warnings: Vec<String>,
    notices: Vec<String>,
}

impl Reader<'_> {
    fn all(mut self) -> Result<DockerSettings> {
        let config = self.config;
        let home = &config.sources().home;
        let flag = |key: &str| config.flag(&format!("terminal.{key}"));
        let int = |key: &str, fallback| config.int(&format!("terminal.{key}")).unwrap_or(fallback);
        let seconds = |key: &str, fallback: u64| {
            let value = config.int(&format!("terminal.{key}"));
            let value = value.and_then(|value| u64::try_from(value).ok());
            Duration::from_secs(value.unwrap_or(fallback))
        };
        let image = config.text("terminal.docker_image").trim().to_owned();
        if image.is_empty() || image.starts_with('-') || image.contains(char::is_whitespace) {
            return Err(DockerError::Settings {
                message: format!(
                    "terminal.docker_image is '{image}', which is not a valid image name"
                ),
                hint: "set it to a name such as debian:12".to_owned(),
            });
        }
        let sandbox_dir = config.text("terminal.sandbox_dir").trim();
        Ok(DockerSettings {
            image,
            volumes: self.texts("terminal.docker_volumes", "Docker volume"),
            forward: self.names("terminal.docker_forward_env"),
            env: self.env(),
            extra_args: self.texts("terminal.docker_extra_args", "extra argument"),
            mount_cwd: flag("docker_mount_cwd_to_workspace"),
            run_as_host_user: flag("docker_run_as_host_user"),
            network: flag("docker_network"),
            persist_across_processes: self.switch(PERSIST),
            orphan_reaper: self.switch(REAPER),
            cpus: config.number("terminal.container_cpu").unwrap_or(1.0),
            memory_mb: int("container_memory", 5120),
            disk_mb: int("container_disk", 51200),
            pids_limit: int("docker_pids_limit", 256),
            require_limits: flag("docker_require_limits"),
            container_persistent: flag("container_persistent"),
            sandbox_dir: if sandbox_dir.is_empty() {
                home.join("sandboxes")
            } else {
                expanded(sandbox_dir, config, home)
            },
            lifetime: self.lifetime(),
            credential_files: self.texts("terminal.credential_files", "credential file"),
            external_skill_dirs: self.texts("skills.external_dirs", "skills directory"),
            cwd: config.text("terminal.cwd").to_owned(),
            on_drift: match config.text("terminal.docker_on_drift") {
                "recreate" => OnDrift::Recreate,
                "ignore" => OnDrift::Ignore,
                _ => OnDrift::Warn,
            },
            pull_timeout: seconds("docker_pull_timeout", 900),
            auto_mounts: flag("docker_auto_mounts"),
            host_path_map: self.host_path_map(),
            isolation: match config.text("terminal.docker_isolation") {
                "session" => Isolation::Session,
                _ => Isolation::Shared,
            },
            init: match config.get("terminal.docker_init") {
                Some(Value::Bool(fixed)) => InitMode::Fixed(*fixed),
                _ => InitMode::Auto,
            },
            warnings: self.warnings,
            notices: self.notices,
        })
    }

    /// A switch as the reference reads it: what is neither yes nor no means no.
    fn switch(&mut self, name: &str) -> bool {
        let key = format!("terminal.{name}");
        match self.config.wrong_value(&key) {
            Some(wrong) => {
                self.notices.push(format!("{wrong}; it counts as false"));
                false
            }
            None => self.config.flag(&key),
        }
    }

    /// How long an idle sandbox is kept. A time before now is now.
    fn lifetime(&mut self) -> Duration {
        const KEY: &str = "terminal.lifetime_seconds";
        if let Some(wrong) = self.config.wrong_value(KEY) {
            let usual = DEFAULT_LIFETIME.as_secs();
            self.notices.push(format!("{wrong}; using {usual}"));
            return DEFAULT_LIFETIME;
        }
        self.config.int(KEY).map_or(DEFAULT_LIFETIME, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
        })
    }

    fn items(&self, key: &str) -> Vec<Value> {
        let items = self.config.get(key).and_then(Value::as_array);
        items.cloned().unwrap_or_default()
    }

    /// The texts of a list, blank ones left out; anything else is told and left out.
    fn texts(&mut self, key: &str, what: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for item in self.items(key) {
            match item {
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => texts.push(text),
                other => self.warnings.push(format!(
                    "{key}: ignoring {what} {}: it is not a string",
                    brief(&other)
                )),
            }
        }
        texts
    }

    /// Names of variables, each once.
    fn names(&mut self, key: &str) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let texts = self.texts(key, "variable");
        let mut names = Vec::new();
        for text in texts {
            let name = text.trim();
            if !is_valid_name(name) {
                self.warnings.push(format!(
                    "{key}: ignoring '{}': it is not a valid variable name",
                    name.escape_debug()
                ));
            } else if seen.insert(name.to_owned()) {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn env(&mut self) -> BTreeMap<String, String> {
        const KEY: &str = "terminal.docker_env";
        let mut env = BTreeMap::new();
        let entries = self.config.get(KEY).and_then(Value::as_object);
        for (name, value) in entries.into_iter().flatten() {
            let name = name.trim();
            let text = match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(yes) => Some(yes.to_string()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            match text {
                _ if !is_valid_name(name) => self.warnings.push(format!(
                    "{KEY}: ignoring '{}': it is not a valid variable name",
                    name.escape_debug()
                )),
                None => self.warnings.push(format!(
                    "{KEY}: ignoring {name}: its value is {}",
                    brief(value)
                )),
                Some(text) => {
                    env.insert(name.to_owned(), text);
                }
            }
        }
        env
    }

    fn host_path_map(&mut self) -> Vec<(PathBuf, PathBuf)> {
        const KEY: &str = "terminal.docker_host_path_map";
        let mut map = Vec::new();
        let entries = self.config.get(KEY).and_then(Value::as_object);
        for (here, there) in entries.into_iter().flatten() {
            match there.as_str() {
                Some(there) if here.starts_with('/') && there.starts_with('/') => {
                    map.push((PathBuf::from(here), PathBuf::from(there)));
                }
                _ => self.warnings.push(format!(
                    "{KEY}: ignoring '{here}': both sides must be absolute paths"
                )),
            }
        }
        map
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// A path of a setting: `~` is the user's home, and a relative path is meant from ours.
fn expanded(text: &str, config: &Config, home: &Path) -> PathBuf {
    let user_home = config.sources().env.os(&hermes_config::vars::HOME);
    match (text.strip_prefix('~'), user_home) {
        (Some(""), Some(user_home)) => PathBuf::from(user_home),
        (Some(rest), Some(user_home)) if rest.starts_with('/') => {
            Path::new(user_home).join(rest.trim_start_matches('/'))
        }
        _ => home.join(text),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
pub(crate) mod tests;
