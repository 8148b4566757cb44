//! The settings of one profile, ready to plan children with.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hermes_config::dotenv::is_denied_name;
use hermes_config::{Config, vars};
use hermes_proc::env::{OwnInstall, OwnInstallFacts};
use hermes_proc::home::{ChildHome, HomeFacts, HomeMode};
use hermes_proc::{EnvPlan, EnvPolicy, EnvRequest, SpawnClass};

use super::secret_names::derived_secret_names;
use super::{links, warnings};

/// What the settings do not tell.
#[derive(Debug, Clone)]
pub struct EnvironmentFacts {
    pub root: PathBuf,
    pub program: PathBuf,
    pub is_container: bool,
    pub account_home: Option<PathBuf>,
    /// `/`, or what stands for it in tests.
    pub file_system_root: PathBuf,
}

/// Builds the environments of children for one profile, from one reading of its settings.
#[derive(Clone)]
pub struct EnvironmentBuilder {
    policy: EnvPolicy,
    base: Vec<(OsString, OsString)>,
    link_keychain: bool,
    link_entries: Vec<PathBuf>,
    warnings: Vec<String>,
    of_agent: bool,
    /// The environment of shells that have changed nothing yet, once somebody has asked for it.
    untouched_shell: OnceLock<EnvPlan>,
}

impl std::fmt::Debug for EnvironmentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvironmentBuilder")
            .field("policy", &self.policy)
            .field("base", &self.base.len())
            .finish_non_exhaustive()
    }
}

impl EnvironmentBuilder {
    /// Reads what matters to children. Looks at the disk, changes nothing.
    pub fn new(config: &Config, facts: &EnvironmentFacts) -> Self {
        let base = base(config);
        let lookup = |name: &str| base.get(OsStr::new(name)).map(OsString::as_os_str);
        let hermes_home = config.sources().home.clone();
        let child_home = ChildHome::resolve(&HomeFacts {
            // The schema has refused other words; what it let pass by is the default.
            mode: config
                .text("terminal.home_mode")
                .parse()
                .unwrap_or(HomeMode::Auto),
            is_container: facts.is_container,
            hermes_home: &hermes_home,
            inherited_real_home: lookup(vars::HERMES_REAL_HOME.name),
            inherited_home: lookup(vars::HOME.name),
            account_home: facts.account_home.as_deref(),
        });
        let own_install = OwnInstall::detect(&OwnInstallFacts {
            program: &facts.program,
            root: &facts.root,
            real_home: child_home.real_home(),
            virtual_env: lookup("VIRTUAL_ENV"),
            file_system_root: &facts.file_system_root,
        });
        let policy = EnvPolicy {
            hermes_home,
            hermes_program: facts.program.clone(),
            child_home,
            own_install,
            passthrough: names(
                config,
                &["terminal.env_passthrough", "tools.env_passthrough"],
            ),
            trusted_passthrough: names(config, &["terminal.trusted_env_passthrough"]),
            secret_names: Arc::new(derived_secret_names(config)),
        };
        Self {
            warnings: warnings::about(config, &policy),
            link_keychain: config.flag("terminal.profile_home_keychain"),
            link_entries: names(config, &["terminal.profile_home_links"])
                .into_iter()
                .map(PathBuf::from)
                .collect(),
            base: base.into_iter().collect(),
            policy,
            of_agent: false,
            untouched_shell: OnceLock::new(),
        }
    }

    /// The same for children whose commands an agent chooses.
    #[must_use]
    pub fn of_agent(mut self, of_agent: bool) -> Self {
        self.of_agent = of_agent;
        self.untouched_shell = OnceLock::new();
        self
    }

    /// The rules as data.
    pub fn policy(&self) -> &EnvPolicy {
        &self.policy
    }

    /// The process environment and `.env`, before any rule.
    pub fn base(&self) -> &[(OsString, OsString)] {
        &self.base
    }

    /// What the operator should know about these settings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the keychain is linked into the profile's home.
    pub fn links_keychain(&self) -> bool {
        self.link_keychain
    }

    /// Further entries of the real home that the profile's links to, as the settings have them.
    pub fn link_entries(&self) -> &[PathBuf] {
        &self.link_entries
    }

    /// A request for the environment of a child of this class, to be filled in where the child is
    /// particular.
    pub fn request(&self, class: SpawnClass) -> EnvRequest<'_> {
        EnvRequest {
            of_agent: self.of_agent,
            ..EnvRequest::new(class, &self.base, &self.policy)
        }
    }

    /// The environment of a child about which nothing is particular.
    pub fn plan(&self, class: SpawnClass) -> EnvPlan {
        EnvPlan::build(&self.request(class))
    }

    /// The environment of a shell of a session that has changed nothing.
    pub(super) fn untouched_shell(&self) -> &EnvPlan {
        self.untouched_shell
            .get_or_init(|| self.plan(SpawnClass::ToolShell))
    }

    /// The environment of a program we call for our own ends.
    pub fn helper_plan(&self) -> EnvPlan {
        self.plan(SpawnClass::Helper)
    }

    /// Logs the warnings that this process has not logged yet.
    pub fn log_warnings(&self) {
        warnings::tell_once(&self.warnings);
    }

    /// Makes the links that children rely on. What fails is logged once, given back, and stops
    /// nothing.
    pub fn make_links(&self) -> Vec<String> {
        let warnings = links::make(&self.policy, self.link_keychain, &self.link_entries);
        warnings::tell_once(&warnings);
        warnings
    }
}

/// The process environment over `.env`. An empty variable counts as unset, as for every setting; a
/// name that may not stand in `.env`, or that no environment can hold, is not taken from there.
fn base(config: &Config) -> BTreeMap<OsString, OsString> {
    let dotenv = config.dotenv();
    let mut base: BTreeMap<OsString, OsString> = dotenv
        .names()
        .filter(|name| !is_denied_name(name) && !name.contains('='))
        .filter_map(|name| Some((name.into(), dotenv.get(name)?.into())))
        .collect();
    for (name, value) in config.sources().env.iter() {
        if !value.is_empty() || !base.contains_key(name) {
            base.insert(name.to_owned(), value.to_owned());
        }
    }
    base
}

/// The names of these lists, blank ones left out.
fn names(config: &Config, keys: &[&str]) -> BTreeSet<String> {
    let texts = keys.iter().flat_map(|key| config.texts(key));
    texts
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}
