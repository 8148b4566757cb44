//! Settings of the terminal and of its local backend, resolved.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hermes_config::Config;

/// How commands run.
#[derive(Debug, Clone)]
pub struct TerminalSettings {
    pub timeout: Duration,
    pub longest_timeout: Duration,
    /// Characters of output a result shows.
    pub shown_output: usize,
    /// Files the first shell of a session reads; empty for the user's usual ones.
    pub init_files: Vec<String>,
    /// Whether the user's usual files are read when none are named.
    pub source_user_files: bool,
    pub login_limit: Duration,
    /// From SIGTERM to SIGKILL for background processes; zero means that SIGKILL is never sent.
    pub background_grace: Duration,
    pub start_directory: PathBuf,
    /// HERMES_HOME.
    pub home: PathBuf,
    /// Where a command runs when every other directory is gone.
    pub temp_directory: PathBuf,
    /// Pauses before a shell that could not be started is tried again.
    pub start_retries: Vec<Duration>,
    /// How this program is started as the supervisor of a background process.
    pub supervisor: Vec<OsString>,
}

impl TerminalSettings {
    /// Where background processes of this machine keep their logs, sockets and exit records.
    pub(crate) fn process_directory(&self) -> PathBuf {
        self.home.join("cache").join("proc")
    }

    /// Where whole outputs are kept.
    pub(crate) fn output_directory(&self) -> PathBuf {
        self.home.join("cache").join("terminal")
    }

    /// Defaults for a home and a directory to start in.
    pub fn new(home: PathBuf, start_directory: PathBuf) -> Self {
        Self {
            timeout: Duration::from_mins(3),
            longest_timeout: Duration::from_mins(10),
            shown_output: 50_000,
            init_files: Vec::new(),
            source_user_files: true,
            login_limit: Duration::from_secs(30),
            background_grace: Duration::from_secs(2),
            start_directory,
            home,
            temp_directory: std::env::temp_dir(),
            start_retries: [2, 4, 8].map(Duration::from_secs).into(),
            supervisor: Vec::new(),
        }
    }

    /// Takes over what the configuration says; values that make no sense count as not given.
    #[must_use]
    pub fn configured(mut self, config: &Config) -> Self {
        let seconds = |key: &str| {
            config
                .int(key)
                .and_then(|value| u64::try_from(value).ok())
                .filter(|value| *value > 0)
                .map(Duration::from_secs)
        };
        if let Some(timeout) = seconds("terminal.timeout") {
            self.timeout = timeout;
        }
        let environment = &config.sources().env;
        if let Some(text) = environment.text(&hermes_config::vars::TERMINAL_MAX_FOREGROUND_TIMEOUT)
        {
            match text.parse::<u64>() {
                Ok(value) if value > 0 => self.longest_timeout = Duration::from_secs(value),
                _ => tracing::warn!(
                    value = text,
                    "TERMINAL_MAX_FOREGROUND_TIMEOUT is not a number of seconds; using 600"
                ),
            }
        }
        if let Some(shown) = config
            .int("tool_output.max_bytes")
            .and_then(|value| usize::try_from(value).ok())
            .filter(|value| *value > 0)
        {
            self.shown_output = shown;
        }
        self.init_files = config
            .texts("terminal.shell_init_files")
            .into_iter()
            .map(str::to_owned)
            .collect();
        self.source_user_files = config.flag("terminal.auto_source_bashrc");
        if let Some(grace) = config
            .number("terminal.daemon_term_grace_seconds")
            .and_then(|value| Duration::try_from_secs_f64(value).ok())
        {
            self.background_grace = grace;
        }
        self
    }
}
