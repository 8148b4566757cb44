//! The tool: from a call to a prepared script, and from its end to a result.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hermes_proc::{ChildSpec, Group, Wake};
use serde_json::{Value, json};

use super::calls::{CallRules, Calls};
use super::interpreter::Interpreters;
use super::module::{Requests, render};
use super::remote::{RemoteScript, run_remote};
use super::result::{MAX_STDERR, report};
use super::rpc::RpcServer;
use super::run::{FinishedScript, ScriptWatch, StreamLimits, wait};
use super::settings::{CodeSettings, SandboxEnv, ScriptGate, ScriptMode, ScriptVerdict};
use super::staging::{ScriptStage, new_token, sweep};
use crate::argument::{ArgKind, Argument};
use crate::context::CallContext;
use crate::files::FileLedger;
use crate::tool::{Tool, error, two_decimals};
use hermes_terminal::remote::ScriptRunner;

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
    fn name(&self) -> &'static str {
        "execute_code"
    }

    fn toolset(&self) -> &'static str {
        "code_execution"
    }

    fn description(&self) -> &'static str {
        "Runs a Python script that can call other tools by 'from hermes_tools import read_file, \
         write_file, search_files, patch, terminal' (and web_search, web_extract where available; \
         also json_parse, shell_quote, retry). Use it for several tool calls with logic between \
         them, or to work through large results: only what the script prints comes back. Up to \
         five minutes and 50 tool calls. Tool functions return dicts."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[Argument::required(
            "code",
            ArgKind::Text,
            "The script. Print what you want to see.",
        )];
        ARGUMENTS
    }

    fn unavailable(&self, context: &CallContext) -> Option<String> {
        if context.filesystem.operations().script_runner().is_some() {
            // Only the host knows, and only a call may ask it.
            return None;
        }
        let looked = Interpreters::look(&self.settings, context);
        looked.err().map(|error| error.to_string())
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        match self.gate.decide(code_of(args), context) {
            ScriptVerdict::Approved => json!({"approved": true}),
            ScriptVerdict::Refused(result) => json!({
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
        if let ScriptVerdict::Refused(result) = self.gate.decide(code, context) {
            return result;
        }
        match self.run(code, context) {
            Ok(result) => result,
            Err(message) => json!({"status": "error", "output": "", "error": message}),
        }
    }
}

fn code_of(args: &Value) -> &str {
    args["code"].as_str().unwrap_or_default()
}

impl ExecuteCodeTool {
    fn run(&self, code: &str, context: &CallContext) -> Result<Value, String> {
        let started = Instant::now();
        let allowed = allowed_tools(context);
        let token = new_token()?;
        let calls = Calls::new(CallRules {
            token: token.clone(),
            allowed: allowed.clone(),
            max_calls: self.settings.max_tool_calls,
            context: context_of_script(context)?,
        });
        let script = PreparedScript {
            code,
            allowed,
            token,
            calls: calls.clone(),
        };
        let mut warnings = Vec::new();
        let finished = match context.filesystem.operations().script_runner() {
            Some(host) => self.run_on_host(host, &script, context, &mut warnings),
            None => self.run_here(&script, context, &mut warnings),
        };
        let (calls, remark) = calls.close();
        warnings.extend(remark);
        let mut result = report(&self.settings, finished?, context);
        result["tool_calls_made"] = json!(calls);
        result["duration_seconds"] = json!(two_decimals(started.elapsed()));
        if !warnings.is_empty() {
            result["warning"] = json!(warnings.join(" "));
        }
        Ok(result)
    }

    fn run_here(
        &self,
        script: &PreparedScript<'_>,
        context: &CallContext,
        warnings: &mut Vec<String>,
    ) -> Result<FinishedScript, String> {
        let interpreter = self
            .interpreters
            .find(&self.settings, context)
            .map_err(|error| error.to_string())?;
        if !self.swept.swap(true, Ordering::Relaxed) {
            sweep(&self.settings.temp_dir);
        }
        let module = render(Requests::BySocket, &context.registry, &script.allowed);
        let temp_dir = &self.settings.temp_dir;
        let stage = ScriptStage::prepare(temp_dir, script.code, &module, &script.token)?;
        let server = RpcServer::new(script.calls.clone());
        let _guard = self.environment.guard_processes(&stage.rpc.mark);
        let variables = self.environment.variables(&stage.rpc, context);
        let spec = ChildSpec {
            cwd: Some(self.directory_for(&stage, context, warnings)),
            group: Group::Session,
            ends_with_thread: true,
            ..ChildSpec::new(interpreter, self.arguments_for(&stage), variables)
        };
        let child = spec.spawn().map_err(|error| error.to_string())?;
        let watch = ScriptWatch {
            stage: &stage,
            server: &server,
            interrupt: &context.interrupt,
            timeout: self.settings.timeout,
        };
        let finished = wait(child, &watch, self.limits());
        server.close();
        finished.map_err(|error| error.to_string())
    }

    fn run_on_host(
        &self,
        host: Arc<dyn ScriptRunner>,
        script: &PreparedScript<'_>,
        context: &CallContext,
        warnings: &mut Vec<String>,
    ) -> Result<FinishedScript, String> {
        let module = render(Requests::ByFiles, &context.registry, &script.allowed);
        let job = RemoteScript {
            host,
            code: script.code,
            module: &module,
            token: &script.token,
            settings: &self.settings,
            variables: self.environment.remote_variables(context),
            limits: self.limits(),
            calls: script.calls.clone(),
            context,
            swept: &self.swept,
        };
        run_remote(&job, warnings)
    }

    fn limits(&self) -> StreamLimits {
        StreamLimits {
            stdout: self.settings.max_stdout,
            stderr: MAX_STDERR,
        }
    }

    fn arguments_for(&self, stage: &ScriptStage) -> Vec<std::ffi::OsString> {
        // Unbuffered: a script that is stopped has said what it printed.
        let mut arguments = vec!["-u".into()];
        if self.settings.mode == ScriptMode::Strict {
            arguments.push("-s".into());
        }
        arguments.push(stage.script.clone().into());
        arguments
    }

    fn directory_for(
        &self,
        stage: &ScriptStage,
        context: &CallContext,
        warnings: &mut Vec<String>,
    ) -> PathBuf {
        if self.settings.mode == ScriptMode::Strict {
            return stage.path().to_owned();
        }
        let cwd = context.session.cwd();
        if cwd.is_dir() {
            return cwd;
        }
        warnings.push(format!(
            "The working directory {} does not exist; the script ran in a temporary one.",
            cwd.display()
        ));
        stage.path().to_owned()
    }
}

/// A script that is about to run.
struct PreparedScript<'a> {
    code: &'a str,
    allowed: Vec<&'static str>,
    token: String,
    calls: Calls,
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
