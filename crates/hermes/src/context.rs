//! The context of a command: that of the libraries, and the printer.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::process::ExitCode;

use hermes_config::Environment;
use hermes_config::settings::{FileState, Problem, ProblemReporter, changes_security};
use hermes_home::{Selection, SystemFacts};
use hermes_runtime::Program;
use hermes_telemetry::{Level, LogSettings};
use serde::Serialize;

use crate::error::{CommandError, Result};
use crate::ui::Printer;

/// Arguments of the step that supervises a background process.
pub(crate) const PROCESS_SUPERVISOR: [&str; 2] = ["internal", "proc-shim"];

/// The context of one run of the program.
pub(crate) struct Context {
    runtime: hermes_runtime::Context,
    reporter: ProblemReporter,
    pub(crate) printer: Printer,
    /// Builds the tree of commands, for help, completions and generated pages.
    pub(crate) command_tree: fn() -> clap::Command,
    /// Runs a command line of the program in this context.
    pub(crate) run_words: RunWords,
}

/// Runs the words of a command line, without the name of the program.
pub(crate) type RunWords = fn(&[String], &Context) -> Result<ExitCode>;

impl Deref for Context {
    type Target = hermes_runtime::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}

impl Context {
    /// The context of a selected profile. Reads nothing.
    pub(crate) fn new(
        env: &Environment,
        system: SystemFacts,
        selection: &Selection,
        printer: Printer,
        command_tree: fn() -> clap::Command,
        run_words: RunWords,
    ) -> Self {
        let reporter = ProblemReporter::new(move |problem| warn_about(printer, problem));
        let runtime = hermes_runtime::Context::new(env, system, selection, program());
        Self {
            runtime: runtime.reporting(reporter.clone()),
            reporter,
            printer,
            command_tree,
            run_words,
        }
    }

    /// The same context with settings read anew.
    pub(crate) fn reloaded(&self) -> Self {
        Self {
            runtime: self.runtime.with_env(self.env.clone()),
            reporter: self.reporter.clone(),
            ..*self
        }
    }

    /// Everything that is wrong with the settings, for commands that list it. None of it is told
    /// about again when a setting is read.
    pub(crate) fn listed_problems(&self) -> &[Problem] {
        let problems = self.config().problems();
        for problem in problems {
            self.reporter.mark(problem);
        }
        problems
    }

    /// Warns of a problem, unless this process has done so.
    pub(crate) fn warn_once(&self, problem: &Problem) {
        self.reporter.tell(problem);
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, text: impl AsRef<str>) -> Result<()> {
        self.printer.line(text)
    }

    /// Prints data.
    pub(crate) fn out(&self, text: &str) -> Result<()> {
        self.printer.out(text)
    }

    /// Prints a value for programs.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        self.printer.json(value)
    }

    /// Prints a value for programs, on one line.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<()> {
        self.printer.json_line(value)
    }

    /// Prints a line of words beside the data.
    pub(crate) fn note(&self, text: impl AsRef<str>) -> Result<()> {
        self.printer.note(text)
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: impl AsRef<str>) -> Result<()> {
        self.printer.warn(text)
    }

    /// Prints what to do about a warning.
    pub(crate) fn hint(&self, text: impl AsRef<str>) -> Result<()> {
        self.printer.hint(text)
    }

    /// Warns once on standard error that `config.yaml` cannot be used, for commands that go on.
    pub(crate) fn warn_if_broken(&self) -> Result<()> {
        for problem in self.config().problems() {
            if let Problem::Broken { .. } = problem {
                self.note(format!("⚠️  hermes config: {problem}"))?;
                if let Some(hint) = problem.hint() {
                    self.hint(hint)?;
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
                "{what} is managed by {} on this machine and cannot be changed here",
                managed.name()
            ))
            .hint(managed.settings_advice())),
            None => Ok(()),
        }
    }

    /// Refuses what would let an agent free itself, in an agent's shell.
    pub(crate) fn refuse_to_agents(&self, what: &str) -> Result<()> {
        if !self.caller().is_agent() {
            return Ok(());
        }
        tracing::warn!(what, "refused to an agent");
        Err(
            CommandError::user(format!("{what} is refused in an agent's shell"))
                .hint("ask the user to do this in a terminal of their own"),
        )
    }

    /// Refuses a change of settings that may widen what an agent may do, in an agent's shell. `None`
    /// stands for the removal of the value.
    pub(crate) fn refuse_setting_to_agents(&self, key: &str, value: Option<&str>) -> Result<()> {
        if !changes_security(key, value) {
            return Ok(());
        }
        self.refuse_to_agents(&format!("changing {}", hermes_text::shown(key, 80)))
    }

    /// `-p NAME ` for a command line that must find this profile again whichever is active then;
    /// nothing for the default profile.
    pub(crate) fn profile_flag(&self) -> String {
        match &self.current {
            Some(name) if !name.is_default() => format!("-p {name} "),
            _ => String::new(),
        }
    }

    /// A path as people write it.
    pub(crate) fn display(&self, path: &Path) -> String {
        self.location.display(path)
    }

    /// `2026-11-05 13:45` in the zone of the profile; nothing for a time that no clock can show.
    pub(crate) fn minute(&self, seconds: i64) -> String {
        let moment = jiff::Timestamp::from_second(seconds).ok();
        moment.map_or_else(String::new, |moment| {
            let local = moment.to_zoned(self.zone().resolve());
            local.strftime("%Y-%m-%d %H:%M").to_string()
        })
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

/// Warns of a problem with the settings, on standard error and in the log if there is one.
fn warn_about(printer: Printer, problem: &Problem) {
    tracing::warn!("{problem}");
    // Standard error may be closed; the command goes on.
    drop(printer.warn(problem.to_string()));
    if let Some(hint) = problem.hint() {
        drop(printer.hint(hint));
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
