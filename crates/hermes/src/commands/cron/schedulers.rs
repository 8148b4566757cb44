//! Who runs jobs when they are due.

use hermes_cron::{CronHome, scheduler_is_running};
use hermes_home::{gateway_elsewhere, gateway_pid};

use crate::context::Context;
use crate::error::Result;

/// What runs the jobs of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum SchedulerKind {
    Gateway(u32),
    /// A gateway in another container or on another machine.
    Elsewhere,
    /// `hermes cron tick --watch`.
    Own,
    Nobody,
}

impl SchedulerKind {
    /// What runs the jobs of this home now.
    pub(in crate::commands) fn find(context: &Context) -> Self {
        let home = &context.location.home;
        if let Some(pid) = gateway_pid(home) {
            return Self::Gateway(pid);
        }
        if gateway_elsewhere(home).is_some() {
            return Self::Elsewhere;
        }
        if scheduler_is_running(&CronHome::new(home)) {
            Self::Own
        } else {
            Self::Nobody
        }
    }

    pub(super) fn is_alive(self) -> bool {
        self != Self::Nobody
    }

    /// In a few words.
    pub(in crate::commands) fn text(self) -> String {
        match self {
            Self::Gateway(pid) => format!("✓ the gateway (PID {pid})"),
            Self::Elsewhere => "✓ the gateway on another host".to_owned(),
            Self::Own => "✓ `hermes cron tick --watch`".to_owned(),
            Self::Nobody => "✗ none: no job runs by itself".to_owned(),
        }
    }

    /// The name for programs.
    pub(in crate::commands) fn name(self) -> Option<&'static str> {
        match self {
            Self::Gateway(_) | Self::Elsewhere => Some("gateway"),
            Self::Own => Some("cron tick --watch"),
            Self::Nobody => None,
        }
    }

    /// Says who will run a job, and what to do if nobody will.
    pub(super) fn tell(self, context: &Context) -> Result<()> {
        match self {
            Self::Gateway(pid) => context.note(format!("The gateway (pid {pid}) runs it.")),
            Self::Elsewhere => context.note("The gateway on another host runs it."),
            Self::Own => context.note("`hermes cron tick --watch` runs it."),
            Self::Nobody => Self::warn(context),
        }
    }

    /// Warns that nothing runs by itself.
    pub(super) fn warn(context: &Context) -> Result<()> {
        context.warn("no scheduler is running, so no job runs by itself")?;
        context.hint(
            "`hermes gateway start` runs jobs when they are due, and so does `hermes cron tick \
             --watch` in the foreground; `hermes cron run ID` runs one at once",
        )
    }
}
