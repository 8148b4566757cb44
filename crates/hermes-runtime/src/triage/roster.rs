//! Possible assignees: all profiles of this installation.

use hermes_agent::triage::{Profile, Roster};
use hermes_home::ProfileName;
use hermes_home::profiles::{existing, list};

use crate::context::Context;

/// The profiles that cards can be assigned to, and who gets what fits nobody.
pub fn roster(context: &Context) -> hermes_home::Result<Roster> {
    let profiles = list(&context.location, context.current.as_ref())?.profiles;
    let current = context.current.clone();
    let current = current
        .unwrap_or_else(ProfileName::default_profile)
        .to_string();
    let configured = |key: &str| {
        let name = context.config().text(key).trim();
        let profile = ProfileName::parse(name).ok()?;
        existing(&context.location, &profile).ok()?;
        Some(name.to_owned())
    };
    Ok(Roster {
        fallback: configured("kanban.default_assignee").unwrap_or_else(|| current.clone()),
        orchestrator: configured("kanban.orchestrator_profile").unwrap_or(current),
        profiles: profiles
            .into_iter()
            .map(|profile| Profile {
                name: profile.name.to_string(),
                description: profile.description,
            })
            .collect(),
    })
}
