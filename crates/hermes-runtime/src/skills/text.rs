//! The text that tells a model about skills it begins with.

use hermes_session::SessionId;

use super::Skill;
use crate::context::Context;

/// The skills as an addition to the system prompt; `None` without skills. `is_remote` says that
/// commands run in a container or on another machine, where the files of skills have other paths.
pub(crate) fn prompt_text(
    skills: &[Skill],
    session: &SessionId,
    is_remote: bool,
    context: &Context,
) -> Option<String> {
    let fills_in = context.config().flag("skills.template_vars");
    let parts: Vec<String> = skills
        .iter()
        .map(|skill| {
            let directory = skill.files.as_ref().map(|files| {
                if is_remote {
                    format!("~/.hermes/{}", files.remote.display())
                } else {
                    files.directory.display().to_string()
                }
            });
            let mut body = skill.body.clone();
            if fills_in {
                let directory = directory.as_deref().unwrap_or_default();
                body = body
                    .replace("${HERMES_SKILL_DIR}", directory)
                    .replace("${HERMES_SESSION_ID}", session.as_str());
            }
            let files = directory.map_or_else(String::new, |directory| {
                format!(
                    "\n\nThe files of this skill are in {directory}; relative paths in it start \
                     there."
                )
            });
            format!("# Skill: {}\n\n{body}{files}", skill.name)
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!(
        "The following skills were loaded for this conversation. Follow them unless the user says \
         otherwise.\n\n{}",
        parts.join("\n\n")
    ))
}
