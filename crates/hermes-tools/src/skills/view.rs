//! `skill_view`: a whole skill, or one of its files.

use std::path::Path;

use hermes_skills::{RequiredVariable, Skill, SkillFile, list_files, read_file};
use serde_json::{Value, json};

use super::{SkillAccess, carry_credentials, failure};
use crate::argument::{ArgKind, Argument, text};
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "skill_view",
    toolset: "skills",
    description: "Shows a skill: how to do something, step by step, perhaps with scripts and \
     templates. Look at it before a task that its description fits. The answer lists the files of \
     the skill; file_path shows one of them.",
    arguments: &[
        Argument::required(
            "name",
            ArgKind::Text,
            "The skill, with its category before it if several have the name.",
        ),
        Argument::text(
            "file_path",
            "A file of the skill, such as references/api.md.",
        ),
    ],
    reach: ToolReach::Anything,
    ..ToolSpec::DEFAULT
};

/// The tool.
pub struct SkillViewTool(pub SkillAccess);

impl Tool for SkillViewTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let name = text(args, "name").unwrap_or_default();
        let skill = match self.0.skills.find(name) {
            Ok(skill) => skill,
            Err(absence) => {
                let mut result = failure(absence.reason(name));
                result["hint"] = json!("skills_list shows the skills there are.");
                return result;
            }
        };
        match text(args, "file_path") {
            Some(path) => file(&skill, path),
            None => self.whole(&skill, context),
        }
    }
}

impl SkillViewTool {
    fn whole(&self, skill: &Skill, context: &CallContext) -> Value {
        let session = &self.0.session;
        let head = &skill.head;
        let variables = head.variables();
        let names: Vec<String> = variables.iter().map(|one| one.name.clone()).collect();
        let mut set = session.grant(&context.session_key, &skill.name, &names);
        let missing = |set: &[String]| -> Vec<&RequiredVariable> {
            let needed = variables.iter().filter(|one| !one.is_optional);
            needed.filter(|one| !set.contains(&one.name)).collect()
        };
        if session.ask_for(&skill.name, &missing(&set)) {
            set = session.grant(&context.session_key, &skill.name, &names);
        }
        let missing: Vec<&str> = missing(&set).iter().map(|one| one.name.as_str()).collect();
        let missing_files = session.missing_files(&head.credential_files());
        let setup_needed = !missing.is_empty() || !missing_files.is_empty();
        let directory = skill.place.as_ref().map(|place| place.directory.as_path());
        let linked = directory.map(list_files).unwrap_or_default();
        let required: Vec<Value> = variables
            .iter()
            .map(|one| {
                json!({
                    "name": one.name,
                    "prompt": one.prompt,
                    "help": one.help,
                    "required_for": one.required_for,
                    "optional": one.is_optional,
                })
            })
            .collect();
        let mut result = json!({
            "success": true,
            "name": skill.name,
            "description": head.description(),
            "tags": head.hermes_texts("tags"),
            "related_skills": head.hermes_texts("related_skills"),
            "content": session.rendered(skill, &skill.body, context),
            "path": skill.place.as_ref().map(|place| place.relative.join("SKILL.md")),
            "skill_dir": session.directory_for_commands(skill),
            "linked_files": (!linked.is_empty()).then_some(&linked),
            "required_environment_variables": required,
            "missing_required_environment_variables": missing,
            "missing_credential_files": missing_files,
            "setup_needed": setup_needed,
            "readiness_status": if setup_needed { "setup_needed" } else { "available" },
        });
        if !linked.is_empty() {
            result["usage_hint"] = json!("skill_view(name, file_path) shows one of linked_files.");
        }
        let not_carried = carry_credentials(skill, &**session, context);
        if !not_carried.is_empty() {
            result["credential_files_not_carried"] = json!(not_carried);
        }
        if setup_needed {
            result["setup_note"] = json!(setup_note(&missing, &missing_files));
        }
        let help = variables.iter().find_map(|one| one.help.clone());
        for (key, text) in [
            ("setup_help", help),
            ("compatibility", head.text("compatibility")),
            ("problem", head.problem.clone()),
        ] {
            if let Some(text) = text {
                result[key] = json!(text);
            }
        }
        result
    }
}

fn setup_note(missing: &[&str], files: &[String]) -> String {
    let mut needs: Vec<String> = missing
        .iter()
        .map(|name| format!("the variable {name}"))
        .collect();
    needs.extend(files.iter().map(|file| format!("the file {file}")));
    format!(
        "The skill needs {} first. The user sets a variable with `hermes config set NAME VALUE`, in a \
         terminal of their own. Say what is missing and go on with what works without it.",
        needs.join(" and ")
    )
}

fn file(skill: &Skill, path: &str) -> Value {
    let Some(place) = &skill.place else {
        return failure(format!("The skill '{}' has no files.", skill.name));
    };
    match read_file(&place.directory, path) {
        Ok(SkillFile::Text(content)) => {
            let ending = Path::new(path).extension().unwrap_or_default();
            json!({
                "success": true,
                "name": skill.name,
                "file": path,
                "content": content,
                "file_type": format!(".{}", ending.to_string_lossy()),
            })
        }
        Ok(SkillFile::Binary(size)) => json!({
            "success": true,
            "name": skill.name,
            "file": path,
            "content": format!("[{path} is not text, or too long: {size} bytes]"),
            "is_binary": true,
        }),
        Err(error) => {
            let mut result = failure(error.to_string());
            result["available_files"] = json!(list_files(&place.directory));
            result
        }
    }
}
