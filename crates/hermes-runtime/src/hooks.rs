//! The user's hooks under the settings of a profile: which there are, which are accepted, and what they
//! run with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hermes_config::vars;
use hermes_hooks::{AcceptedHooks, HookHost, HookSpec, Hooks, OutputSpill, configured};
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;

use crate::backend::live_environment;
use crate::context::Context;
use crate::error::Result;
use crate::person::Person;
use crate::tool_set::ToolSet;

/// The hooks of a profile.
pub struct ProfileHooks {
    /// All that can be used.
    pub hooks: Vec<HookSpec>,
    /// What of the settings cannot be used, a sentence each.
    pub problems: Vec<String>,
    pub accepted: AcceptedHooks,
}

impl ProfileHooks {
    /// Those of the settings.
    pub fn of(context: &Context) -> Self {
        let found = configured(context.config().get("hooks"));
        Self {
            hooks: found.hooks,
            problems: found.problems,
            accepted: AcceptedHooks::of_home(&context.location.home, &context.location.user_home),
        }
    }

    /// Hooks that nobody has accepted.
    pub fn unseen(&self) -> impl Iterator<Item = &HookSpec> {
        let accepted = &self.accepted;
        let hooks = self.hooks.iter();
        hooks.filter(|hook| accepted.find(hook.event, &hook.command).is_none())
    }

    /// Records that hooks were accepted.
    pub fn accept(&self, hooks: &[&HookSpec]) -> Result<()> {
        for hook in hooks {
            self.accepted.accept(hook.event, &hook.command)?;
        }
        Ok(())
    }
}

/// Whether hooks that nobody has seen are accepted: by a variable or a setting.
pub fn accepts_unseen_hooks(context: &Context) -> bool {
    context.env.flag(&vars::HERMES_ACCEPT_HOOKS) || context.config().flag("hooks_auto_accept")
}

/// What hooks that belong to no conversation run with.
pub fn hook_host(context: &Context) -> impl HookHost {
    ScriptHost {
        environment: live_environment(context),
        sandbox: None,
        account_home: context.location.user_home.clone(),
    }
}

/// The accepted hooks of a conversation and those of plugins; `None` if there are none.
pub(crate) fn conversation_hooks(
    context: &Context,
    platform: &str,
    tools: &ToolSet,
    person: &dyn Person,
) -> Option<Arc<Hooks>> {
    let host: Arc<dyn HookHost> = Arc::new(ScriptHost {
        environment: live_environment(context),
        sandbox: tools.hook_sandbox(),
        account_home: context.location.user_home.clone(),
    });
    let listeners = tools.plugins.listeners(&host);
    let setting = context.config().get("hooks");
    let hooks = match setting {
        Some(_) => accepted_hooks(context, person),
        None => Vec::new(),
    };
    if hooks.is_empty() && listeners.is_empty() {
        return None;
    }
    let location = &context.location;
    let spill = OutputSpill::resolve(setting, &location.home, &location.user_home);
    let hooks = Hooks::new(hooks, host, platform, spill).with_listeners(listeners);
    Some(Arc::new(hooks))
}

/// The hooks of the settings that somebody has accepted.
fn accepted_hooks(context: &Context, person: &dyn Person) -> Vec<HookSpec> {
    let found = ProfileHooks::of(context);
    for problem in &found.problems {
        person.warn(problem, Some("`hermes hooks doctor` checks all hooks"));
    }
    let unseen: Vec<&HookSpec> = found.unseen().collect();
    if !unseen.is_empty() && accepts_unseen_hooks(context) {
        if let Err(error) = found.accept(&unseen) {
            tracing::warn!(%error, "accepted hooks could not be recorded");
        }
    } else {
        for hook in &unseen {
            let (command, event) = (&hook.command, hook.event.name());
            tracing::warn!("the hook {command} of {event} is not run: nobody has accepted it");
        }
    }
    let is_accepted = |hook: &&HookSpec| found.accepted.find(hook.event, &hook.command).is_some();
    found.hooks.iter().filter(is_accepted).cloned().collect()
}

/// What scripts of the user's run with.
struct ScriptHost {
    environment: Arc<LiveEnvironment>,
    sandbox: Option<Arc<LocalSandbox>>,
    account_home: PathBuf,
}

impl HookHost for ScriptHost {
    fn variables(&self, passthrough: &[String]) -> Vec<(OsString, OsString)> {
        let grants: Vec<&str> = passthrough.iter().map(String::as_str).collect();
        let builder = self.environment.ready(Instant::now());
        let plan = EnvPlan::build(&EnvRequest {
            grants: &grants,
            ..builder.request(SpawnClass::UserScript)
        });
        let mut variables: Vec<_> = plan.into_variables().into_iter().collect();
        let sandbox = self.sandbox.as_ref();
        variables.extend(sandbox.into_iter().flat_map(|sandbox| sandbox.variables()));
        variables
    }

    fn sandbox(&self) -> std::result::Result<Option<Arc<Sandbox>>, String> {
        let sandbox = self.sandbox.as_ref();
        sandbox.map(|sandbox| sandbox.prepared()).transpose()
    }

    fn account_home(&self) -> &Path {
        &self.account_home
    }
}
