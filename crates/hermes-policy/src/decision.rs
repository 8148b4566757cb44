//! The order of the checks: what cannot be bypassed, what bypasses, what was detected, who decides.

use std::sync::Arc;

use hermes_secret::Redactor;

use super::allowlist::allows;
use super::ask::{Answer, ApprovalObserver, ApprovalRequest, Approver, Judge, Judgement};
use super::deny::denied_by;
use super::detect::{Surroundings, detect};
use super::foreground::foreground_refusal;
use super::hardline::hardline;
use super::keys;
use super::memory::{PermanentApprovals, SessionApprovals};
use super::settings::{ApprovalMode, GuardSettings, Unattended};
use super::sudo::writes_password;
use super::syntax::Analysis;
use super::verdict::Verdict;

/// Who could be asked.
#[derive(Clone, Copy)]
pub enum Context<'a> {
    /// A person at a terminal.
    Interactive(&'a dyn Approver),
    /// A person at a messenger; `None` when there is no way to reach them.
    Gateway(Option<&'a dyn Approver>),
    /// A scheduled job.
    Cron,
    /// `hermes -z`, which approves everything that can be approved.
    OneShotYolo,
    /// Nobody: workers, library use, a program that calls a tool.
    NonInteractive,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Interactive(_) => "Interactive",
            Self::Gateway(_) => "Gateway",
            Self::Cron => "Cron",
            Self::OneShotYolo => "OneShotYolo",
            Self::NonInteractive => "NonInteractive",
        })
    }
}

/// Something to decide about. Foreground and background are decided alike.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    /// The command line, or the script for [`Guard::check_script`].
    pub text: &'a str,
    /// It runs in a container that holds nothing of the host.
    pub isolated: bool,
    /// `--yolo`, `HERMES_YOLO_MODE` at start, or `/yolo` of this session.
    pub yolo: bool,
    /// `SUDO_PASSWORD` is set, be it to nothing.
    pub sudo_password_set: bool,
    /// Who could be asked.
    pub context: Context<'a>,
    /// What this session approved before.
    pub session: &'a SessionApprovals,
}

/// Decides about commands.
pub struct Guard {
    /// Settings.
    pub settings: GuardSettings,
    /// What the rules know about the place.
    pub surroundings: Surroundings,
    /// Masks secrets in what is shown.
    pub redactor: Arc<Redactor>,
    /// Where approvals for good go; `None` keeps them for the session only.
    pub permanent: Option<Arc<PermanentApprovals>>,
    /// The model for `smart`; without one it is `manual`.
    pub judge: Option<Arc<dyn Judge>>,
    /// Is told of every question.
    pub observer: Option<Arc<dyn ApprovalObserver>>,
}

impl Guard {
    /// A guard that asks nobody but the approver of the context.
    pub fn new(
        settings: GuardSettings,
        surroundings: Surroundings,
        redactor: Arc<Redactor>,
    ) -> Self {
        Self {
            settings,
            surroundings,
            redactor,
            permanent: None,
            judge: None,
            observer: None,
        }
    }

    /// Decides about a command line.
    pub fn check(&self, request: &CheckRequest<'_>) -> Verdict {
        self.decide(request, &Analysis::of(request.text))
    }

    /// Decides about a command line that somebody waits for. An error says why it belongs in the
    /// background: it would leave something behind or never return.
    pub fn check_foreground(&self, request: &CheckRequest<'_>) -> Result<Verdict, String> {
        let analysis = Analysis::of(request.text);
        let refusal = foreground_refusal(&analysis).filter(|_| self.settings.foreground_guard);
        refusal.map_or_else(|| Ok(self.decide(request, &analysis)), Err)
    }

    fn decide(&self, request: &CheckRequest<'_>, analysis: &Analysis<'_>) -> Verdict {
        let folding = &self.surroundings.folding;
        if !request.isolated {
            if let Some(what) = hardline(analysis, folding) {
                return Verdict::hardline(&what);
            }
            if !request.sudo_password_set && writes_password(analysis) {
                return Verdict::blocked(
                    "sudo with a password on standard input",
                    "BLOCKED: 'sudo -S' takes a password from the command, and none was given to Hermes. Do not guess or ask for passwords in commands; the user can set SUDO_PASSWORD in .env.",
                );
            }
        }
        if let Some(pattern) = denied_by(analysis, &self.settings.deny, folding) {
            return Verdict::blocked(
                "denied by a rule of the user",
                format!(
                    "BLOCKED: the user's rule approvals.deny '{pattern}' forbids this. Do not retry it, rephrase it or reach the same end another way."
                ),
            );
        }
        if request.isolated || self.is_bypassed(request) {
            return Verdict::approved();
        }
        if allows(&self.settings.allowlist, request.text) {
            return Verdict::approved();
        }
        let keys: Vec<String> = detect(analysis, &self.surroundings)
            .into_iter()
            .map(|finding| finding.key)
            .collect();
        if keys.is_empty() {
            return Verdict::approved();
        }
        let open = self.not_yet_approved(request, keys.clone());
        if open.is_empty() {
            return Verdict::approved_despite(&keys);
        }
        let mut question = self.question(request, &open);
        if self.settings.mode == ApprovalMode::Smart
            && let Some(judge) = &self.judge
        {
            match judge.judge(&question) {
                Judgement::Approve => return Verdict::approved_despite(&open),
                Judgement::Deny(reason) => {
                    question.offer_session = false;
                    question.offer_always = false;
                    question.advice = Some(reason);
                }
                Judgement::Unsure => {}
            }
        }
        self.settle(request, &question)
    }

    /// Decides about a whole script for `execute_code`. Its calls of `terminal` are decided about
    /// one by one as well.
    pub fn check_script(&self, request: &CheckRequest<'_>) -> Verdict {
        if request.isolated || self.is_bypassed(request) {
            return Verdict::approved();
        }
        if matches!(request.context, Context::Interactive(_)) {
            return Verdict::approved();
        }
        let key = vec![keys::EXECUTE_CODE.text.to_owned()];
        let open = self.not_yet_approved(request, key.clone());
        if open.is_empty() {
            return Verdict::approved_despite(&key);
        }
        self.settle(request, &self.question(request, &open))
    }

    fn is_bypassed(&self, request: &CheckRequest<'_>) -> bool {
        request.yolo
            || self.settings.mode == ApprovalMode::Off
            || matches!(request.context, Context::OneShotYolo)
    }

    /// Keys that neither the session nor the user for good has approved. In scheduled jobs kinds of
    /// danger do not count as approved: the approval was given with somebody watching.
    fn not_yet_approved(&self, request: &CheckRequest<'_>, found: Vec<String>) -> Vec<String> {
        if matches!(request.context, Context::Cron) {
            return found;
        }
        found
            .into_iter()
            .filter(|key| {
                let listed = self
                    .settings
                    .allowlist
                    .iter()
                    .any(|entry| keys::covers(entry.trim(), key));
                let added = self.permanent.as_ref().is_some_and(|p| p.covers(key));
                !listed && !added && !request.session.covers(key)
            })
            .collect()
    }

    fn question(&self, request: &CheckRequest<'_>, open: &[String]) -> ApprovalRequest {
        ApprovalRequest {
            command: self.redactor.redact(request.text).into_owned(),
            keys: open.to_vec(),
            description: open.join("; "),
            offer_session: true,
            // A finding of an outside scanner is about one command, not about a kind.
            offer_always: !open.iter().any(|key| key.starts_with("tirith:")),
            timeout: match request.context {
                Context::Gateway(_) => self.settings.gateway_timeout,
                _ => self.settings.timeout,
            },
            advice: None,
        }
    }

    /// Asks, or decides for those who cannot be asked.
    fn settle(&self, request: &CheckRequest<'_>, question: &ApprovalRequest) -> Verdict {
        let keys = &question.keys;
        let unattended = |policy: Unattended, why: &str| match (policy, &question.advice) {
            (_, Some(advice)) => Verdict::denied(keys, &format!("judged as unsafe: {advice}")),
            (Unattended::Approve, None) => Verdict::approved_despite(keys),
            (Unattended::Deny, None) => Verdict::denied(keys, why),
        };
        match request.context {
            Context::Interactive(approver) | Context::Gateway(Some(approver)) => {
                self.ask(request, question, approver)
            }
            Context::Gateway(None) => Verdict::pending(keys),
            Context::OneShotYolo => Verdict::approved_despite(keys),
            Context::Cron => unattended(
                self.settings.cron,
                "scheduled jobs run nothing that needs approval; hint: add the exact command to command_allowlist, or set approvals.cron_mode: approve",
            ),
            Context::NonInteractive => unattended(
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
        if let Some(observer) = &self.observer {
            observer.before(question);
        }
        let answer = approver.ask(question);
        if let Some(observer) = &self.observer {
            observer.after(question, &answer);
        }
        let keys = &question.keys;
        match answer {
            Answer::Deny(None) => Verdict::denied(keys, "the user did not approve it"),
            Answer::Deny(Some(reason)) => {
                Verdict::denied(keys, &format!("the user said no: {reason}"))
            }
            Answer::Once => Verdict::approved_despite(keys),
            // An answer that was not offered counts for this time only.
            Answer::Session | Answer::Always if !question.offer_session => {
                Verdict::approved_despite(keys)
            }
            Answer::Session => {
                request.session.approve(keys);
                Verdict::approved_despite(keys)
            }
            Answer::Always => {
                request.session.approve(keys);
                let mut verdict = Verdict::approved_despite(keys);
                if question.offer_always
                    && let Some(permanent) = &self.permanent
                    && let Err(error) = permanent.remember(keys)
                {
                    tracing::warn!(%error, "an approval could not be kept for good");
                    verdict.message = Some(format!(
                        "The approval holds for this session but could not be saved: {error}"
                    ));
                }
                verdict
            }
        }
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
