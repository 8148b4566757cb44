//! Whether a command or script of a tool may run: the rules first, then the person; where nobody
//! can be asked, the settings decide.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_config::vars;
use hermes_policy::{
    Answer, ApprovalMode, ApprovalRequest, ApprovalSettings, Approver, CheckRequest, CommandPolicy,
    Interaction, KnownHomes, KnownPaths, PermanentApprovals, SessionApprovals, Status, Unattended,
    Verdict,
};
use hermes_proc::agent_shell;
use hermes_secret::Redactor;
use hermes_shell::{KnownShell, UnknownShell};
use hermes_terminal::backend::Confinement;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::{
    CommandApprover, CommandCheck, CommandDecision, CommandKind, Refusal, RefusalKind, SessionKey,
};
use hermes_tools::{CallContext, ScriptGate};
use serde_json::{Value, json};

use super::sandbox::SandboxUse;
use super::scanner::Tirith;
use crate::context::Context;
use crate::person::Person;
use crate::worker::DenialLog;

/// Decides about the commands and scripts of a conversation's tools.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts that verdicts depend on"
)]
pub(super) struct ToolApprover {
    pub(super) policy: CommandPolicy,
    /// What the person approved for this session.
    pub(super) approvals: Arc<SessionApprovals>,
    /// Whether risky commands run without approval; may change during the session.
    pub(super) yolo: Arc<AtomicBool>,
    /// What the command line and the environment say about that.
    starts_yolo: bool,
    pub(super) sudo_password_set: bool,
    /// Whether commands need no approval because they cannot reach this machine.
    pub(super) is_isolated: bool,
    /// Who is told of refusals; `None` outside of workers.
    pub(super) denials: Option<DenialLog>,
    /// Which commands run in the sandbox.
    pub(super) sandbox: SandboxUse,
    /// Whether this is a run of a scheduled job.
    pub(super) is_scheduled: bool,
    pub(super) person: Arc<dyn Person>,
    /// Sub-agents whose risky commands run without approval; `None` if there are none.
    trusted: Option<Mutex<HashSet<SessionKey>>>,
    /// What marks this process as called from an agent's shell.
    agent_mark: Option<OsString>,
}

impl ToolApprover {
    pub(super) fn new(
        context: &Context,
        environment: &LiveEnvironment,
        redactor: &Arc<Redactor>,
        person: Arc<dyn Person>,
    ) -> Self {
        let mut settings = ApprovalSettings::from_config(context.config());
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let mut starts_yolo = context.env.flag(&vars::HERMES_YOLO_MODE);
        let mut trusts_sub_agents = context.config().flag("delegation.subagent_auto_approve");
        let is_lax = starts_yolo
            || trusts_sub_agents
            || settings.mode == ApprovalMode::Off
            || settings.noninteractive == Unattended::Approve;
        if is_lax && context.caller().is_agent() {
            // An agent may have chosen the home that these settings come from.
            tracing::warn!("called from an agent's shell: risky commands need approval");
            starts_yolo = false;
            trusts_sub_agents = false;
            settings.require_approval();
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
            temp_dirs: vec![context.temp_dir().display().to_string()],
        };
        let mut policy = CommandPolicy::new(settings, paths, Arc::clone(redactor));
        let permanent = PermanentApprovals::new(context.sources_to_write());
        policy.permanent = Some(Arc::new(permanent));
        if let Some(tirith) = Tirith::configured(context, &builder) {
            policy.scanner = Some(Arc::new(tirith));
        }
        Self {
            agent_mark: context
                .env
                .os(&vars::HERMES_AGENT_SHELL)
                .map(OsStr::to_owned),
            policy,
            approvals: Arc::default(),
            yolo: Arc::new(AtomicBool::new(starts_yolo)),
            starts_yolo,
            sudo_password_set: false,
            is_isolated: false,
            denials: None,
            sandbox: SandboxUse::Never,
            is_scheduled: false,
            trusted: trusts_sub_agents.then(Mutex::default),
            person,
        }
    }

    /// Lets the settings decide whether the commands of a sub-agent need approval.
    pub(super) fn add_sub_agent(&self, key: &SessionKey) {
        if let Some(trusted) = &self.trusted {
            let mut trusted = trusted.lock().unwrap_or_else(PoisonError::into_inner);
            trusted.insert(key.clone());
        }
    }

    fn trusts(&self, key: &SessionKey) -> bool {
        self.trusted.as_ref().is_some_and(|trusted| {
            let trusted = trusted.lock().unwrap_or_else(PoisonError::into_inner);
            trusted.contains(key)
        })
    }

    /// Whether this process was called from an agent's shell, where nothing lifts approval.
    pub(super) fn is_called_by_agent(&self) -> bool {
        agent_shell::caller(self.agent_mark.as_deref()).is_agent()
    }

    /// Forgets what the person allowed for the session that ends; what the program was started with
    /// stays.
    pub(super) fn forget_session(&self) {
        self.approvals.clear();
        self.yolo.store(self.starts_yolo, Ordering::Relaxed);
    }

    fn request<'a>(
        &'a self,
        text: &'a str,
        shell: &'a dyn KnownShell,
        question: Option<&'a PersonApprover<'a>>,
    ) -> CheckRequest<'a> {
        CheckRequest {
            text,
            shell,
            isolated: self.is_isolated,
            sandboxed: matches!(self.sandbox, SandboxUse::Always(_)),
            yolo: self.yolo.load(Ordering::Relaxed),
            sudo_password_set: self.sudo_password_set,
            interaction: match question {
                Some(question) => Interaction::Interactive(question),
                None if self.is_scheduled => Interaction::Cron,
                None => Interaction::NonInteractive,
            },
            session: &self.approvals,
        }
    }

    /// Tells of a refusal.
    fn note_denied(&self, text: &str, verdict: &Verdict) {
        if let Some(denials) = &self.denials {
            let reason = verdict
                .description
                .as_deref()
                .or(verdict.message.as_deref());
            let command = self.policy.redactor.redact(text);
            denials.note(&command, reason.unwrap_or("not approved"));
        }
    }

    fn usual_confinement(&self) -> Confinement {
        match self.sandbox {
            SandboxUse::Always(_) => Confinement::Sandbox,
            SandboxUse::Never | SandboxUse::InsteadOfRefusal(_) => Confinement::None,
        }
    }

    /// Whether what was denied because nobody can be asked runs in the sandbox instead.
    fn sandbox_instead(&self, verdict: &Verdict) -> bool {
        match &self.sandbox {
            SandboxUse::InsteadOfRefusal(sandbox) => {
                verdict.status == Status::Denied && sandbox.is_possible()
            }
            SandboxUse::Never | SandboxUse::Always(_) => false,
        }
    }

    fn question(&self) -> Option<PersonApprover<'_>> {
        let person = &*self.person;
        person.approves_commands().then_some(PersonApprover(person))
    }
}

/// The person, asked about commands.
struct PersonApprover<'a>(&'a dyn Person);

impl Approver for PersonApprover<'_> {
    fn ask(&self, request: &ApprovalRequest) -> Answer {
        self.0.approve(request)
    }
}

impl CommandApprover for ToolApprover {
    fn check(&self, check: &CommandCheck<'_>) -> CommandDecision {
        let command = check.command;
        let question = self.question();
        let mut request = self.request(command, check.shell, question.as_ref());
        if self.trusts(check.session) {
            request.interaction = Interaction::Approved;
        }
        let verdict = match check.kind {
            CommandKind::Foreground => self.policy.check_foreground(&request),
            CommandKind::Background => Ok(self.policy.check(&request)),
            CommandKind::Typed(confinement) => Ok(self.policy.check(&CheckRequest {
                sandboxed: confinement == Confinement::Sandbox,
                ..request
            })),
        };
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(message) => {
                return CommandDecision::Refused(Refusal {
                    kind: RefusalKind::Invalid,
                    message,
                    hardline: false,
                    pattern_key: None,
                    description: None,
                });
            }
        };
        if verdict.is_approved() {
            let confinement = self.usual_confinement();
            let approval = verdict
                .description
                .zip(verdict.approved_by)
                .map(|(what, by)| format!("Approved by {by}: {what}"));
            let remark = verdict.message.map(|message| format!(" {message}"));
            let approval = approval.map(|text| text + &remark.unwrap_or_default());
            return CommandDecision::Allowed {
                approval,
                confinement,
            };
        }
        // A shell that runs already cannot be confined any more.
        let starts = !matches!(check.kind, CommandKind::Typed(_));
        if starts && self.sandbox_instead(&verdict) {
            return CommandDecision::Allowed {
                approval: Some(format!(
                    "Runs in the sandbox, because nobody can be asked: {}",
                    verdict.description.unwrap_or_default()
                )),
                confinement: Confinement::Sandbox,
            };
        }
        self.note_denied(command, &verdict);
        CommandDecision::Refused(Refusal {
            kind: match verdict.status {
                Status::PendingApproval => RefusalKind::PendingApproval,
                Status::Approved | Status::Blocked | Status::Denied => RefusalKind::Blocked,
            },
            message: verdict.message.unwrap_or_default(),
            hardline: verdict.hardline,
            pattern_key: verdict.pattern_key,
            description: verdict.description,
        })
    }

    fn allows_outside(&self, command: &str, wall: &str) -> bool {
        let Some(question) = self.question() else {
            return false;
        };
        let wall = wall.strip_prefix("hint: ").unwrap_or(wall);
        let answer = question.ask(&ApprovalRequest {
            command: self.policy.redactor.redact(command).into_owned(),
            keys: vec!["outside of the sandbox".to_owned()],
            description: format!("run it again, once, outside of the sandbox ({wall})"),
            offer_session: false,
            offer_always: false,
            timeout: self.policy.settings.timeout,
            advice: None,
        });
        !matches!(answer, Answer::Deny(_))
    }
}

impl ScriptGate for ToolApprover {
    fn decide(&self, code: &str, _: &CallContext) -> Result<Confinement, Value> {
        let question = self.question();
        let request = self.request(code, &UnknownShell, question.as_ref());
        let verdict = self.policy.check_script(&request);
        if verdict.is_approved() {
            return Ok(self.usual_confinement());
        }
        if self.sandbox_instead(&verdict) {
            return Ok(Confinement::Sandbox);
        }
        self.note_denied(code, &verdict);
        let status = match verdict.status {
            Status::PendingApproval => "pending_approval",
            Status::Approved | Status::Blocked | Status::Denied => "blocked",
        };
        let mut result = json!({"status": status, "error": verdict.message});
        if verdict.hardline {
            result["hardline"] = json!(true);
        }
        let texts = [
            ("pattern_key", verdict.pattern_key),
            ("description", verdict.description),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                result[name] = json!(text);
            }
        }
        Err(result)
    }
}
