//! A plan: what is asked for, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use super::class::SpawnClass;
use super::overlay::Overlay;
use super::policy::EnvPolicy;
use super::receipt::{Fate, Receipt};
use super::rule::Rule;
use super::search_path::SearchPath;

/// What a child is and what it may start from.
#[derive(Clone, Copy)]
pub struct EnvRequest<'a> {
    pub class: SpawnClass,
    /// Variables of this process, of `.env` and of the profile.
    pub base: &'a [(OsString, OsString)],
    pub policy: &'a EnvPolicy,
    /// Variables of the call site. `_HERMES_FORCE_NAME` sets `NAME` though it is a credential. For
    /// an MCP server this is the user's own map and taken as it is, tier 0 apart.
    pub extra: &'a [(OsString, OsString)],
    /// Inherited credentials the call site needs by name, for helpers and user scripts.
    pub grants: &'a [&'a str],
    /// Names that skills viewed in this session asked for.
    pub skill_passthrough: Option<&'a BTreeSet<String>>,
    /// What the session's shells changed; for the agent's shells and scripts.
    pub overlay: Option<&'a Overlay>,
    /// Identity of the conversation: names of [`super::SESSION_NAMES`], `None` for unbound. Others are
    /// not looked at.
    pub session: &'a [(String, Option<String>)],
    pub background: bool,
    pub pty: bool,
    /// Identity of this command, 16 hexadecimal digits.
    pub exec_id: Option<&'a str>,
    /// Whether an agent chose what runs; its shells and scripts carry
    /// [`crate::agent_shell::MARK`].
    pub of_agent: bool,
}

impl<'a> EnvRequest<'a> {
    /// A request for a child in the foreground, without session, overlay or extras.
    pub fn new(class: SpawnClass, base: &'a [(OsString, OsString)], policy: &'a EnvPolicy) -> Self {
        Self {
            class,
            base,
            policy,
            extra: &[],
            grants: &[],
            skill_passthrough: None,
            overlay: None,
            session: &[],
            background: false,
            pty: false,
            exec_id: None,
            of_agent: false,
        }
    }
}

/// All variables of one child, and why.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvPlan {
    variables: BTreeMap<OsString, OsString>,
    receipt: Receipt,
}

impl std::fmt::Debug for EnvPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnvPlan({}) ", self.receipt.class())?;
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl EnvPlan {
    /// A plan that inherits nothing: the child sees what the call site sets.
    pub fn empty(class: SpawnClass) -> Self {
        Self {
            variables: BTreeMap::new(),
            receipt: Receipt::new(class),
        }
    }

    /// What the child sees.
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// What the child sees, for whoever keeps it.
    pub fn into_variables(self) -> BTreeMap<OsString, OsString> {
        self.variables
    }

    /// The value the child sees.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    pub(super) fn has(&self, name: &OsStr) -> bool {
        self.variables.contains_key(name)
    }

    /// Why it sees that.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Sets a variable that the call site's program needs.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.set(name, value, Rule::Given);
        self
    }

    /// Takes a variable away that would mislead the call site's program.
    #[must_use]
    pub fn without(mut self, name: &'static str) -> Self {
        if self.has(OsStr::new(name)) {
            self.strip(name, Rule::Withheld);
        }
        self
    }

    pub(super) fn put(&mut self, name: &OsStr, value: OsString, fate: Fate, rule: Rule) {
        self.variables.insert(name.to_owned(), value);
        self.receipt.record(name, fate, rule);
    }

    pub(super) fn set(&mut self, name: impl AsRef<OsStr>, value: impl Into<OsString>, rule: Rule) {
        self.put(name.as_ref(), value.into(), Fate::Set, rule);
    }

    /// Takes this search path; what the parent had already is not told as a change.
    pub(super) fn set_search_path(&mut self, path: SearchPath) {
        let value = path.value();
        if self.get("PATH") != Some(&value) {
            self.set("PATH", value, Rule::SearchPath);
        }
        self.receipt.search_path = path;
    }

    pub(super) fn strip(&mut self, name: impl AsRef<OsStr>, rule: Rule) {
        self.variables.remove(name.as_ref());
        self.receipt.record(name.as_ref(), Fate::Stripped, rule);
    }
}
