//! The tools an agent can call: what they take, what they answer, and the one way to call them.
//!
//! Results are JSON for a model: never a backtrace, never a secret, always of bounded size.

mod argument;
mod child_runner;
mod context;
mod execute_code;
mod files;
mod place;
mod random;
mod registry;
mod result_cap;
mod symptom_hint;
mod terminal_tool;
mod tool;
mod toolset_names;

pub use argument::{Argument, Kind, checked, schema_of};
pub use child_runner::{ChildJob, ChildResult, ChildRole, ChildRunner, ChildStatus};
pub use context::{CallContext, CrossProfile, FixedSession, Session, WriteGuard};
pub use execute_code::{
    CodeSettings, ExecuteCodeTool, Interpreters, Mode, NoInterpreter, RpcEnv, SandboxEnv,
    ScriptGate, ScriptVerdict, UnattendedScripts,
};
pub use files::{
    FileLedger, Filesystem, HostFiles, PatchTool, PlaceFiles, ReadFileTool, SearchFilesTool,
    WriteFileTool, WriteRules,
};
pub use place::{Job, Place, Ran};
pub use registry::{MAX_RESULT_CHARS, Registry};
pub use symptom_hint::{HomeOfCommand, Observation, Stripped, StrippedAs, symptom_hint};
pub use terminal_tool::{ProcessTool, TerminalParts, TerminalSession, TerminalTool};
pub use tool::{Tool, error, is_failure};
pub use toolset_names::TOOLSET_NAMES;
