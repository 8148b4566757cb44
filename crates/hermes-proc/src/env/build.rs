//! Building a plan: the rules in their order.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::allow_list::{is_for_scripts, is_for_servers, speaks_of_secret};
use super::class::SpawnClass;
use super::names::{
    DIRECTORY_NAMES, FORCE_PREFIX, OWN_NAMES, RPC_NAMES, SESSION_NAMES, is_activated_prefix,
    is_activation_marker,
};
use super::overlay::{Overlay, VariableChanges};
use super::passthrough::{List, refusal};
use super::path_value::tier4;
use super::plan::{EnvPlan, EnvRequest};
use super::receipt::Fate;
use super::rule::Rule;
use super::search_path::{PathSources, SearchPath};
use super::tier::Tier;
use crate::agent_shell::MARK as AGENT_SHELL;

impl EnvPlan {
    /// Applies the rules. Looks at the file system only to resolve paths; changes nothing.
    pub fn build(request: &EnvRequest<'_>) -> Self {
        let builder = Builder {
            request,
            plan: Self::empty(request.class),
            deactivated: Vec::new(),
        };
        builder.build()
    }
}

struct Builder<'r, 'a> {
    request: &'r EnvRequest<'a>,
    plan: EnvPlan,
    /// Where programs of environments lie that are active in the parent and not in the child.
    deactivated: Vec<PathBuf>,
}

impl Builder<'_, '_> {
    fn build(mut self) -> EnvPlan {
        let class = self.request.class;
        self.inherit();
        if class != SpawnClass::McpServer {
            self.add_extra();
        }
        self.set_homes();
        self.set_session();
        self.set_marks();
        let overlay = self.request.overlay.filter(|_| class.takes_overlay());
        if let Some(overlay) = overlay {
            self.lay_over(overlay);
        }
        self.set_search_path(overlay);
        if class == SpawnClass::McpServer {
            // Last: what the user wrote for this server beats our PATH and HOME.
            self.add_server_map();
        }
        self.plan
    }

    /// Steps 1 to 5: what of the parent's passes.
    fn inherit(&mut self) {
        for (name, value) in self.request.base {
            match self.judge(&name.to_string_lossy()) {
                Ok(rule) => self.place(name, value, rule, Fate::Kept),
                Err(rule) => {
                    self.plan.strip(name, rule);
                    self.deactivate(name, value);
                }
            }
        }
    }

    /// Remembers where the programs of an environment lie whose marker is stripped: without the
    /// marker they would be half of an activation. Programs that Hermes itself calls may lie there.
    fn deactivate(&mut self, name: &OsStr, value: &OsStr) {
        let class = self.request.class;
        let prefix = Path::new(value);
        if (class.takes_overlay() || class == SpawnClass::Hermes)
            && prefix.is_absolute()
            && is_activated_prefix(&name.to_string_lossy())
        {
            self.deactivated.push(prefix.join("bin"));
        }
    }

    /// Whether an inherited name passes, and by which rule.
    fn judge(&self, name: &str) -> Result<Rule, Rule> {
        let EnvRequest { class, policy, .. } = *self.request;
        if name == "HERMES_EXEC_ID" {
            return Err(Rule::OtherCommand);
        }
        if name == AGENT_SHELL {
            // Whatever an agent's shell starts is started by the agent, at any depth.
            return Ok(Rule::AgentShell);
        }
        if let Some(tier) = Tier::of(name, policy) {
            return match tier.kept_by(class) {
                Some(rule) => Ok(rule),
                None if tier.is_credential() => self.lifted(name).ok_or(tier.stripped_by()),
                None => Err(tier.stripped_by()),
            };
        }
        if DIRECTORY_NAMES.contains(&name) {
            return Err(Rule::StaleDirectory);
        }
        if is_activation_marker(name) {
            return self.operator_lets(name).ok_or(Rule::ActivationMarker);
        }
        match class {
            SpawnClass::ScriptSandbox => self.judge_for_script(name),
            SpawnClass::McpServer if is_for_servers(name) => Ok(Rule::AllowListed),
            SpawnClass::McpServer => Err(Rule::NotAllowListed),
            _ => Ok(Rule::Inherited),
        }
    }

    fn judge_for_script(&self, name: &str) -> Result<Rule, Rule> {
        if let Some(rule) = self.operator_lets(name).or_else(|| self.skill_lets(name)) {
            Ok(rule)
        } else if !is_for_scripts(name) {
            Err(Rule::NotAllowListed)
        } else if speaks_of_secret(name) {
            Err(Rule::SecretName)
        } else {
            Ok(Rule::AllowListed)
        }
    }

    /// Who lets an inherited credential through, if anyone.
    fn lifted(&self, name: &str) -> Option<Rule> {
        let EnvRequest {
            class,
            policy,
            grants,
            ..
        } = *self.request;
        let trusted = class == SpawnClass::ToolShell && policy.trusted_passthrough.contains(name);
        let granted =
            matches!(class, SpawnClass::Helper | SpawnClass::UserScript) && grants.contains(&name);
        trusted
            .then_some(Rule::TrustedPassthrough)
            .or_else(|| granted.then_some(Rule::Granted))
    }

    fn operator_lets(&self, name: &str) -> Option<Rule> {
        let EnvRequest { class, policy, .. } = *self.request;
        let lets = class.takes_operator_passthrough()
            && policy.passthrough.contains(name)
            && refusal(name, List::Operator, policy).is_none();
        lets.then_some(Rule::OperatorPassthrough)
    }

    fn skill_lets(&self, name: &str) -> Option<Rule> {
        let EnvRequest { class, policy, .. } = *self.request;
        let asked = self.request.skill_passthrough?.contains(name);
        let lets = class.takes_overlay() && asked && refusal(name, List::Skill, policy).is_none();
        lets.then_some(Rule::SkillPassthrough)
    }

    /// Puts a value in after tier 4 has seen it.
    fn place(&mut self, name: &OsStr, value: &OsStr, rule: Rule, fate: Fate) {
        match tier4(
            &name.to_string_lossy(),
            value,
            &self.request.policy.own_install,
        ) {
            Some(Cow::Borrowed(value)) => self.plan.put(name, value.to_owned(), fate, rule),
            Some(Cow::Owned(rest)) => self.plan.set(name, rest, Rule::OwnInstall),
            None => self.plan.strip(name, Rule::OwnInstall),
        }
    }

    /// Step 6: what the call site brings.
    fn add_extra(&mut self) {
        for (name, value) in self.request.extra {
            let text = name.to_string_lossy();
            let (target, forced) = match text.strip_prefix(FORCE_PREFIX) {
                Some(target) => (Cow::Owned(OsString::from(target)), true),
                None => (Cow::Borrowed(name.as_os_str()), false),
            };
            if !is_representable(&target, value) {
                self.plan.strip(name, Rule::Unrepresentable);
                continue;
            }
            match self.judge_extra(&target.to_string_lossy(), value, forced) {
                Ok(rule) => self.place(&target, value, rule, Fate::Set),
                // Refusing an extra must not look like taking away what was inherited.
                Err(rule) if !self.plan.has(&target) => {
                    self.plan.strip(&target, rule);
                }
                Err(_) => {}
            }
        }
    }

    fn judge_extra(&self, name: &str, value: &OsStr, forced: bool) -> Result<Rule, Rule> {
        let EnvRequest { class, policy, .. } = *self.request;
        if class == SpawnClass::ScriptSandbox && RPC_NAMES.contains(&name) {
            return Ok(Rule::Given);
        }
        if name == AGENT_SHELL {
            return Err(Rule::Protected);
        }
        match Tier::of(name, policy) {
            Some(tier) if tier.is_internal() || tier == Tier::Session => {
                return Err(tier.stripped_by());
            }
            Some(tier)
                if !forced && tier.kept_by(class).is_none() && self.lifted(name).is_none() =>
            {
                return Err(tier.stripped_by());
            }
            _ => {}
        }
        if is_activation_marker(name) && !forced && self.operator_lets(name).is_none() {
            return Err(Rule::ActivationMarker);
        }
        if DIRECTORY_NAMES.contains(&name) {
            // A worker is told its workspace; for everyone else the real directory counts.
            let workspace = class == SpawnClass::Hermes && name == "TERMINAL_CWD";
            let path = Path::new(value);
            return if workspace && path.is_absolute() && path.is_dir() {
                Ok(Rule::Given)
            } else {
                Err(Rule::StaleDirectory)
            };
        }
        Ok(Rule::Given)
    }

    /// The map an MCP server has in the settings: the user wrote it.
    fn add_server_map(&mut self) {
        for (name, value) in self.request.extra {
            let tier = Tier::of(&name.to_string_lossy(), self.request.policy);
            if !is_representable(name, value) {
                self.plan.strip(name, Rule::Unrepresentable);
            } else if let Some(tier) = tier.filter(|tier| tier.is_internal()) {
                self.plan.strip(name, tier.stripped_by());
            } else {
                self.plan.set(name, value, Rule::Given);
            }
        }
    }

    /// Start-up files often reset it (hermes-agent#71893), so it is not laid over like others.
    fn set_search_path(&mut self, overlay: Option<&Overlay>) {
        let path_of = |changes: &'_ VariableChanges| changes.get(OsStr::new("PATH"))?.clone();
        let login = overlay.and_then(|overlay| path_of(&overlay.login));
        let session = overlay.and_then(|overlay| path_of(&overlay.session));
        let sources = PathSources {
            caller: self.plan.get("PATH"),
            login: login.as_deref(),
            session: session.as_deref(),
            deactivated: &self.deactivated,
        };
        let path = SearchPath::build(&sources, self.request.policy);
        self.plan.set_search_path(path);
    }

    fn set_homes(&mut self) {
        let EnvRequest { class, policy, .. } = *self.request;
        if class != SpawnClass::McpServer {
            let real = policy.child_home.real_home();
            self.plan
                .set("HERMES_HOME", &policy.hermes_home, Rule::SessionHome);
            self.plan.set("HERMES_REAL_HOME", real, Rule::RealHome);
        }
        // Our own processes never change their HOME.
        if class != SpawnClass::Hermes
            && let Some(home) = policy.child_home.replacement()
            && self.plan.get("HOME") != Some(home.as_os_str())
        {
            self.plan.set("HOME", home, Rule::HomeMode);
        }
    }

    /// Step 10. What the parent had of these is gone already.
    fn set_session(&mut self) {
        if !self.request.class.knows_session() {
            return;
        }
        for (name, value) in self.request.session {
            if let Some(value) = value
                && SESSION_NAMES.contains(&name.as_str())
                && is_representable(OsStr::new(name), OsStr::new(value))
            {
                self.plan.set(name, value, Rule::SessionIdentity);
            }
        }
    }

    fn set_marks(&mut self) {
        let class = self.request.class;
        if self.request.of_agent && class.takes_overlay() {
            self.plan.set(AGENT_SHELL, "1", Rule::AgentShell);
        }
        if let Some(id) = self.request.exec_id {
            self.plan.set("HERMES_EXEC_ID", id, Rule::CommandIdentity);
        }
        if self.request.background {
            self.plan.set("PYTHONUNBUFFERED", "1", Rule::Unbuffered);
        }
        let term = self.plan.get("TERM");
        if self.request.pty && term.is_none_or(|kind| kind.is_empty() || kind == "dumb") {
            self.plan.set("TERM", "xterm-256color", Rule::TerminalKind);
        }
    }

    /// Step 13: the shells' own changes, start-up files first.
    fn lay_over(&mut self, overlay: &Overlay) {
        let layers = [
            (&overlay.login, Rule::LoginShell),
            (&overlay.session, Rule::SessionState),
        ];
        for (changes, rule) in layers {
            for (name, change) in changes.iter().filter(|(name, _)| *name != "PATH") {
                match self.judge_overlay(name, change.as_deref()) {
                    Ok(()) => match change {
                        Some(value) => self.place(name, value, rule, Fate::Set),
                        None if self.plan.has(name) => {
                            self.plan.strip(name, Rule::SessionUnset);
                        }
                        None => {}
                    },
                    // What was decided before stands; a name nobody had yet gets its line.
                    Err(rule) if self.plan.receipt().of(name).is_none() => {
                        self.plan.strip(name, rule);
                    }
                    Err(_) => {}
                }
            }
        }
    }

    fn judge_overlay(&self, name: &OsStr, value: Option<&OsStr>) -> Result<(), Rule> {
        let EnvRequest { class, policy, .. } = *self.request;
        let text = name.to_string_lossy();
        let tier = Tier::of(&text, policy);
        let protected = tier.is_some_and(|tier| tier.is_internal() || tier == Tier::Session);
        if protected || OWN_NAMES.contains(&text.as_ref()) {
            return Err(Rule::Protected);
        }
        if !is_representable(name, value.unwrap_or_default()) {
            return Err(Rule::Unrepresentable);
        }
        if is_activation_marker(&text) {
            let ours = value.is_some_and(|value| policy.own_install.contains(Path::new(value)));
            return if ours { Err(Rule::OwnInstall) } else { Ok(()) };
        }
        if class == SpawnClass::ScriptSandbox {
            if let Some(tier) = tier {
                return Err(tier.stripped_by());
            }
            return self.judge_for_script(&text).map(|_| ());
        }
        Ok(())
    }
}

/// Whether the system can hand this pair to a program.
fn is_representable(name: &OsStr, value: &OsStr) -> bool {
    let name = name.as_bytes();
    !name.is_empty()
        && !name.contains(&b'=')
        && !name.contains(&0)
        && !value.as_bytes().contains(&0)
}
