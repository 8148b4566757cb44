//! What a tool is, what a call gets, and the one way to call a tool: arguments checked, panics caught,
//! secrets masked, size bounded.
//!
//! One file, since tools get a context, and a context has the tools: some call others.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_board::completion::GoalJudge;
use hermes_checkpoints::Checkpoints;
use hermes_hooks::Hooks;
use hermes_memory::MemoryService;
use hermes_proc::Wake;
use hermes_secret::Redactor;
use serde_json::{Value, json};

use crate::argument::{Argument, checked, object, schema_of};
use crate::child_job::{ChildJob, ChildResult};
use crate::file_ledger::FileLedger;
use crate::filesystem::{FileCall, Filesystem, SessionState};
use crate::result::{capped, error, redacted};
use crate::todo_list::TodoList;
use crate::tool_search_settings::ToolSearchSettings;

/// Most characters of a result as JSON text: a bound for memory. The agent decides how much of a
/// result goes into the conversation.
pub const MAX_RESULT_CHARS: usize = 4 * 1024 * 1024;

/// What a call can touch; decides which calls may run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolReach {
    /// Nothing is changed that another call could see.
    ReadOnly,
    /// The call reads the file in its argument `path`.
    ReadsPath,
    /// The call changes the file in its argument `path` and nothing else; without that argument,
    /// anything.
    ChangesPath,
    /// Anything, or the call talks to the user: it runs alone.
    Anything,
}

/// What is known of a tool before it is called.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other, named where a tool states them"
)]
pub struct ToolSpec<'a> {
    /// Unique in a registry.
    pub name: &'a str,
    /// The set by which the tool is switched on and off.
    pub toolset: &'a str,
    /// For the model.
    pub description: &'a str,
    pub arguments: &'static [Argument],
    /// The JSON schema of the arguments where somebody else wrote it, as an MCP server does. Then
    /// `arguments` is empty, and the arguments of a call are that server's to check.
    pub given_schema: Option<&'a Arc<Value>>,
    pub reach: ToolReach,
    /// Whether arguments that break the declared types reach [`Tool::call`] all the same, because
    /// the tool's result shape has its own way to say so.
    pub checks_arguments: bool,
    /// Whether the tool bounds its results itself.
    pub bounds_result: bool,
    /// Whether texts in its results are redacted already.
    pub redacts_result: bool,
    /// Whether the tool may be found by a search instead of being listed, because somebody else
    /// brought it. Never so for tools of our own.
    pub is_deferrable: bool,
}

impl ToolSpec<'static> {
    /// The fields that most tools share.
    pub const DEFAULT: Self = Self {
        name: "",
        toolset: "",
        description: "",
        arguments: &[],
        given_schema: None,
        reach: ToolReach::Anything,
        checks_arguments: false,
        bounds_result: false,
        redacts_result: false,
        is_deferrable: false,
    };
}

impl ToolSpec<'_> {
    /// The JSON schema of the arguments.
    pub fn schema(&self) -> Value {
        match self.given_schema {
            Some(schema) => Value::clone(schema),
            None => schema_of(self.arguments),
        }
    }
}

/// Something an agent can call. A call never fails as a Rust value: what went wrong is in the
/// result, as a sentence for the model.
pub trait Tool: Send + Sync {
    /// Name, description and arguments.
    fn spec(&self) -> ToolSpec<'_>;

    /// Runs the tool. `args` is an object in the declared types.
    fn call(&self, args: &Value, context: &CallContext) -> Value;

    /// What the guards say about this call, without making it:
    /// `{"approved", "hardline"?, "pattern_key"?, "description"?, "message"?}`.
    fn verdict(&self, _args: &Value, _context: &CallContext) -> Value {
        json!({"approved": true})
    }

    /// Why the tool cannot be offered here, if so. Never touches the network.
    fn unavailable(&self, _context: &CallContext) -> Option<String> {
        None
    }
}

/// A question with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClarifyQuestion {
    pub text: String,
    /// None for an open question.
    pub choices: Vec<String>,
}

/// Asks the user.
pub trait Answerer: Send + Sync {
    /// Their answer; `None` if none came in time.
    fn answer(&self, question: &ClarifyQuestion) -> Option<String>;
}

/// Runs sub-agents.
pub trait ChildRunner: Send + Sync {
    /// Runs one to its end, in this thread, and stops it when `context.interrupt` is raised. Several
    /// threads may call at once. What went wrong is in the result.
    fn run_child(&self, job: &ChildJob, context: &CallContext) -> ChildResult;
}

/// The conversation a call belongs to, as tools see it. A call made by hand (`hermes tools call`) has
/// none of these. Clones mean the same conversation.
#[derive(Clone, Default)]
pub struct ToolConversation {
    /// In the store of sessions.
    pub session_id: Option<String>,
    pub todos: Arc<TodoList>,
    pub answerer: Option<Arc<dyn Answerer>>,
    /// `None` where no further depth of sub-agents is allowed.
    pub children: Option<Arc<dyn ChildRunner>>,
    /// Judges whether a card with a goal is done.
    pub judge: Option<Arc<dyn GoalJudge>>,
    /// Commands of the user's that are told of calls and may refuse them.
    pub hooks: Option<Arc<Hooks>>,
    /// Takes snapshots of files before they are changed.
    pub checkpoints: Option<Arc<Checkpoints>>,
    /// A service that remembers elsewhere. Sub-agents have none.
    pub memory: Option<Arc<MemoryService>>,
    /// How tools are found that are not listed.
    pub tool_search: ToolSearchSettings,
}

/// The context of one call. Built by the caller and passed by reference; tools keep nothing of it.
#[derive(Clone)]
pub struct CallContext {
    /// Key of the conversation's terminal.
    pub session_key: String,
    pub conversation: ToolConversation,
    pub session: Arc<dyn SessionState>,
    /// `HOME` of children on this machine.
    pub child_home: PathBuf,
    pub filesystem: Filesystem,
    /// Masks secrets in every result.
    pub redactor: Arc<Redactor>,
    /// What the session has read and written.
    pub files: Arc<FileLedger>,
    /// Names of the tools the session may use; empty means all.
    pub enabled_tools: Vec<String>,
    /// Ends the call early.
    pub interrupt: Arc<Wake>,
    /// All tools, for those that call others.
    pub registry: Arc<ToolRegistry>,
}

impl CallContext {
    /// Whether the session may use a tool.
    pub fn may_call(&self, tool: &str) -> bool {
        self.enabled_tools.is_empty() || self.enabled_tools.iter().any(|name| name == tool)
    }

    /// The absolute path a call means: `~` is the home of the session's commands, anything relative
    /// starts at the session's directory.
    pub fn resolve(&self, raw: &str) -> Result<PathBuf, String> {
        if raw.trim().is_empty() {
            return Err("The path is empty.".to_owned());
        }
        if raw.contains('\0') {
            return Err("The path contains a NUL character.".to_owned());
        }
        let files = self.filesystem.operations();
        let path = files.below_home(Path::new(raw), self.file_call())?;
        if path.is_absolute() {
            return Ok(path);
        }
        Ok(files.working_directory(self.file_call())?.join(path))
    }

    /// The file on this machine that a call means, links followed as far as it exists; `None` if the
    /// session's files are on a remote host or the path is invalid.
    pub fn real_path(&self, raw: &str) -> Option<PathBuf> {
        let path = self.resolve(raw).ok()?;
        self.filesystem.operations().real_path(&path)
    }

    /// What file operations need of this context.
    pub(crate) fn file_call(&self) -> FileCall<'_> {
        FileCall {
            session: &*self.session,
            interrupt: &self.interrupt,
        }
    }
}

/// Tools by name, in the order they were added.
#[derive(Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    /// Tools that can be called and are offered for a reason only.
    unlisted: Vec<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Adds a tool; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools
            .retain(|other| other.spec().name != tool.spec().name);
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a tool that is found by its name and never among all tools.
    #[must_use]
    pub fn with_unlisted(mut self, tool: impl Tool + 'static) -> Self {
        self.unlisted.push(Arc::new(tool));
        self
    }

    /// The same tools without those of MCP servers.
    #[must_use]
    pub fn without_servers(&self) -> Self {
        let own = self.tools.iter();
        let own = own.filter(|tool| !tool.spec().toolset.starts_with("mcp-"));
        Self {
            tools: own.cloned().collect(),
            unlisted: self.unlisted.clone(),
        }
    }

    /// Adds tools of somebody else's, and returns those whose name is taken already.
    pub fn add_foreign(&mut self, tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        let all = self.tools.iter().chain(&self.unlisted);
        let mut names: HashSet<String> = all.map(|tool| tool.spec().name.to_owned()).collect();
        let mut refused = Vec::new();
        for tool in tools {
            if names.insert(tool.spec().name.to_owned()) {
                self.tools.push(tool);
            } else {
                refused.push(tool);
            }
        }
        refused
    }

    /// All tools.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// The toolsets of MCP servers and plugins, each as often as it has tools.
    pub fn foreign_toolsets(&self) -> impl Iterator<Item = &str> {
        let specs = self.iter().map(|tool| tool.spec());
        let foreign = specs.filter(|spec| spec.is_deferrable);
        foreign.map(|spec| spec.toolset)
    }

    /// Adds tools of a plugin that may take the place of those that are there.
    pub fn add_overriding(&mut self, tools: Vec<Arc<dyn Tool>>) {
        for tool in tools {
            let name = tool.spec().name.to_owned();
            self.tools.retain(|other| other.spec().name != name);
            self.tools.push(tool);
        }
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&dyn Tool> {
        let all = self.tools.iter().chain(&self.unlisted);
        let mut all = all.map(AsRef::as_ref);
        all.find(|tool: &&dyn Tool| tool.spec().name == name)
    }

    /// Calls a tool. Whatever happens, the answer is a JSON value without secrets and of bounded
    /// size.
    pub fn call(&self, name: &str, args: &Value, context: &CallContext) -> Value {
        self.run(name, args, context, |tool, args, context| {
            tool.call(args, context)
        })
    }

    /// What the guards say about a call, without making it.
    pub fn verdict(&self, name: &str, args: &Value, context: &CallContext) -> Value {
        self.run(name, args, context, |tool, args, context| {
            tool.verdict(args, context)
        })
    }

    fn run(
        &self,
        name: &str,
        args: &Value,
        context: &CallContext,
        action: fn(&dyn Tool, &Value, &CallContext) -> Value,
    ) -> Value {
        let Some(tool) = self.get(name) else {
            let known: Vec<&str> = self.iter().map(|tool| tool.spec().name).collect();
            let name = hermes_text::cut(name, 60);
            let message = format!("Unknown tool '{name}'. Available: {}.", known.join(", "));
            return redacted(error(message), &context.redactor);
        };
        let spec = tool.spec();
        let checked = match spec.given_schema {
            Some(_) => object(args).map(|args| Value::Object(args.into_owned())),
            None => checked(spec.arguments, args),
        };
        let args = match checked {
            Ok(args) => args,
            Err(_) if spec.checks_arguments && args.is_object() => args.clone(),
            Err(message) => return redacted(error(message), &context.redactor),
        };
        // A bug in one tool must not end a gateway that serves other conversations.
        let result = hermes_telemetry::contained(|| action(tool, &args, context));
        let mut result = result.unwrap_or_else(|_| {
            tracing::error!(tool = name, "a tool panicked");
            error(format!(
                "[TOOL_ERROR] {name} failed because of a bug in it; the log has the details."
            ))
        });
        if !spec.redacts_result {
            result = redacted(result, &context.redactor);
        }
        if !spec.bounds_result {
            result = capped(result, MAX_RESULT_CHARS);
        }
        result
    }
}
