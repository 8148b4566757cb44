//! The tools with which an agent keeps something for later, and who approves what they keep.

use std::sync::Arc;

use hermes_home::PendingWrites;
use hermes_policy::{Answer, ApprovalRequest, ApprovalSettings};
use hermes_session::memory::MemoryFiles;
use hermes_tools::{MemoryTool, WriteDecision, WriteGate};

use crate::context::Context;
use crate::person::Person;

/// The tool for what is remembered. A scheduled job remembers nothing: its runs are not the user's
/// conversations.
pub(super) fn memory_tool(
    context: &Context,
    is_scheduled: bool,
    person: &Arc<dyn Person>,
) -> MemoryTool {
    let home = &context.location.home;
    let config = context.config();
    MemoryTool {
        files: (!is_scheduled).then(|| MemoryFiles::resolve(home, config)),
        pending: PendingWrites::memory(home),
        gate: Arc::new(AskedFirst {
            is_on: config.flag("memory.write_approval"),
            person: Arc::clone(person),
            settings: ApprovalSettings::from_config(config),
        }),
    }
}

/// Lets changes through, or shows each to the person first.
struct AskedFirst {
    is_on: bool,
    person: Arc<dyn Person>,
    settings: ApprovalSettings,
}

impl WriteGate for AskedFirst {
    fn decide(&self, summary: &str, detail: &str) -> WriteDecision {
        if !self.is_on {
            return WriteDecision::Allowed;
        }
        if !self.person.approves_commands() {
            return WriteDecision::Later;
        }
        let answer = self.person.approve(&ApprovalRequest {
            command: detail.to_owned(),
            keys: vec!["memory".to_owned()],
            description: summary.to_owned(),
            offer_session: false,
            offer_always: false,
            timeout: self.settings.timeout,
            advice: None,
        });
        match answer {
            Answer::Deny(_) => WriteDecision::Denied,
            _ => WriteDecision::Allowed,
        }
    }
}
