//! The surroundings of a conversation or command: environment, location, facts about the machine,
//! and the settings, which are read when first asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hermes_addons::Workers;
use hermes_config::dotenv::DotEnv;
use hermes_config::settings::ProblemReporter;
use hermes_config::{Config, Environment, Sources, vars};
use hermes_fs::Version;
use hermes_home::{HomePolicy, Location, ProfileName, Selection, SystemFacts};
use hermes_proc::agent_shell::{self, Caller};
use hermes_proc::env::is_managed_secret;
use hermes_secret::Redactor;
use hermes_telemetry::Zone;
use hermes_terminal::environment::{
    EnvironmentBuilder, EnvironmentFacts, LiveEnvironment, config_secret_names,
};

use crate::error::Result;
use crate::mcp_shared::McpShared;

/// The program that children may call back.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of `hermes`; children find the program under this path.
    pub path: PathBuf,
    /// Command line that supervises a background process and outlives the caller; empty where the
    /// surrounding program has none.
    pub supervisor: Vec<OsString>,
}

impl Program {
    /// A program that PATH finds under this name, without a supervisor.
    pub fn named(name: &str) -> Self {
        Self {
            path: PathBuf::from(name),
            supervisor: Vec::new(),
        }
    }
}

/// One profile on this machine, as one process sees it.
#[derive(Debug, Clone)]
pub struct Context {
    /// The environment, with `HERMES_HOME` set to the selected home.
    pub env: Environment,
    pub system: SystemFacts,
    /// The selected home and the root of the installation.
    pub location: Location,
    /// The selected profile; `None` for a custom home.
    pub current: Option<ProfileName>,
    pub program: Program,
    config: OnceLock<Config>,
    /// Who is told about unusable values of settings that are read.
    reporter: Option<ProblemReporter>,
    /// Set once commands could be confined under these settings. Shared by all copies.
    confines: Arc<OnceLock<()>>,
    environments: Arc<ChildEnvironments>,
    redactor: Arc<KnownRedactor>,
    /// The MCP servers of this process, shared by all copies.
    mcp: Arc<McpShared>,
    /// The processes of add-ons, shared by all copies.
    addon_workers: Arc<Workers>,
}

/// What children may know under the settings of a context, looked up once for all of its copies.
#[derive(Debug, Default)]
struct ChildEnvironments {
    of_program: OnceLock<Arc<LiveEnvironment>>,
    of_agent: OnceLock<Arc<LiveEnvironment>>,
}

/// What masks the secrets of a profile, for all copies of its context, as long as the files with keys
/// are as they were: conversations begin often, and keys change seldom.
#[derive(Debug, Default)]
struct KnownRedactor(Mutex<Option<(KeyFiles, Redactor)>>);

/// The files with keys beside those that the settings are read from: the stored keys of this home, and
/// what is inherited from the default one.
type KeyFiles = [Version; 3];

impl Context {
    /// The context of a selected profile. Reads nothing.
    pub fn new(
        env: &Environment,
        system: SystemFacts,
        selection: &Selection,
        program: Program,
    ) -> Self {
        Self {
            env: env.with(&vars::HERMES_HOME, selection.location.home.as_os_str()),
            system,
            location: selection.location.clone(),
            current: selection.current_profile(),
            program,
            config: OnceLock::new(),
            reporter: None,
            confines: Arc::default(),
            environments: Arc::default(),
            redactor: Arc::default(),
            mcp: Arc::default(),
            addon_workers: Arc::default(),
        }
    }

    /// The MCP servers of this process.
    pub(crate) fn mcp_shared(&self) -> &Arc<McpShared> {
        &self.mcp
    }

    /// The processes of add-ons that this process has started.
    pub(crate) fn addon_workers(&self) -> &Arc<Workers> {
        &self.addon_workers
    }

    /// Ends the MCP servers and the add-ons of this process. The next call starts them again.
    pub fn close_servers(&self) {
        self.mcp.pool.close();
        self.addon_workers.close();
    }

    /// Whether commands can be confined. That takes as long to find out as a turn, so a process of many
    /// conversations does it once; a failure is looked at again the next time.
    pub(crate) fn can_confine(&self, attempt: impl FnOnce() -> bool) -> bool {
        if self.confines.get().is_some() {
            return true;
        }
        let is_possible = attempt();
        if is_possible {
            self.confines.get_or_init(|| ());
        }
        is_possible
    }

    /// The same context; unusable values of settings are told about when they are read.
    #[must_use]
    pub fn reporting(self, reporter: ProblemReporter) -> Self {
        Self {
            reporter: Some(reporter),
            ..self
        }
    }

    /// The same context under another environment; its settings are read anew.
    #[must_use]
    pub fn with_env(&self, env: Environment) -> Self {
        Self {
            env,
            config: OnceLock::new(),
            environments: Arc::default(),
            redactor: Arc::default(),
            ..self.clone()
        }
    }

    /// The same context, as if the program had been started in this directory.
    #[must_use]
    pub fn in_directory(&self, directory: &Path) -> Self {
        let mut context = self.clone();
        context.system.start_dir = Some(directory.to_owned());
        context
    }

    /// The context of another home of this installation.
    #[must_use]
    pub fn in_home(&self, home: &Path) -> Self {
        let mut context = self.with_env(self.env.with(&vars::HERMES_HOME, home.as_os_str()));
        context.location = self.location.in_home(home);
        context
    }

    /// Whether a person called this program, or an agent from one of its shells.
    pub fn caller(&self) -> Caller {
        agent_shell::caller(self.env.os(&vars::HERMES_AGENT_SHELL))
    }

    /// Where settings are read from.
    pub fn sources(&self) -> Sources {
        Sources::new(&self.env, &self.location.home)
    }

    /// Where settings are read from and written to.
    pub fn sources_to_write(&self) -> Sources {
        Sources {
            tighten_dotenv: self.home_policy().tighten_files,
            ..self.sources()
        }
    }

    /// What child processes may know. Looks at the disk, changes nothing.
    pub fn environment(&self) -> Arc<EnvironmentBuilder> {
        self.live_environment().current()
    }

    /// The same, following changes of the settings.
    pub(crate) fn live_environment(&self) -> Arc<LiveEnvironment> {
        let environment = self.environments.of_program.get_or_init(|| {
            let environment = LiveEnvironment::new(self.sources(), self.environment_facts());
            Arc::new(environment.starting_with(self.config()))
        });
        Arc::clone(environment)
    }

    /// The same for children whose commands an agent chooses.
    pub(crate) fn agent_environment(&self) -> Arc<LiveEnvironment> {
        let environment = self.environments.of_agent.get_or_init(|| {
            let environment = LiveEnvironment::new(self.sources(), self.environment_facts());
            Arc::new(environment.starting_with(self.config()).of_agent(true))
        });
        Arc::clone(environment)
    }

    /// Facts about child processes that no setting holds.
    fn environment_facts(&self) -> EnvironmentFacts {
        EnvironmentFacts {
            root: self.location.root.clone(),
            program: self.program.path.clone(),
            is_container: hermes_home::is_container(&self.env, &self.system),
            account_home: self.system.home_by_uid(),
            file_system_root: self.system.file_system_root.clone(),
        }
    }

    /// The settings in effect. Reads files once and changes none.
    pub fn config(&self) -> &Config {
        self.config.get_or_init(|| match &self.reporter {
            Some(reporter) => Config::load_reporting(&self.sources(), reporter),
            None => Config::load_read_only(&self.sources()),
        })
    }

    /// How directories and files of the home are made.
    pub fn home_policy(&self) -> HomePolicy {
        HomePolicy::resolve(&self.env, &self.system, &self.location.home)
    }

    /// Creates the home, for everything that is about to write into it.
    pub fn ensure_home(&self) -> Result<()> {
        Ok(hermes_home::ensure_home(
            &self.location,
            &self.home_policy(),
            &self.system,
        )?)
    }

    /// Directory of temporary files.
    pub fn temp_dir(&self) -> PathBuf {
        let configured = self.env.os(&vars::TMPDIR).map(PathBuf::from);
        configured.unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// The time zone of timestamps.
    pub fn zone(&self) -> Zone {
        match self.config().text("timezone") {
            "" => Zone::System,
            // `doctor` reports a zone that does not exist; everything else uses the machine's.
            name => hermes_time::named(name).map_or(Zone::System, Zone::Explicit),
        }
    }

    /// Masks the secrets of this profile, unless the user has switched that off.
    pub fn redactor(&self) -> Redactor {
        let config = self.config();
        if !config.flag("security.redact_secrets") {
            return Redactor::disabled();
        }
        // Copies may have read their settings at different times; those of now are the same for all.
        let files = self.key_files().filter(|_| config.is_current());
        let mut known = self
            .redactor
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let (Some(files), Some((of_files, redactor))) = (&files, &*known)
            && files == of_files
        {
            return redactor.clone();
        }
        let redactor = self.redactor_of_now();
        *known = files.map(|files| (files, redactor.clone()));
        redactor
    }

    /// The files with keys as they are; `None` if one has just been written to.
    fn key_files(&self) -> Option<KeyFiles> {
        let config = self.config();
        let inherited = config.sources().default_home();
        let default = inherited.unwrap_or_else(|| self.location.home.clone());
        Some([
            hermes_fs::version(&self.location.home.join("auth.json"))?,
            hermes_fs::version(&default.join("auth.json"))?,
            hermes_fs::version(&default.join(".env"))?,
        ])
    }

    fn redactor_of_now(&self) -> Redactor {
        let config = self.config();
        let dotenv = config.dotenv();
        let names = dotenv.names().map(str::to_owned);
        let known = hermes_config::dotenv::known_names().filter(|name| name.secret);
        let names = names.chain(known.map(|name| name.name.to_owned()));
        let names = names.chain(config_secret_names(config));
        let values = names.filter_map(|name| config.secret(&name));
        let values = values.map(|value| value.expose().to_owned());
        let values = values.chain(config.secret_values());
        let values = values.chain(stored_keys(&self.location.home));
        let values = values.chain(self.inherited_secrets());
        // A name set both in the file and in the environment has two secret values.
        let in_file = dotenv.names().filter_map(|name| dotenv.get(name));
        let exported = self.env.iter().filter_map(|(name, value)| {
            let is_secret = name.to_str().is_some_and(is_managed_secret);
            is_secret.then(|| value.to_str()).flatten()
        });
        // Copies share what is compiled before they are made.
        Redactor::new(values.chain(in_file.chain(exported).map(str::to_owned))).compiled()
    }

    /// Secrets of the default profile that this profile may use.
    fn inherited_secrets(&self) -> Vec<String> {
        let config = self.config();
        let home = config.sources().default_home();
        let Some(home) = home.filter(|_| config.flag("model.inherit_keys")) else {
            return Vec::new();
        };
        // Secrets in an unreadable file cannot be shown by this process either.
        let dotenv = DotEnv::load(&home.join(".env")).unwrap_or_default();
        let values = dotenv.names().filter_map(|name| dotenv.get(name));
        let mut values: Vec<String> = values.map(str::to_owned).collect();
        values.extend(stored_keys(&home));
        values
    }
}

/// Keys that `hermes auth` has stored in a home.
fn stored_keys(home: &Path) -> Vec<String> {
    let file = hermes_providers::AuthFile::of_home(home);
    // Keys in an unreadable file cannot be shown by this process either.
    let pools = file.all().unwrap_or_default();
    let entries = pools.into_iter().flat_map(|(_, entries)| entries);
    entries
        .filter_map(|entry| Some(entry.secret()?.expose().to_owned()))
        .collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests change files directly")]
mod tests {
    use hermes_home::select;
    use pretty_assertions::assert_eq;

    use super::*;

    fn context(home: &Path) -> Context {
        let env = Environment::from_pairs::<&str, &str>([]).with(&vars::HERMES_HOME, home);
        let system = SystemFacts::of_process();
        let selection = select(&[], &env, &system).unwrap();
        Context::new(&env, system, &selection, Program::named("hermes"))
    }

    /// Waits until what was written can be told from what is written later.
    fn settle(context: &Context) {
        while context.key_files().is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_key_that_was_stored_meanwhile_is_masked_by_all_copies() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join(".env"),
            "OPENAI_API_KEY=first-long-value\n",
        )
        .unwrap();
        let context = context(home.path());
        let text = "first-long-value, later-long-value";
        let masked = |context: &Context| context.redactor().redact(text).into_owned();
        settle(&context);
        let copy = context.clone();
        for one in [&context, &copy, &context] {
            assert_eq!(masked(one), "***, later-long-value");
        }
        assert!(context.redactor.0.lock().unwrap().is_some());
        let stored = r#"{"credential_pool":
            {"xai": [{"id": "1", "access_token": "later-long-value"}]}}"#;
        std::fs::write(home.path().join("auth.json"), stored).unwrap();
        assert_eq!(masked(&copy), "***, ***");
        settle(&context);
        assert_eq!([masked(&context), masked(&copy)], ["***, ***", "***, ***"]);
        std::fs::remove_file(home.path().join("auth.json")).unwrap();
        assert_eq!(masked(&copy), "***, later-long-value");
    }

    #[test]
    fn settings_that_have_changed_since_they_were_read_are_no_measure_for_other_copies() {
        let home = tempfile::tempdir().unwrap();
        let dotenv = home.path().join(".env");
        std::fs::write(&dotenv, "OPENAI_API_KEY=first-long-value\n").unwrap();
        let early = context(home.path());
        let late = early.clone();
        settle(&early);
        assert_eq!(early.redactor().redact("first-long-value"), "***");
        std::fs::write(&dotenv, "OPENAI_API_KEY=later-value-of-it\n").unwrap();
        settle(&early);
        // This one goes by what it has read, and that one has read nothing yet.
        assert_eq!(early.redactor().redact("first-long-value"), "***");
        assert_eq!(late.redactor().redact("later-value-of-it"), "***");
    }
}
