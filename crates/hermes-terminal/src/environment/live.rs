//! The settings about children as they are now: read again when a file has changed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_config::settings::FileState;
use hermes_config::{Config, Sources};

use super::builder::{EnvironmentBuilder, EnvironmentFacts};
use super::warnings;
use crate::lock::lock;

/// How long links are taken to be as they were left.
const LINKS_FRESH: Duration = Duration::from_mins(1);
/// How long other facts of the disk are, such as which installations there are.
const FACTS_FRESH: Duration = Duration::from_mins(1);

/// A profile's environment builder that follows its files. Passthrough lists take effect with the
/// next command, not with the next start. Conversations of one process share it.
pub struct LiveEnvironment {
    sources: Sources,
    facts: EnvironmentFacts,
    of_agent: bool,
    /// Settings that were read before.
    known: Option<Config>,
    state: Mutex<Option<State>>,
    /// Names that skills of a session asked for, by the key of the session.
    granted: Mutex<HashMap<String, BTreeSet<String>>>,
}

struct State {
    config: Config,
    builder: Arc<EnvironmentBuilder>,
    built: Instant,
    links_made: Option<Instant>,
}

// The settings hold secrets.
impl fmt::Debug for LiveEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveEnvironment")
            .field("home", &self.sources.home)
            .field("of_agent", &self.of_agent)
            .finish_non_exhaustive()
    }
}

impl LiveEnvironment {
    /// For the profile of these sources. Nothing is read yet.
    pub fn new(sources: Sources, facts: EnvironmentFacts) -> Self {
        Self {
            sources,
            facts,
            of_agent: false,
            known: None,
            state: Mutex::new(None),
            granted: Mutex::default(),
        }
    }

    /// The same, beginning with settings that were read from the same sources, unless their files have
    /// changed since.
    #[must_use]
    pub fn starting_with(mut self, config: &Config) -> Self {
        self.known = Some(config.unreported());
        self
    }

    /// Lets children of a session have these variables, which a skill asked for. Names that no skill
    /// may have are refused, with one warning each. Gives the names that are set.
    pub fn grant(&self, session: &str, skill: &str, names: &[String]) -> Vec<String> {
        let builder = self.current();
        let is_set = |name: &String| {
            let mut base = builder.base().iter();
            base.any(|(known, value)| known == name.as_str() && !value.is_empty())
        };
        let set: Vec<String> = names.iter().filter(|name| is_set(name)).cloned().collect();
        let mut granted = lock(&self.granted);
        for name in &set {
            match builder.policy().skill_refusal(skill, name) {
                Some(refusal) => warnings::tell_once(&[refusal.to_string()]),
                None => {
                    let session = granted.entry(session.to_owned()).or_default();
                    session.insert(name.clone());
                }
            }
        }
        set
    }

    /// Whether no command of a skill may have this variable.
    pub fn is_refused(&self, skill: &str, name: &str) -> bool {
        let builder = self.current();
        builder.policy().skill_refusal(skill, name).is_some()
    }

    /// Forgets what skills of a session asked for.
    pub fn revoke(&self, session: &str) {
        lock(&self.granted).remove(session);
    }

    /// The names that skills of a session may have.
    pub fn granted(&self, session: &str) -> BTreeSet<String> {
        lock(&self.granted)
            .get(session)
            .cloned()
            .unwrap_or_default()
    }

    /// The same for children whose commands an agent chooses.
    #[must_use]
    pub fn of_agent(mut self, of_agent: bool) -> Self {
        self.of_agent = of_agent;
        self
    }

    /// Whether an agent chooses the commands of children.
    pub fn is_of_agent(&self) -> bool {
        self.of_agent
    }

    /// The builder for the files as they are. New warnings are logged.
    pub fn current(&self) -> Arc<EnvironmentBuilder> {
        let mut state = lock(&self.state);
        Arc::clone(&self.refreshed(&mut state).builder)
    }

    /// As [`LiveEnvironment::current`], with the links made that children rely on: before the first
    /// child, and then at most once a minute.
    pub fn ready(&self, now: Instant) -> Arc<EnvironmentBuilder> {
        let mut state = lock(&self.state);
        let state = self.refreshed(&mut state);
        let fresh = |made: Instant| now.saturating_duration_since(made) < LINKS_FRESH;
        if !state.links_made.is_some_and(fresh) {
            state.links_made = Some(now);
            state.builder.make_links();
        }
        Arc::clone(&state.builder)
    }

    fn refreshed<'s>(&self, state: &'s mut Option<State>) -> &'s mut State {
        let earlier = state.take();
        let known = earlier.as_ref().map(|state| &state.config);
        let known = known.or(self.known.as_ref()).cloned();
        let current = known.clone().filter(Config::is_current);
        let is_first_look = earlier.is_none() || current.is_none();
        let links_made = match earlier {
            Some(state_before)
                if current.is_some() && state_before.built.elapsed() < FACTS_FRESH =>
            {
                return state.insert(state_before);
            }
            Some(outdated) if outdated.builder.policy().child_home.is_profile_home() => {
                outdated.links_made
            }
            // A profile home that has just come into use has its links made at once.
            _ => None,
        };
        let config = current.unwrap_or_else(|| self.read_again(known));
        let builder = EnvironmentBuilder::new(&config, &self.facts).of_agent(self.of_agent);
        let builder = Arc::new(builder);
        if is_first_look {
            builder.log_warnings();
        }
        state.insert(State {
            config,
            builder,
            built: Instant::now(),
            links_made,
        })
    }

    /// The settings as they are now. A file that breaks changes nothing.
    fn read_again(&self, known: Option<Config>) -> Config {
        let read = Config::load_read_only(&self.sources);
        match known {
            Some(known) if matches!(read.user_file().state, FileState::Broken(_)) => known,
            _ => read,
        }
    }
}
