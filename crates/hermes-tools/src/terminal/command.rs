//! A foreground command of the `terminal` tool: its result as JSON, and what explains its failure.

use hermes_proc::SpawnClass;
use hermes_proc::env::Fate;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::{CommandOutcome, NotRun, Refusal, RefusalKind};
use serde_json::Value;

use super::arguments::Fields;
use super::exit_code_meaning::exit_code_meaning;
use super::symptom_hint::{Stripped, symptom_hint};

/// The result of a command that was run, with a hint about its failure.
pub fn command_result(command: &str, outcome: &CommandOutcome, hint: Option<&str>) -> Value {
    command_fields(command, outcome)
        .with_some("hint", hint)
        .into_value()
}

pub(super) fn command_fields(command: &str, outcome: &CommandOutcome) -> Fields {
    let full_output = outcome.full_output.as_ref();
    Fields::default()
        .with("output", outcome.output.as_str())
        .with("exit_code", outcome.exit_code)
        .with("error", outcome.error.as_deref())
        .with_some("status", outcome.no_result.then_some("error"))
        .with_some(
            "exit_code_meaning",
            exit_code_meaning(command, outcome.exit_code),
        )
        .with_some("cwd_note", outcome.cwd_note.as_deref())
        .with_some("shell_note", outcome.shell_note.as_deref())
        .with_some(
            "full_output_path",
            full_output.map(|path| path.display().to_string()),
        )
        .with_some("approval", outcome.approval.as_deref())
        .with_some("sandboxed", outcome.sandboxed.then_some(true))
        .with_some("sudo_auth_failed", outcome.sudo.rejected.then_some(true))
        .with_some("sudo_cache_cleared", outcome.sudo.forgotten.then_some(true))
}

/// A command that was not run, as results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRunReport {
    /// The field `exit_code`.
    pub exit_code: i32,
    /// The field `status`: `error`, `blocked` or `pending_approval`.
    pub status: &'static str,
    /// The field `error`.
    pub message: String,
    /// Whether something outside is missing that the command needs.
    pub is_missing_part: bool,
    refusal: Option<Box<Refusal>>,
}

impl From<NotRun> for NotRunReport {
    fn from(reason: NotRun) -> Self {
        match reason {
            NotRun::Refused(refusal) => Self {
                status: match refusal.kind {
                    RefusalKind::Invalid => "error",
                    RefusalKind::Blocked => "blocked",
                    RefusalKind::PendingApproval => "pending_approval",
                },
                message: refusal.message.clone(),
                refusal: Some(Box::new(refusal)),
                exit_code: -1,
                is_missing_part: false,
            },
            NotRun::TimeoutTooLong { requested, longest } => Self::error(format!(
                "A foreground command may take {} s at most, not {} s. For longer work use \
                 background=true and wait for it with process.",
                longest.as_secs(),
                requested.as_secs()
            )),
            NotRun::ForbiddenInWorkdir(name) => Self {
                status: "blocked",
                ..Self::error(format!("workdir must not contain a {name}"))
            },
            NotRun::MissingDirectory(message) => Self {
                exit_code: 126,
                ..Self::error(message)
            },
            NotRun::NotStarted(message) => Self::error(message),
            NotRun::NoSandbox(message) => Self {
                is_missing_part: true,
                ..Self::error(message)
            },
        }
    }
}

impl NotRunReport {
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self {
            exit_code: -1,
            status: "error",
            message: message.into(),
            is_missing_part: false,
            refusal: None,
        }
    }

    /// The result of the tool.
    pub fn into_value(self) -> Value {
        let fields = Fields::default()
            .with("output", "")
            .with("exit_code", self.exit_code)
            .with("error", self.message)
            .with("status", self.status);
        match self.refusal {
            Some(refusal) => with_rule(fields, &refusal).into_value(),
            None => fields.into_value(),
        }
    }
}

/// Adds the rule that refused a command.
pub(super) fn with_rule(fields: Fields, refusal: &Refusal) -> Fields {
    fields
        .with_some("hardline", refusal.hardline.then_some(true))
        .with_some("pattern_key", refusal.pattern_key.as_deref())
        .with_some("description", refusal.description.as_deref())
}

/// Why a command failed, if the reason is one of our own rules about the environment of commands.
pub fn failure_hint(outcome: &CommandOutcome, environment: &LiveEnvironment) -> Option<String> {
    if outcome.sandbox_hint.is_some() {
        return outcome.sandbox_hint.clone();
    }
    if outcome.exit_code == 0 || outcome.no_result {
        return None;
    }
    let builder = environment.current();
    let plan = builder.plan(SpawnClass::ToolShell);
    let stripped: Vec<Stripped<'_>> = plan
        .receipt()
        .rows()
        .filter(|row| row.fate == Fate::Stripped)
        .filter_map(|row| Some((row.name.to_str()?, row.rule)))
        .collect();
    let home = &builder.policy().child_home;
    let profile_home = home
        .is_profile_home()
        .then(|| home.profile_home.display().to_string());
    symptom_hint(&outcome.output, &stripped, profile_home.as_deref())
}
