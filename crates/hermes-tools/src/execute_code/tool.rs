//! The tool: from a call to a prepared script, and from its end to a result.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hermes_proc::{ChildSpec, Group, Wake, adopt_orphans, reap_orphans};
use hermes_terminal::backend::Confinement;
use serde_json::{Value, json};

use super::calls::{CallRules, Calls};
use super::interpreter::Interpreters;
use super::module::BY_SOCKET;
use super::remote::run_remote;
use super::result::report;
use super::rpc::RpcServer;
use super::run::{ScriptWatch, wait};
use super::script::{FinishedScript, Script};
use super::settings::{CodeSettings, SandboxEnv, ScriptGate, ScriptMode};
use super::staging::{ScriptStage, new_token, sweep};
use crate::argument::{ArgKind, Argument};
use crate::file_ledger::FileLedger;
use crate::result::{error, two_decimals};
use crate::tool::{CallContext, Tool, ToolSpec};

/// Tools a script may call, where the session has them.
const SCRIPT_TOOLS: [&str; 7] = [
    "web_search",
    "web_extract",
    "read_file",
    "write_file",
    "search_files",
    "patch",
    "terminal",
];

const SPEC: ToolSpec = ToolSpec {
    name: "execute_code",
    toolset: "code_execution",
    description: "Runs a Python script that can call other tools by 'from hermes_tools import read_file, \
     write_file, search_files, patch, terminal' (and web_search, web_extract where available; \
     also json_parse, shell_quote, retry). Use it for several tool calls with logic between \
     them, or to work through large results: only what the script prints comes back. Up to \
     five minutes and 50 tool calls. Tool functions return dicts.",
    arguments: &[Argument::required(
        "code",
        ArgKind::Text,
        "The script. Print what you want to see.",
    )],
    ..ToolSpec::DEFAULT
};

/// Runs Python scripts.
pub struct ExecuteCodeTool {
    settings: CodeSettings,
    environment: Arc<dyn SandboxEnv>,
    gate: Arc<dyn ScriptGate>,
    interpreters: Interpreters,
    swept: AtomicBool,
}

impl ExecuteCodeTool {
    /// With these limits, this environment for scripts and this gate before them.
    pub fn new(
        settings: CodeSettings,
        environment: Arc<dyn SandboxEnv>,
        gate: Arc<dyn ScriptGate>,
    ) -> Self {
        Self {
            settings,
            environment,
            gate,
            interpreters: Interpreters::default(),
            swept: AtomicBool::new(false),
        }
    }
}

impl Tool for ExecuteCodeTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn unavailable(&self, context: &CallContext) -> Option<String> {
        if context.filesystem.operations().script_runner().is_some() {
            // Only the host knows, and only a call may ask it.
            return None;
        }
        Interpreters::look(&self.settings, context).err()
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        match self.gate.decide(code_of(args), context) {
            Ok(_) => json!({"approved": true}),
            Err(result) => json!({
                "approved": false,
                "pattern_key": result.get("pattern_key"),
                "description": result.get("description"),
                "message": result.get("error"),
            }),
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let code = code_of(args);
        if code.trim().is_empty() {
            return error("No code provided.");
        }
        let confinement = match self.gate.decide(code, context) {
            Ok(confinement) => confinement,
            Err(result) => return result,
        };
        self.run(code, confinement, context)
            .unwrap_or_else(|message| json!({"status": "error", "output": "", "error": message}))
    }
}

fn code_of(args: &Value) -> &str {
    args["code"].as_str().unwrap_or_default()
}

impl ExecuteCodeTool {
    fn run(
        &self,
        code: &str,
        confinement: Confinement,
        context: &CallContext,
    ) -> Result<Value, String> {
        let started = Instant::now();
        let allowed = allowed_tools(context);
        let token = new_token()?;
        let calls = Calls::new(CallRules {
            token: token.clone(),
            allowed: allowed.clone(),
            max_calls: self.settings.max_tool_calls,
            context: context_of_script(context)?,
        });
        let mut script = Script {
            code,
            allowed,
            token,
            calls,
            settings: &self.settings,
            context,
            swept: &self.swept,
            warnings: Vec::new(),
        };
        let finished = match context.filesystem.operations().script_runner() {
            Some(host) => {
                let variables = self.environment.remote_variables(context);
                run_remote(&mut script, host, variables)
            }
            None => self.run_here(&mut script, confinement),
        };
        let (calls, remark) = script.calls.close();
        let mut warnings = script.warnings;
        warnings.extend(remark);
        let mut result = report(&self.settings, finished?, context);
        result["tool_calls_made"] = json!(calls);
        result["duration_seconds"] = json!(two_decimals(started.elapsed()));
        if confinement == Confinement::Sandbox {
            result["sandboxed"] = json!(true);
        }
        if !warnings.is_empty() {
            result["warning"] = json!(warnings.join(" "));
        }
        Ok(result)
    }

    fn run_here(
        &self,
        script: &mut Script<'_>,
        confinement: Confinement,
    ) -> Result<FinishedScript, String> {
        let (settings, context) = (script.settings, script.context);
        let interpreter = self.interpreters.find(settings, context)?;
        if !self.swept.swap(true, Ordering::Relaxed) {
            sweep(&settings.temp_dir);
        }
        let module = script.module(BY_SOCKET);
        let stage = ScriptStage::prepare(&settings.temp_dir, script.code, &module, &script.token)?;
        // After the script is there: what comes later beside a hidden directory cannot be read.
        let sandbox = self.environment.sandbox(confinement)?;
        let server = RpcServer::new(Arc::clone(&script.calls));
        let _guard = self.environment.guard_processes(&stage.rpc.mark);
        let mut variables = self.environment.variables(&stage.rpc, context);
        if sandbox.is_some() {
            variables.extend(self.environment.sandbox_variables());
        }
        // Unbuffered: a script that is stopped has said what it printed.
        let mut arguments: Vec<OsString> = vec!["-u".into()];
        if settings.mode == ScriptMode::Strict {
            arguments.push("-s".into());
        }
        arguments.push((&stage.script).into());
        let cwd = context.session.cwd();
        let exists = cwd.is_dir();
        let spec = ChildSpec {
            cwd: Some(script.directory(cwd, exists, stage.path().to_owned())),
            group: Group::Session,
            ends_with_thread: true,
            sandbox,
            ..ChildSpec::new(interpreter, arguments, variables)
        };
        // So that what a script leaves behind is still below us when it is ended.
        if let Err(error) = adopt_orphans() {
            tracing::debug!(%error, "orphans of scripts are not found by their parent");
        }
        let child = spec.spawn().map_err(|error| error.to_string())?;
        let watch = ScriptWatch {
            stage: &stage,
            server: &server,
            interrupt: &context.interrupt,
            timeout: settings.timeout,
            max_stdout: settings.max_stdout,
        };
        let finished = wait(child, &watch);
        reap_orphans();
        server.close();
        finished.map_err(|error| error.to_string())
    }
}

/// The tools scripts may call: of the seven, those the session has, so that a script cannot use a tool
/// that is switched off.
fn allowed_tools(context: &CallContext) -> Vec<&'static str> {
    let enabled = &context.enabled_tools;
    SCRIPT_TOOLS
        .into_iter()
        .filter(|name| enabled.is_empty() || enabled.iter().any(|tool| tool == name))
        .filter(|name| context.registry.get(name).is_some())
        .collect()
}

/// The context of a script's calls: they can be stopped without stopping the turn, and a page of a
/// file may be read any number of times.
fn context_of_script(context: &CallContext) -> Result<CallContext, String> {
    let interrupt =
        Wake::new().map_err(|error| format!("could not prepare the script: {error}"))?;
    Ok(CallContext {
        files: Arc::new(FileLedger::for_script()),
        interrupt: Arc::new(interrupt),
        ..context.clone()
    })
}
