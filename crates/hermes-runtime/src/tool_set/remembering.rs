//! The tools with which an agent keeps something for later, and who approves what they keep.

use std::sync::Arc;

use hermes_home::PendingWrites;
use hermes_policy::{Answer, ApprovalRequest, ApprovalSettings};
use hermes_session::memory::MemoryFiles;
use hermes_tools::{
    MemoryTool, SkillAccess, SkillManageTool, SkillViewTool, SkillsListTool, ToolRegistry,
    WriteDecision, WriteGate,
};

use crate::context::Context;
use crate::person::Person;
use crate::skills::{SkillHost, cache_file, offer_facts, profile_skills};

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

/// The skills of a profile, as tools use them.
pub(super) fn skill_access(
    context: &Context,
    platform: &str,
    host: &Arc<SkillHost>,
) -> SkillAccess {
    SkillAccess {
        skills: Arc::new(profile_skills(context, platform)),
        cache: Some(cache_file(context)),
        facts: offer_facts(context, platform),
        session: Arc::clone(host) as Arc<dyn hermes_tools::SkillSession>,
    }
}

/// The tool that changes skills.
pub(super) fn skill_manage_tool(context: &Context, access: SkillAccess) -> SkillManageTool {
    let config = context.config();
    SkillManageTool {
        access,
        is_guarded: config.flag("skills.guard_agent_created"),
        pending: PendingWrites::skills(&context.location.home),
        gate: Arc::new(KeptForLater(config.flag("skills.write_approval"))),
        keeps_installed_in: None,
    }
}

/// The tools of a review in the background: those for memory and skills, with nobody who could be
/// asked.
pub(super) fn review_tools(
    context: &Context,
    access: SkillAccess,
    person: &Arc<dyn Person>,
) -> ToolRegistry {
    let manage = SkillManageTool {
        keeps_installed_in: Some(context.location.home.clone()),
        ..skill_manage_tool(context, access.clone())
    };
    ToolRegistry::default()
        .with(memory_tool(context, false, person))
        .with(SkillsListTool(access.clone()))
        .with(SkillViewTool(access))
        .with(manage)
}

/// Lets changes through, or keeps them all: a skill is too long to be judged in passing.
struct KeptForLater(bool);

impl WriteGate for KeptForLater {
    fn decide(&self, _: &str, _: &str) -> WriteDecision {
        if self.0 {
            WriteDecision::Later
        } else {
            WriteDecision::Allowed
        }
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
