//! `execute_code`: a Python script in a child process that can call some of our tools.
//!
//! The script sees a module `hermes_tools` next to it, a way to send requests and a token; nothing of
//! Hermes can be imported. What it may know of the environment is decided by the [`SandboxEnv`] it is
//! given. It runs where the files of the session are.

mod calls;
mod capture;
mod interpreter;
mod module;
mod remote;
mod result;
mod rpc;
mod run;
mod script;
mod settings;
mod staging;
mod tool;

pub use interpreter::Interpreters;
pub use settings::{CodeSettings, RpcEnv, SandboxEnv, ScriptGate, ScriptMode};
pub use tool::ExecuteCodeTool;
