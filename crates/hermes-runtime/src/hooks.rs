//! The user's hooks under the settings of a profile: which there are, which are accepted, and what they
//! run with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hermes_config::vars;
use hermes_hooks::{
    AcceptedHooks, HookEvent, HookHost, HookSpec, Hooks, OutputSpill, configured, gateway_payload,
    hooks_of_directories, run_hook,
};
use hermes_proc::sandbox::Sandbox;
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;

use crate::backend::live_environment;
use crate::context::Context;
use crate::error::Result;
use crate::person::Person;
use crate::request::ConversationRequest;
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

    /// Those of the settings, and those of `hooks/` that a gateway tells of its events.
    pub fn with_gateway(context: &Context) -> Self {
        let mut found = Self::of(context);
        let of_directories = hooks_of_directories(&context.location.home);
        found.hooks.extend(of_directories.hooks);
        found.problems.extend(of_directories.problems);
        found
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
    request: &ConversationRequest,
    tools: &ToolSet,
    person: &dyn Person,
) -> Option<Arc<Hooks>> {
    let host: Arc<dyn HookHost> = Arc::new(ScriptHost {
        environment: live_environment(context),
        sandbox: tools.hook_sandbox(),
        account_home: context.location.user_home.clone(),
    });
    let listeners = tools.plugins.listeners(&host);
    let of_directories = if request.is_served {
        // What is wrong with them was said when the gateway started.
        hooks_of_directories(&context.location.home).hooks
    } else {
        Vec::new()
    };
    let setting = context.config().get("hooks");
    let hooks = if setting.is_some() || !of_directories.is_empty() {
        accepted_hooks(context, of_directories, person)
    } else {
        Vec::new()
    };
    if hooks.is_empty() && listeners.is_empty() {
        return None;
    }
    let location = &context.location;
    let spill = OutputSpill::resolve(setting, &location.home, &location.user_home);
    let hooks = Hooks::new(hooks, host, &request.platform, spill).with_listeners(listeners);
    Some(Arc::new(hooks))
}

/// The hooks of the settings, and these, that somebody has accepted.
fn accepted_hooks(
    context: &Context,
    of_directories: Vec<HookSpec>,
    person: &dyn Person,
) -> Vec<HookSpec> {
    let mut found = ProfileHooks::of(context);
    found.hooks.extend(of_directories);
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

/// Tells the accepted handlers of `hooks/` that a gateway has started. Blocks until they have ended.
pub fn tell_gateway_startup(context: &Context, platforms: &[String]) {
    let event = HookEvent::GatewayStartup;
    let found = ProfileHooks::with_gateway(context);
    for problem in &found.problems {
        tracing::warn!("{problem}");
    }
    let hooks = found.hooks.iter().filter(|hook| hook.event == event);
    let host = hook_host(context);
    let payload = gateway_payload(event, serde_json::json!({"platforms": platforms}));
    for hook in hooks {
        let command = &hook.command;
        if found.accepted.find(event, command).is_none() {
            tracing::warn!("the hook {command} is not run: nobody has accepted it");
            continue;
        }
        let run = run_hook(hook, &payload, &host, &context.location.home, None);
        if let Some(problem) = run.problem {
            tracing::warn!("the hook {command} of {} failed: {problem}", event.name());
        }
    }
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
