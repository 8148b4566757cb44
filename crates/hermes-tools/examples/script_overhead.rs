//! What `execute_code` costs beyond the interpreter's own start: medians of `pass` through the tool
//! and of the bare interpreter, one after the other in one run.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement beside the product"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_secret::Redactor;
use hermes_tools::{
    CallContext, CodeSettings, CrossProfile, ExecuteCodeTool, FileLedger, Filesystem, HostFiles,
    Interpreters, RpcEnv, SandboxEnv, ScriptGate, SessionState, ToolRegistry, WriteGuard,
};
use serde_json::{Value, json};

struct Plain;

impl SandboxEnv for Plain {
    fn variables(&self, rpc: &RpcEnv, context: &CallContext) -> Vec<(OsString, OsString)> {
        let mut variables = rpc.variables();
        variables.push(("PATH".into(), context.session.variable("PATH").unwrap()));
        variables
    }
}

struct Approve;

impl ScriptGate for Approve {
    fn decide(
        &self,
        _: &str,
        _: &CallContext,
    ) -> Result<hermes_terminal::backend::Confinement, Value> {
        Ok(hermes_terminal::backend::Confinement::None)
    }
}

struct TemporarySession;

impl SessionState for TemporarySession {
    fn cwd(&self) -> PathBuf {
        std::env::temp_dir()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|_| name == "PATH")
    }
}

struct Nowhere;

impl WriteGuard for Nowhere {
    fn check(&self, _: &Path, _: CrossProfile) -> Result<PathBuf, String> {
        Err("nothing is written here".to_owned())
    }
}

fn main() {
    const ROUNDS: usize = 40;
    let settings = CodeSettings {
        python: std::env::args_os().nth(1).map(PathBuf::from),
        ..CodeSettings::default()
    };
    let gate = Arc::new(Approve);
    let tool = ExecuteCodeTool::new(settings.clone(), Arc::new(Plain), gate);
    let context = CallContext {
        session_key: "bench".to_owned(),
        conversation: hermes_tools::ToolConversation::default(),
        session: Arc::new(TemporarySession),
        child_home: std::env::temp_dir(),
        filesystem: Filesystem::from(HostFiles {
            home: std::env::temp_dir(),
            private_homes: hermes_policy::PrivateHomes::default(),
            write_guard: Arc::new(Nowhere),
        }),
        redactor: Arc::new(Redactor::default()),
        files: Arc::new(FileLedger::default()),
        enabled_tools: Vec::new(),
        interrupt: Arc::new(Wake::new().unwrap()),
        registry: Arc::new(ToolRegistry::default().with(tool)),
    };
    let python = Interpreters::default().find(&settings, &context).unwrap();
    let script = std::env::temp_dir().join("hermes-bare.py");
    std::fs::write(&script, "pass\n").unwrap();
    let mut bare = Vec::new();
    let mut tool = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let status = std::process::Command::new(&python)
            .arg(&script)
            .env_clear()
            .env("PATH", context.session.variable("PATH").unwrap())
            .status();
        assert!(status.unwrap().success());
        bare.push(started.elapsed());
        let started = Instant::now();
        let result = context
            .registry
            .call("execute_code", &json!({"code": "pass"}), &context);
        assert_eq!(result["status"], "success", "{result}");
        tool.push(started.elapsed());
    }
    std::fs::remove_file(script).unwrap();
    let (bare, tool) = (median(bare), median(tool));
    println!("interpreter     {}", python.display());
    println!("bare            {bare:?}");
    println!("execute_code    {tool:?}");
    println!("overhead        {:?}", tool.saturating_sub(bare));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
