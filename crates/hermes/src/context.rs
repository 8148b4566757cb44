//! The context of a command: that of the libraries, and the printer.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;

use hermes_config::Environment;
use hermes_config::settings::{FileState, Problem};
use hermes_home::{Selection, SystemFacts};
use hermes_runtime::Program;
use hermes_telemetry::{Level, LogSettings};

use crate::error::{CommandError, Result};
use crate::ui::Printer;

/// Arguments of the step that supervises a background process.
pub(crate) const PROCESS_SUPERVISOR: [&str; 2] = ["internal", "proc-shim"];

/// The context of one run of the program.
pub(crate) struct Context {
    runtime: hermes_runtime::Context,
    pub(crate) printer: Printer,
}

impl Deref for Context {
    type Target = hermes_runtime::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}

impl Context {
    pub(crate) fn new(
        env: &Environment,
        system: SystemFacts,
        selection: &Selection,
        printer: &Printer,
    ) -> Self {
        Self {
            runtime: hermes_runtime::Context::new(env, system, selection, program()),
            printer: printer.clone(),
        }
    }

    /// The same context under another environment; its settings are read anew.
    pub(crate) fn with_env(&self, env: Environment) -> Self {
        Self {
            runtime: self.runtime.with_env(env),
            printer: self.printer.clone(),
        }
    }

    /// The same context with settings read anew.
    pub(crate) fn reloaded(&self) -> Self {
        self.with_env(self.env.clone())
    }

    /// Warns once on standard error that `config.yaml` cannot be used, for commands that go on.
    pub(crate) fn warn_if_broken(&self) -> std::io::Result<()> {
        for problem in self.config().problems() {
            if let Problem::Broken { .. } = problem {
                self.printer.note(format!("⚠️  hermes config: {problem}"))?;
                if let Some(hint) = problem.hint() {
                    self.printer.note(format!("hint: {hint}"))?;
                }
            }
        }
        Ok(())
    }

    /// Whether `config.yaml` can be used, or is absent.
    pub(crate) fn config_is_usable(&self) -> bool {
        !matches!(self.config().user_file().state, FileState::Broken(_))
    }

    /// Refuses where a package manager owns the settings.
    pub(crate) fn refuse_if_managed(&self, what: &str) -> Result<()> {
        match self.home_policy().managed {
            Some(managed) => Err(CommandError::user(format!(
                "{what} belongs to {} on this machine and is not changed here",
                managed.name()
            ))
            .hint(managed.settings_advice())),
            None => Ok(()),
        }
    }

    /// A path as people write it.
    pub(crate) fn display(&self, path: &Path) -> String {
        self.location.display(path)
    }

    /// Starts logging into the profile's files, for commands that change something. The files are
    /// opened at the first record.
    pub(crate) fn start_logging(&self) {
        hermes_telemetry::init(self.log_settings());
    }

    /// Where and how this profile logs.
    pub(crate) fn log_settings(&self) -> LogSettings {
        let config = self.config();
        let mut settings = LogSettings::new(self.location.home.join("logs"), self.redactor());
        settings.level = config.text("logging.level").parse().unwrap_or(Level::Info);
        if let Some(megabytes) = config.number("logging.max_size_mb").filter(|mb| *mb > 0.0) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive, and cut to whole bytes on purpose"
            )]
            let bytes = (megabytes * 1024.0 * 1024.0) as u64;
            settings.max_bytes = bytes;
        }
        let backups = config
            .int("logging.backup_count")
            .and_then(|n| u32::try_from(n).ok());
        settings.backups = backups.unwrap_or(settings.backups);
        settings.zone = self.zone();
        settings
    }
}

/// This program, as children call it back.
fn program() -> Program {
    let Ok(path) = std::env::current_exe() else {
        return Program::named("hermes");
    };
    let arguments = PROCESS_SUPERVISOR.map(OsString::from);
    let supervisor = std::iter::once(path.clone().into_os_string()).chain(arguments);
    Program {
        supervisor: supervisor.collect(),
        path,
    }
}
