//! The guards as calls from the command line have them: somebody at the terminal is asked; where
//! nobody can be, the settings decide.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_config::vars;
use hermes_policy::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    PermanentApprovals, RiskAssessor, SessionApprovals, Status, Verdict, WriteContext, check_write,
    parse_safe_roots,
};
use hermes_secret::Redactor;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::local::{CommandGuard, CommandKind, GuardOutcome};
use hermes_tools::{CallContext, CrossProfile, ScriptGate, ScriptVerdict, WriteGuard};
use serde_json::{Map, Value, json};

use super::questions::Question;
use crate::context::Context;
use crate::ui::Person;

/// Decides about commands and scripts.
pub(super) struct DoorGuard {
    policy: CommandPolicy,
    /// What the person approved for this session.
    pub(super) approvals: Arc<SessionApprovals>,
    /// Whether risky commands run unasked; a session may change its mind.
    pub(super) yolo: Arc<AtomicBool>,
    pub(super) sudo_password_set: bool,
    /// Whether commands run where they cannot reach this machine.
    pub(super) is_isolated: bool,
    /// Who can be asked.
    pub(super) person: Option<Arc<Person>>,
}

impl DoorGuard {
    /// A guard that asks nobody.
    pub(super) fn of(
        context: &Context,
        environment: &LiveEnvironment,
        redactor: &Arc<Redactor>,
    ) -> Self {
        let settings = ApprovalSettings::from_config(context.config());
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let builder = environment.current();
        let home = &builder.policy().child_home;
        let homes = [Some(home.real_home()), home.effective()];
        let location = &context.location;
        let paths = KnownPaths {
            homes: KnownHomes::new(
                homes.into_iter().flatten(),
                [&location.home, &location.root],
            ),
            temp_dirs: vec![std::env::temp_dir().display().to_string()],
        };
        let mut policy = CommandPolicy::new(settings, paths, Arc::clone(redactor));
        let permanent = PermanentApprovals::new(context.sources_to_write());
        policy.permanent = Some(Arc::new(permanent));
        Self {
            policy,
            approvals: Arc::default(),
            yolo: Arc::new(AtomicBool::new(context.env.flag(&vars::HERMES_YOLO_MODE))),
            sudo_password_set: false,
            is_isolated: false,
            person: None,
        }
    }

    /// Lets a model decide first where `approvals.mode` is `smart`.
    pub(super) fn consult(&mut self, assessor: Arc<dyn RiskAssessor>) {
        self.policy.assessor = Some(assessor);
    }

    fn request<'a>(
        &'a self,
        text: &'a str,
        question: Option<&'a Question<'_>>,
    ) -> CheckRequest<'a> {
        CheckRequest {
            text,
            isolated: self.is_isolated,
            yolo: self.yolo.load(Ordering::Relaxed),
            sudo_password_set: self.sudo_password_set,
            interaction: match question {
                Some(question) => Interaction::Interactive(question),
                None => Interaction::NonInteractive,
            },
            session: &self.approvals,
        }
    }

    fn question(&self) -> Option<Question<'_>> {
        self.person.as_deref().map(Question)
    }
}

impl CommandGuard for DoorGuard {
    fn check(&self, command: &str, kind: CommandKind) -> GuardOutcome {
        let question = self.question();
        let request = self.request(command, question.as_ref());
        let verdict = match kind {
            CommandKind::Foreground => self.policy.check_foreground(&request),
            CommandKind::Background => Ok(self.policy.check(&request)),
        };
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(why) => {
                return GuardOutcome::Refused {
                    exit_code: -1,
                    status: "error",
                    error: why,
                    fields: Map::new(),
                };
            }
        };
        if verdict.is_approved() {
            let approval = verdict
                .description
                .zip(verdict.approved_by)
                .map(|(what, by)| format!("Approved by {by}: {what}"));
            let remark = verdict.message.map(|message| format!(" {message}"));
            let approval = approval.map(|text| text + &remark.unwrap_or_default());
            return GuardOutcome::Allowed { approval };
        }
        GuardOutcome::Refused {
            exit_code: -1,
            status: status_of(&verdict),
            error: verdict.message.clone().unwrap_or_default(),
            fields: fields_of(&verdict),
        }
    }
}

impl ScriptGate for DoorGuard {
    fn decide(&self, code: &str, _: &CallContext) -> ScriptVerdict {
        let question = self.question();
        let request = self.request(code, question.as_ref());
        let verdict = self.policy.check_script(&request);
        if verdict.is_approved() {
            return ScriptVerdict::Approved;
        }
        let mut result = json!({"status": status_of(&verdict), "error": verdict.message});
        for (name, value) in fields_of(&verdict) {
            result[name] = value;
        }
        ScriptVerdict::Refused(result)
    }
}

fn status_of(verdict: &Verdict) -> &'static str {
    match verdict.status {
        Status::PendingApproval => "pending_approval",
        Status::Approved | Status::Blocked | Status::Denied => "blocked",
    }
}

fn fields_of(verdict: &Verdict) -> Map<String, Value> {
    let mut fields = Map::new();
    if verdict.hardline {
        fields.insert("hardline".to_owned(), Value::Bool(true));
    }
    for (name, text) in [
        ("pattern_key", &verdict.pattern_key),
        ("description", &verdict.description),
    ] {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    fields
}

/// Where the file tools may write.
pub(super) struct FileWrites {
    context: WriteContext,
}

impl FileWrites {
    pub(super) fn of(context: &Context, environment: &LiveEnvironment) -> Self {
        let builder = environment.current();
        let home = &builder.policy().child_home;
        let safe_roots = context.env.text(&vars::HERMES_WRITE_SAFE_ROOT);
        Self {
            context: WriteContext {
                real_home: home.real_home().to_owned(),
                child_home: home
                    .effective()
                    .unwrap_or_else(|| home.real_home())
                    .to_owned(),
                hermes_home: context.location.home.clone(),
                hermes_root: context.location.root.clone(),
                cwd: PathBuf::new(),
                safe_roots: safe_roots.map(parse_safe_roots).unwrap_or_default(),
                cross_profile: false,
            },
        }
    }

    /// The same rules for a session that works in `cwd`.
    pub(super) fn in_directory(&self, cwd: PathBuf) -> Self {
        Self {
            context: WriteContext {
                cwd,
                ..self.context.clone()
            },
        }
    }
}

impl WriteGuard for FileWrites {
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String> {
        let context = WriteContext {
            cross_profile: cross_profile == CrossProfile::Allowed,
            ..self.context.clone()
        };
        check_write(&context, path).map_err(|refusal| format!("Write denied: {refusal}."))
    }
}
