//! What an ssh host needs to know of this machine.

use std::path::PathBuf;
use std::time::Duration;

use hermes_config::{Config, vars};
use hermes_proc::EnvPlan;

use hermes_terminal::carried_files::CarriedRequest;
use hermes_terminal::environment::EnvironmentBuilder;

/// How long things may take.
#[derive(Debug, Clone)]
pub struct SshTiming {
    /// The connection test.
    pub connect: Duration,
    /// A short question to the other machine.
    pub question: Duration,
    pub transfer: Duration,
    /// Least time between two looks for changed files.
    pub push_interval: Duration,
    /// Pauses before fetching files back is tried again.
    pub pull_pauses: Vec<Duration>,
}

impl Default for SshTiming {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            question: Duration::from_secs(10),
            transfer: Duration::from_mins(2),
            push_interval: Duration::from_secs(5),
            pull_pauses: [2, 4].map(Duration::from_secs).into(),
        }
    }
}

/// Environment, directories and files of this machine.
#[derive(Debug, Clone)]
pub struct SshSurroundings {
    /// Variables of the clients, a plan of the helper class: `ssh` must find the user's agent and
    /// home, not a profile's.
    pub environment: EnvPlan,
    /// Where sockets of connections are kept.
    pub temp_directory: PathBuf,
    /// What goes along.
    pub carried: CarriedRequest,
    /// Whether files are compared before every command.
    pub force_sync: bool,
    pub timing: SshTiming,
}

impl SshSurroundings {
    /// Of a profile.
    pub fn new(config: &Config, environment: &EnvironmentBuilder) -> Self {
        let real_home = environment.policy().child_home.real_home();
        let variables = &config.sources().env;
        Self {
            environment: environment.helper_plan().with("HOME", real_home),
            temp_directory: variables
                .os(&vars::TMPDIR)
                .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from),
            carried: CarriedRequest::from_config(config, real_home),
            force_sync: variables.is_set(&vars::HERMES_FORCE_FILE_SYNC),
            timing: SshTiming::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use hermes_config::{Environment, Sources};

    use super::*;
    use hermes_terminal::environment::EnvironmentFacts;

    #[test]
    fn clients_find_the_agent_and_the_real_home_and_no_secrets() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("hermes");
        for directory in [&home, &home.join("home"), &place.path().join("me")] {
            hermes_fs::create_dir_all(directory, 0o700).unwrap();
        }
        let me = place.path().join("me");
        let environment = Environment::from_pairs([
            ("HOME", me.to_str().unwrap()),
            ("PATH", "/usr/bin"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("OPENAI_API_KEY", "sk-canary"),
            ("HERMES_FORCE_FILE_SYNC", "1"),
            ("TERMINAL_HOME_MODE", "profile"),
            ("TMPDIR", "/var/tmp"),
        ]);
        let mut sources = Sources::new(&environment, &home);
        sources.managed_dir = None;
        let config = Config::load_read_only(&sources);
        let builder = EnvironmentBuilder::new(
            &config,
            &EnvironmentFacts {
                root: home.clone(),
                program: "/usr/bin/hermes".into(),
                is_container: false,
                account_home: Some(me.clone()),
                file_system_root: place.path().to_owned(),
            },
        );

        let surroundings = SshSurroundings::new(&config, &builder);
        let plan = &surroundings.environment;
        assert_ne!(builder.helper_plan().get("HOME"), Some(me.as_os_str()));
        assert_eq!(plan.get("HOME"), Some(me.as_os_str()));
        assert_eq!(plan.get("SSH_AUTH_SOCK"), Some(OsStr::new("/run/agent")));
        assert_eq!(plan.get("OPENAI_API_KEY"), None);
        assert!(surroundings.force_sync);
        assert_eq!(surroundings.temp_directory, Path::new("/var/tmp"));
        assert_eq!(surroundings.carried.hermes_home, home);
    }
}
