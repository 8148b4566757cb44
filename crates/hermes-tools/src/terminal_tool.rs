//! The `terminal` tool as an entry of the registry, and a session's shell as other tools see it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use hermes_proc::SpawnClass;
use hermes_proc::env::{Fate, Rule};
use hermes_terminal::background::process;
use hermes_terminal::environment::{Circumstances, LiveEnvironment};
use hermes_terminal::local::{
    CommandGuard, CommandKind, GuardOutcome, NoticeSupport, SudoSupport, Terminal, ToolContext,
    terminal,
};
use hermes_terminal::session::SessionKey;
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument, schema_of};
use crate::context::{CallContext, SessionState};
use crate::symptom_hint::{HomeOfCommand, Observation, Stripped, StrippedAs, symptom_hint};
use crate::tool::Tool;

const DESCRIPTION: &str = "Runs a shell command. The working directory and exported variables last \
    from call to call. A foreground call returns as soon as the command ends, whatever its timeout. \
    Use the file tools, not this one, to read, search, list, edit or create files. For a long job \
    use background and wait for it with process; for a server use background alone; for a program \
    that asks questions use background with pty.";

/// Arguments that a call may have and that are not offered: nothing carries notices to a
/// conversation. A call that has them anyhow is told so.
const NOT_OFFERED: &[&str] = &["notify_on_complete", "watch_patterns"];

const ARGUMENTS: &[Argument] = &[
    Argument::required("command", ArgKind::Text, "Text for the shell."),
    Argument::optional(
        "background",
        ArgKind::Flag,
        "Run it on its own and return at once.",
    ),
    Argument::optional(
        "timeout",
        ArgKind::Int {
            min: 1,
            max: i64::MAX,
        },
        "Seconds a foreground command may take.",
    ),
    Argument::optional("workdir", ArgKind::Text, "Directory for this command only."),
    Argument::optional(
        "pty",
        ArgKind::Flag,
        "Give it a terminal; with background only.",
    ),
    Argument::optional(
        "notify_on_complete",
        ArgKind::Flag,
        "With background: one notice when it ends.",
    ),
    Argument::optional(
        "watch_patterns",
        ArgKind::Texts,
        "With background: notices for lines that hold one of these texts.",
    ),
];

/// What both tools of the terminal share.
#[derive(Clone)]
pub struct TerminalParts {
    /// The backend.
    pub terminal: Arc<Terminal>,
    /// Variables of its shells.
    pub environment: Arc<LiveEnvironment>,
    /// What may run.
    pub guard: Arc<dyn CommandGuard>,
    /// Passwords for sudo.
    pub sudo: Option<Arc<dyn SudoSupport>>,
}

impl TerminalParts {
    /// Calls `tool` for the conversation of `context`.
    fn call(
        &self,
        context: &CallContext,
        tool: fn(&Value, &ToolContext<'_>) -> Value,
        args: &Value,
    ) -> Value {
        let session = SessionKey::new(context.session_key.clone());
        tool(
            args,
            &ToolContext {
                terminal: &self.terminal,
                session: &session,
                environment: &*self.environment,
                guard: &*self.guard,
                interrupt: &context.interrupt,
                on_progress: None,
                transform_output: None,
                sudo: self.sudo.as_deref(),
                notices: NoticeSupport::Unsupported(
                    "this call has no conversation that could hear of it later".to_owned(),
                ),
                watcher: std::collections::BTreeMap::default(),
            },
        )
    }
}

/// Runs commands of a conversation in its shell.
pub struct TerminalTool(pub TerminalParts);

/// Looks after background processes of a conversation.
pub struct ProcessTool(pub TerminalParts);

const PROCESS_ARGUMENTS: &[Argument] = &[
    Argument::required(
        "action",
        ArgKind::Choice(&[
            "list", "poll", "log", "wait", "kill", "write", "submit", "close",
        ]),
        "What to do.",
    ),
    Argument::optional(
        "session_id",
        ArgKind::Text,
        "The process; not needed for list.",
    ),
    Argument::optional("data", ArgKind::Text, "Input for write and submit."),
    Argument::optional(
        "timeout",
        ArgKind::Int {
            min: 1,
            max: i64::MAX,
        },
        "Seconds to wait at most.",
    ),
    Argument::optional(
        "offset",
        ArgKind::Int {
            min: 0,
            max: i64::MAX,
        },
        "First line of the log to show; without it, its end.",
    ),
    Argument::optional(
        "limit",
        ArgKind::Int {
            min: 1,
            max: i64::MAX,
        },
        "Lines of the log to show.",
    ),
];

impl Tool for ProcessTool {
    fn name(&self) -> &'static str {
        "process"
    }

    fn toolset(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        "Looks after processes started with terminal and background: list them, poll or read their \
         output, wait for their end, kill them, or write to those that have a terminal (submit adds \
         the line break, close ends the input)."
    }

    fn arguments(&self) -> &'static [Argument] {
        PROCESS_ARGUMENTS
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        self.0.call(context, process, args)
    }

    fn checks_its_own_arguments(&self) -> bool {
        true
    }

    fn bounds_its_own_result(&self) -> bool {
        true
    }
}

impl Tool for TerminalTool {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn toolset(&self) -> &'static str {
        "terminal"
    }

    fn description(&self) -> &'static str {
        DESCRIPTION
    }

    fn arguments(&self) -> &'static [Argument] {
        ARGUMENTS
    }

    fn schema(&self) -> Value {
        let offered = ARGUMENTS
            .iter()
            .filter(|argument| !NOT_OFFERED.contains(&argument.name));
        schema_of(&offered.copied().collect::<Vec<_>>())
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let mut result = self.0.call(context, terminal, args);
        if let Some(hint) = self.hint(&result) {
            result["hint"] = json!(hint);
        }
        result
    }

    fn verdict(&self, args: &Value, _: &CallContext) -> Value {
        let command = args
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let background = args.get("background") == Some(&Value::Bool(true));
        let kind = if background {
            CommandKind::Background
        } else {
            CommandKind::Foreground
        };
        outcome_as_verdict(&self.0.guard.check(command, kind))
    }

    fn checks_its_own_arguments(&self) -> bool {
        true
    }

    fn bounds_its_own_result(&self) -> bool {
        true
    }
}

impl TerminalTool {
    /// Why a command failed, if the reason is one of our own rules.
    fn hint(&self, result: &Value) -> Option<String> {
        let exit_code = i32::try_from(result.get("exit_code")?.as_i64()?).ok()?;
        // Elsewhere, what our rules keep from shells of this machine explains nothing.
        let is_elsewhere = self.0.terminal.remote().is_some();
        if exit_code == 0 || result.get("status").is_some() || is_elsewhere {
            return None;
        }
        let builder = self.0.environment.current();
        let plan = builder.plan(SpawnClass::ToolShell, &Circumstances::default());
        let stripped: Vec<Stripped<'_>> = plan
            .receipt()
            .rows()
            .filter(|row| row.fate == Fate::Stripped)
            .filter_map(|row| {
                Some(Stripped {
                    name: row.name.to_str()?,
                    rule: as_hint(row.rule),
                })
            })
            .collect();
        let home = &builder.policy().child_home;
        let profile_home = home.profile_home().display().to_string();
        symptom_hint(&Observation {
            output: result.get("output")?.as_str()?,
            exit_code,
            stripped: &stripped,
            home: if home.is_profile_home() {
                HomeOfCommand::Profile(&profile_home)
            } else {
                HomeOfCommand::Real
            },
        })
    }
}

fn as_hint(rule: Rule) -> StrippedAs<'static> {
    match rule {
        Rule::Credential | Rule::ListedSecret | Rule::DerivedSecret => {
            StrippedAs::Credential(rule.id())
        }
        Rule::ActivationMarker => StrippedAs::Marker(rule.id()),
        _ => StrippedAs::Internal,
    }
}

/// The shell of one conversation, for tools that start where it is.
pub struct TerminalSession {
    /// The backend.
    pub terminal: Arc<Terminal>,
    /// Variables of its shells.
    pub environment: Arc<LiveEnvironment>,
    /// The conversation.
    pub key: SessionKey,
}

impl SessionState for TerminalSession {
    fn cwd(&self) -> PathBuf {
        let start = &self.terminal.settings().start_directory;
        self.terminal
            .sessions()
            .get(&self.key, start)
            .snapshot()
            .cwd
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let start = &self.terminal.settings().start_directory;
        let state = self.terminal.sessions().get(&self.key, start).snapshot();
        if self.terminal.remote().is_some() {
            // What shells there begin with is known there; we know what has changed since.
            let overlay = &state.overlay;
            let changed = overlay.session.get(OsStr::new(name));
            return changed
                .or_else(|| overlay.login.get(OsStr::new(name)))?
                .clone();
        }
        // A look only: what shells need on disk is made when one starts.
        let plan = self.environment.current().plan(
            SpawnClass::ToolShell,
            &Circumstances {
                overlay: Some(&state.overlay),
                ..Circumstances::default()
            },
        );
        plan.get(name).map(OsStr::to_owned)
    }
}

/// A guard's outcome as the answer to `--check`.
fn outcome_as_verdict(outcome: &GuardOutcome) -> Value {
    match outcome {
        GuardOutcome::Allowed { .. } => json!({"approved": true}),
        GuardOutcome::Refused { error, fields, .. } => {
            let mut verdict = json!({"approved": false, "message": error});
            for name in ["hardline", "pattern_key", "description"] {
                if let Some(value) = fields.get(name) {
                    verdict[name] = value.clone();
                }
            }
            verdict
        }
    }
}
