//! The environment of scripts: the plan for scripts, with what the session's shell activated.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use hermes_proc::sandbox::Sandbox;
use hermes_proc::{EnvPlan, EnvRequest, SpawnClass};
use hermes_terminal::backend::Confinement;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::LocalSandbox;
use hermes_terminal::{SessionKey, Terminal};
use hermes_tools::{CallContext, RpcEnv, SandboxEnv};

/// Plans the environments of scripts.
pub(super) struct ScriptEnvironment {
    pub(super) terminal: Arc<Terminal>,
    pub(super) environment: Arc<LiveEnvironment>,
    /// What confines scripts, where they are.
    pub(super) sandbox: Option<Arc<LocalSandbox>>,
    /// The setting `timezone`; empty for the machine's.
    pub(super) zone: String,
}

impl SandboxEnv for ScriptEnvironment {
    fn variables(&self, rpc: &RpcEnv, context: &CallContext) -> Vec<(OsString, OsString)> {
        let key = SessionKey::new(context.session_key.clone());
        let state = self.terminal.session(&key).snapshot();
        let builder = self.environment.ready(Instant::now());
        let granted = self.environment.granted(&context.session_key);
        let plan = EnvPlan::build(&EnvRequest {
            skill_passthrough: Some(&granted),
            overlay: Some(&state.overlay),
            ..builder.request(SpawnClass::ScriptSandbox)
        });
        let mut variables = plan.into_variables();
        variables.extend(rpc.variables());
        if !self.zone.is_empty() {
            variables.insert("TZ".into(), self.zone.clone().into());
        }
        variables.into_iter().collect()
    }

    fn sandbox(&self, confinement: Confinement) -> Result<Option<Arc<Sandbox>>, String> {
        match (confinement, &self.sandbox) {
            (Confinement::None, _) => Ok(None),
            (Confinement::Sandbox, Some(sandbox)) => sandbox.prepared().map(Some),
            (Confinement::Sandbox, None) => Err("scripts have no sandbox here".to_owned()),
        }
    }

    fn sandbox_variables(&self) -> Vec<(OsString, OsString)> {
        let sandbox = self.sandbox.as_ref();
        sandbox.map_or_else(Vec::new, |sandbox| sandbox.variables())
    }

    fn remote_variables(&self, _: &CallContext) -> Vec<(OsString, OsString)> {
        let zone = (!self.zone.is_empty()).then(|| ("TZ".into(), self.zone.clone().into()));
        zone.into_iter().collect()
    }

    fn guard_processes<'a>(&'a self, mark: &str) -> Option<Box<dyn Send + 'a>> {
        let guarded = self.terminal.guard_processes(mark)?;
        Some(Box::new(guarded))
    }
}
