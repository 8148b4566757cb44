//! The order of the checks: what cannot be bypassed, what bypasses, what was detected, who decides.

use std::sync::Arc;

use hermes_secret::Redactor;

use super::allowlist::allows;
use super::ask::{
    Answer, ApprovalRequest, Approver, Assessment, CommandScanner, RiskAssessor, SCANNED,
};
use super::deny::denied_by;
use super::remembered::{PermanentApprovals, SessionApprovals};
use super::settings::{ApprovalMode, ApprovalSettings, Unattended};
use super::verdict::{ApprovedBy, Verdict};
use crate::command::detect::{KnownPaths, detect};
use crate::command::foreground::foreground_refusal;
use crate::command::gateway_self_harm::gateway_self_harm;
use crate::command::hardline::hardline;
use crate::command::keys;
use crate::command::own_files::{self, writes_own_files};
use crate::command::sudo::writes_password;
use hermes_shell::Analysis;
use hermes_shell::KnownShell;

/// Who can be asked.
#[derive(Clone, Copy)]
pub enum Interaction<'a> {
    /// A person at a terminal.
    Interactive(&'a dyn Approver),
    /// A person at a messenger, inside the gateway; `None` when there is no way to reach them.
    Gateway(Option<&'a dyn Approver>),
    /// Nobody: a scheduled job.
    Cron,
    /// Nobody: workers, library use, a program that calls a tool.
    NonInteractive,
    /// Nobody needs to be: the settings approve what is detected.
    Approved,
}

/// A command to decide about. Foreground and background are decided alike.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the command"
)]
pub struct CheckRequest<'a> {
    /// The command line, or the script for [`CommandPolicy::check_script`].
    pub text: &'a str,
    /// What is known of the shell that will run it.
    pub shell: &'a dyn KnownShell,
    /// It runs in a container that holds nothing of the host.
    pub isolated: bool,
    /// It runs in the kernel's sandbox, where what was detected needs no question.
    pub sandboxed: bool,
    /// `--yolo`, `HERMES_YOLO_MODE` at start, or `/yolo` of this session.
    pub yolo: bool,
    /// `SUDO_PASSWORD` is set, be it to nothing.
    pub sudo_password_set: bool,
    pub interaction: Interaction<'a>,
    /// What this session approved before.
    pub session: &'a SessionApprovals,
}

/// Decides about commands.
pub struct CommandPolicy {
    pub settings: ApprovalSettings,
    pub paths: KnownPaths,
    /// Masks secrets in what is shown.
    pub redactor: Arc<Redactor>,
    /// Where permanent approvals go; `None` keeps them for the session only.
    pub permanent: Option<Arc<PermanentApprovals>>,
    /// The model for `approvals.mode: smart`; without one it is `manual`.
    pub assessor: Option<Arc<dyn RiskAssessor>>,
    /// A program that looks into commands as well.
    pub scanner: Option<Arc<dyn CommandScanner>>,
}

impl CommandPolicy {
    /// A policy that keeps approvals for the session only and consults no model.
    pub fn new(settings: ApprovalSettings, paths: KnownPaths, redactor: Arc<Redactor>) -> Self {
        Self {
            settings,
            paths,
            redactor,
            permanent: None,
            assessor: None,
            scanner: None,
        }
    }

    /// Decides about a command line.
    pub fn check(&self, request: &CheckRequest<'_>) -> Verdict {
        self.decide(request, &Analysis::within(request.text, request.shell))
    }

    /// Decides about a command line that somebody waits for. An error says why it belongs in the
    /// background: it would leave a process behind or never return.
    pub fn check_foreground(&self, request: &CheckRequest<'_>) -> Result<Verdict, String> {
        let analysis = Analysis::within(request.text, request.shell);
        let refusal = foreground_refusal(&analysis).filter(|_| self.settings.foreground_guard);
        refusal.map_or_else(|| Ok(self.decide(request, &analysis)), Err)
    }

    fn decide(&self, request: &CheckRequest<'_>, analysis: &Analysis<'_>) -> Verdict {
        let homes = &self.paths.homes;
        if !request.isolated {
            if let Some(what) = hardline(analysis, homes) {
                return Verdict::hardline(&what);
            }
            if !request.sudo_password_set && writes_password(analysis) {
                return Verdict::blocked(
                    "sudo with a password on standard input",
                    "BLOCKED: 'sudo -S' takes a password from the command, and none was given to Hermes. Do not guess or ask for passwords in commands; the user can set SUDO_PASSWORD in .env.",
                );
            }
            // In the sandbox the kernel sees to it.
            if !request.sandboxed && writes_own_files(analysis, homes) {
                return Verdict::blocked("writing to Hermes' own files", own_files::MESSAGE);
            }
            if matches!(request.interaction, Interaction::Gateway(_))
                && let Some(message) = gateway_self_harm(analysis)
            {
                return Verdict::blocked("stopping the gateway from inside", message);
            }
        }
        if let Some(pattern) = denied_by(analysis, &self.settings.deny, homes) {
            return Verdict::blocked(
                "denied by a rule of the user",
                format!(
                    "BLOCKED: the user's rule approvals.deny '{pattern}' forbids this. Do not retry it, rephrase it or reach the same end another way."
                ),
            );
        }
        if request.isolated
            || request.sandboxed
            || self.is_bypassed(request)
            || allows(&self.settings.allowlist, request.text)
        {
            return Verdict::approved();
        }
        let mut found = detect(analysis, &self.paths);
        let scanner = self.scanner.as_ref();
        found.extend(
            scanner
                .into_iter()
                .flat_map(|scanner| scanner.scan(request.text)),
        );
        if found.is_empty() {
            return Verdict::approved();
        }
        let open = self.not_yet_approved(request, &found);
        if open.is_empty() {
            return Verdict::approved_despite(&found, ApprovedBy::Settings);
        }
        let mut question = self.question(request, open);
        if self.settings.mode == ApprovalMode::Smart
            && !matches!(request.interaction, Interaction::Approved)
            && let Some(assessor) = &self.assessor
        {
            match assessor.assess(&question) {
                Assessment::Approve => {
                    return Verdict::approved_despite(&question.keys, ApprovedBy::Model);
                }
                Assessment::Deny(reason) => {
                    question.offer_session = false;
                    question.offer_always = false;
                    question.advice = Some(reason);
                }
                Assessment::Unsure => {}
            }
        }
        self.settle(request, &question)
    }

    /// Decides about a whole script for `execute_code`. Its calls of `terminal` are decided about
    /// one by one as well.
    pub fn check_script(&self, request: &CheckRequest<'_>) -> Verdict {
        if request.isolated || request.sandboxed || self.is_bypassed(request) {
            return Verdict::approved();
        }
        let key = [keys::EXECUTE_CODE.text.to_owned()];
        let open = self.not_yet_approved(request, &key);
        if open.is_empty() {
            return Verdict::approved_despite(&key, ApprovedBy::Settings);
        }
        self.settle(request, &self.question(request, open))
    }

    fn is_bypassed(&self, request: &CheckRequest<'_>) -> bool {
        request.yolo || self.settings.mode == ApprovalMode::Off
    }

    /// Keys that neither the session nor a permanent approval covers. In scheduled jobs keys never
    /// count as approved: the approval was given with somebody watching.
    fn not_yet_approved(&self, request: &CheckRequest<'_>, found: &[String]) -> Vec<String> {
        let is_open = |key: &&String| {
            let mut listed = self.settings.allowlist.iter();
            let listed = listed.any(|entry| keys::covers(entry.trim(), key));
            let added = self.permanent.as_ref().is_some_and(|p| p.covers(key));
            matches!(request.interaction, Interaction::Cron)
                || (!listed && !added && !request.session.covers(key))
        };
        found.iter().filter(is_open).cloned().collect()
    }

    fn question(&self, request: &CheckRequest<'_>, open: Vec<String>) -> ApprovalRequest {
        ApprovalRequest {
            command: self.redactor.redact(request.text).into_owned(),
            description: open.join("; "),
            offer_session: true,
            // A finding of an outside scanner is about one command, not about a kind.
            offer_always: !open.iter().any(|key| key.starts_with(SCANNED)),
            timeout: match request.interaction {
                Interaction::Gateway(_) => self.settings.gateway_timeout,
                _ => self.settings.timeout,
            },
            advice: None,
            keys: open,
        }
    }

    /// Asks, or decides for those who cannot be asked.
    fn settle(&self, request: &CheckRequest<'_>, question: &ApprovalRequest) -> Verdict {
        let keys = &question.keys;
        let unattended = |policy: Unattended, why: &str| match (policy, &question.advice) {
            (_, Some(advice)) => Verdict::denied(
                keys,
                &format!("the approval model advises against it: {advice}"),
            ),
            (Unattended::Approve, None) => Verdict::approved_despite(keys, ApprovedBy::Settings),
            (Unattended::Deny, None) => Verdict::denied(keys, why),
        };
        match request.interaction {
            Interaction::Interactive(approver) | Interaction::Gateway(Some(approver)) => {
                self.ask(request, question, approver)
            }
            Interaction::Gateway(None) => Verdict::pending(keys),
            Interaction::Approved => {
                let command = &question.command;
                tracing::warn!(%command, found = question.description, "approved by the settings");
                Verdict::approved_despite(keys, ApprovedBy::Settings)
            }
            Interaction::Cron => unattended(
                self.settings.cron,
                "scheduled jobs run nothing that needs approval; hint: add the exact command to command_allowlist, or set approvals.cron_mode: approve",
            ),
            Interaction::NonInteractive => unattended(
                self.settings.noninteractive,
                "nobody can be asked here; hint: add the key or the command to command_allowlist, or set approvals.noninteractive_mode: approve",
            ),
        }
    }

    fn ask(
        &self,
        request: &CheckRequest<'_>,
        question: &ApprovalRequest,
        approver: &dyn Approver,
    ) -> Verdict {
        let keys = &question.keys;
        let answer = match approver.ask(question) {
            Answer::Deny(None) => return Verdict::denied(keys, "the user did not approve it"),
            Answer::Deny(Some(reason)) => {
                return Verdict::denied(keys, &format!("the user said no: {reason}"));
            }
            // An answer that was not offered counts for this time only.
            Answer::Session | Answer::Always if !question.offer_session => Answer::Once,
            Answer::Always if !question.offer_always => Answer::Session,
            answer => answer,
        };
        if answer != Answer::Once {
            request.session.approve(keys);
        }
        let mut verdict = Verdict::approved_despite(keys, ApprovedBy::User);
        if answer == Answer::Always
            && let Some(permanent) = &self.permanent
            && let Err(error) = permanent.remember(keys)
        {
            tracing::warn!(%error, "a permanent approval could not be saved");
            verdict.message = Some(format!(
                "The approval holds for this session but could not be saved: {error}"
            ));
        }
        verdict
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
