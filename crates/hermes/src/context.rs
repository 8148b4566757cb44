//! What every command gets: environment, place, and the settings, read when first asked for.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use hermes_config::settings::FileState;
use hermes_config::{Config, Environment, Sources, vars};
use hermes_home::profiles::current_profile;
use hermes_home::{HomePolicy, Location, ProfileName, Selection, SystemFacts};
use hermes_proc::env::is_managed_secret;
use hermes_secret::Redactor;
use hermes_telemetry::{Level, LogSettings, Zone};
use hermes_terminal::environment::{EnvironmentBuilder, EnvironmentFacts, config_secret_names};

use crate::error::{CommandError, Result};
use crate::ui::Printer;

/// The surroundings of one run of the program.
pub(crate) struct Context {
    pub(crate) env: Environment,
    pub(crate) system: SystemFacts,
    pub(crate) location: Location,
    /// The profile commands are about when nothing else is said; `None` for a custom home.
    pub(crate) current: Option<ProfileName>,
    pub(crate) printer: Printer,
    config: OnceCell<Config>,
}

impl Context {
    pub(crate) fn new(
        env: &Environment,
        system: SystemFacts,
        selection: &Selection,
        printer: &Printer,
    ) -> Self {
        Self {
            // Children and lookups of ours see the home that was chosen.
            env: env.with(&vars::HERMES_HOME, selection.location.home.as_os_str()),
            system,
            location: selection.location.clone(),
            current: current_profile(selection),
            printer: printer.clone(),
            config: OnceCell::new(),
        }
    }

    /// The same surroundings with settings not read yet.
    pub(crate) fn anew(&self) -> Self {
        Self {
            env: self.env.clone(),
            system: self.system.clone(),
            location: self.location.clone(),
            current: self.current.clone(),
            printer: self.printer.clone(),
            config: OnceCell::new(),
        }
    }

    /// The same surroundings under another environment.
    pub(crate) fn with_env(&self, env: Environment) -> Self {
        Self { env, ..self.anew() }
    }

    /// The same surroundings, as if the program had been started in this directory.
    pub(crate) fn in_directory(&self, directory: &Path) -> Self {
        let mut context = self.anew();
        context.system.start_dir = Some(directory.to_owned());
        context
    }

    pub(crate) fn sources(&self) -> Sources {
        Sources::new(&self.env, &self.location.home)
    }

    /// The sources for commands that write to them.
    pub(crate) fn sources_to_write(&self) -> Sources {
        Sources {
            tighten_dotenv: self.home_policy().tighten_files,
            ..self.sources()
        }
    }

    /// What children of this run may know. Looks at the disk, changes nothing.
    pub(crate) fn environment(&self) -> EnvironmentBuilder {
        EnvironmentBuilder::new(self.config(), &self.environment_facts())
    }

    /// The settings of another profile of this installation, and what its children may know.
    pub(crate) fn environment_of(&self, home: &Path) -> (Config, EnvironmentBuilder) {
        let env = self.env.with(&vars::HERMES_HOME, home.as_os_str());
        let config = Config::load_read_only(&Sources::new(&env, home));
        let builder = EnvironmentBuilder::new(&config, &self.environment_facts());
        (config, builder)
    }

    /// What settings do not tell about children.
    pub(crate) fn environment_facts(&self) -> EnvironmentFacts {
        EnvironmentFacts {
            root: self.location.root.clone(),
            // Without a path of our own, bare `hermes` is whatever PATH finds.
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("hermes")),
            is_container: hermes_home::is_container(&self.env, &self.system),
            account_home: self.system.home_by_uid(),
            file_system_root: self.system.file_system_root.clone(),
        }
    }

    /// The settings in effect. Reads files once and changes none.
    pub(crate) fn config(&self) -> &Config {
        self.config
            .get_or_init(|| Config::load_read_only(&self.sources()))
    }

    /// Says once on standard error that `config.yaml` cannot be used, for commands that go on.
    pub(crate) fn warn_if_broken(&self) -> std::io::Result<()> {
        for problem in self.config().problems() {
            if let hermes_config::settings::Problem::Broken { .. } = problem {
                self.printer.note(format!("⚠️  hermes config: {problem}"))?;
                if let Some(hint) = problem.hint() {
                    self.printer.note(format!("hint: {hint}"))?;
                }
            }
        }
        Ok(())
    }

    /// Whether `config.yaml` exists and parses.
    pub(crate) fn config_is_usable(&self) -> bool {
        !matches!(self.config().user_file().state, FileState::Broken(_))
    }

    /// How directories and files of the home are made.
    pub(crate) fn home_policy(&self) -> HomePolicy {
        HomePolicy::resolve(&self.env, &self.system, &self.location.home)
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

    /// Makes the home, for commands that are about to write into it.
    pub(crate) fn ensure_home(&self) -> Result<()> {
        Ok(hermes_home::ensure_home(
            &self.location,
            &self.home_policy(),
            &self.system,
        )?)
    }

    /// A path as people write it.
    pub(crate) fn display(&self, path: &Path) -> String {
        self.location.display(path)
    }

    /// Starts logging into the profile's files, for commands that change something. The files are
    /// opened at the first record.
    pub(crate) fn start_logging(&self) -> hermes_telemetry::Guard {
        hermes_telemetry::init(self.log_settings())
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

    /// The zone for timestamps.
    pub(crate) fn zone(&self) -> Zone {
        match self.config().text("timezone") {
            "" => Zone::System,
            // `doctor` tells about a zone that does not exist; logs go on in the machine's.
            name => hermes_time::named(name).map_or(Zone::System, Zone::Explicit),
        }
    }

    /// Masks the secrets of this profile, unless the user has switched that off.
    pub(crate) fn redactor(&self) -> Redactor {
        let config = self.config();
        if !config.flag("security.redact_secrets") {
            return Redactor::disabled();
        }
        let dotenv = config.dotenv();
        let names = dotenv.names().map(str::to_owned);
        let known = hermes_config::dotenv::known_names().filter(|name| name.secret);
        let names = names.chain(known.map(|name| name.name.to_owned()));
        let names = names.chain(config_secret_names(config));
        let values = names.filter_map(|name| config.secret(&name));
        let values = values.map(|value| value.expose().to_owned());
        let values = values.chain(hermes_config::settings::secret_values(config.tree()));
        let values = values.chain(self.kept_keys());
        // Of a name that is set in both places only one value counts; both are secret.
        let in_file = dotenv.names().filter_map(|name| dotenv.get(name));
        let exported = self.env.iter().filter_map(|(name, value)| {
            let is_secret = name.to_str().is_some_and(is_managed_secret);
            is_secret.then(|| value.to_str()).flatten()
        });
        Redactor::new(values.chain(in_file.chain(exported).map(str::to_owned)))
    }

    /// Keys that were given to `hermes auth` to keep.
    fn kept_keys(&self) -> Vec<String> {
        let file = hermes_providers::AuthFile::of_home(&self.location.home);
        // A file that cannot be read has no keys that anybody here could show.
        let pools = file.all().unwrap_or_default();
        let entries = pools.into_iter().flat_map(|(_, entries)| entries);
        entries
            .filter_map(|entry| Some(entry.secret()?.expose().to_owned()))
            .collect()
    }
}
