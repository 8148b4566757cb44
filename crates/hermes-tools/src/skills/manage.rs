//! `skill_manage`: creates, changes and deletes skills.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_home::PendingWrites;
use hermes_skills::hub::Hub;
use hermes_skills::{Error, SkillEditor, Skills, split};
use serde_json::{Value, json};

use super::{SkillAccess, failure};
use crate::argument::{ArgKind, Argument, text};
use crate::files::edited_text;
use crate::tool::{CallContext, Tool, ToolSpec};
use crate::write_gate::{WriteDecision, WriteGate, staged};

const ACTIONS: &[&str] = &[
    "create",
    "patch",
    "edit",
    "delete",
    "write_file",
    "remove_file",
];

const SPEC: ToolSpec = ToolSpec {
    name: "skill_manage",
    toolset: "skills",
    description: "Creates, changes and deletes skills: ways of doing something that will be needed \
     again. create and edit take the whole SKILL.md in content: a line ---, `name:` and \
     `description:`, a line ---, then the steps. patch replaces old_string with new_string in \
     SKILL.md or in file_path. write_file and remove_file are for files in references/, templates/, \
     scripts/ and assets/. Keep a skill short, with the commands that worked, the pitfalls and how \
     to check the result. Ask the user before you create or delete one.",
    arguments: &[
        Argument::required("action", ArgKind::Choice(ACTIONS), "What to do."),
        Argument::required(
            "name",
            ArgKind::Text,
            "The skill: lower-case letters, digits, hyphens.",
        ),
        Argument::text("content", "The whole SKILL.md, for create and edit."),
        Argument::text("category", "A directory for the new skill, for create."),
        Argument::text(
            "file_path",
            "A file of the skill, such as references/api.md.",
        ),
        Argument::optional("file_content", ArgKind::Document, "For write_file."),
        Argument::text("old_string", "For patch: the text to replace."),
        Argument::text("new_string", "For patch: the new text; empty deletes."),
        Argument::flag("replace_all", "For patch: every place. Default false."),
    ],
    ..ToolSpec::DEFAULT
};

/// The tool.
pub struct SkillManageTool {
    pub access: SkillAccess,
    /// Whether what an agent writes is scanned first.
    pub is_guarded: bool,
    pub pending: PendingWrites,
    pub gate: Arc<dyn WriteGate>,
    /// Skills that came with Hermes, or were installed in this home, stay as they are.
    pub keeps_installed_in: Option<PathBuf>,
}

impl SkillManageTool {
    /// Why a skill is not changed here, if so.
    fn refusal(&self, args: &Value) -> Option<&'static str> {
        let home = self.keeps_installed_in.as_ref()?;
        if text(args, "action") == Some("create") {
            return None;
        }
        let name = text(args, "name").unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        if hermes_skills::bundled::named(name).is_some() {
            return Some("This skill came with Hermes and is not changed here.");
        }
        let installed = Hub::new(home).installed();
        // What cannot be read may list the skill.
        let is_installed = installed.map_or(true, |installed| installed.contains_key(name));
        is_installed.then_some("This skill was installed from elsewhere and is not changed here.")
    }
}

impl Tool for SkillManageTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, _: &CallContext) -> Value {
        if let Some(refusal) = self.refusal(args) {
            return failure(refusal);
        }
        let gist = gist(args);
        match self.gate.decide(&gist, "") {
            WriteDecision::Allowed => apply(args, &self.access.skills, self.is_guarded),
            WriteDecision::Denied => failure("The user denied the change; nothing was saved."),
            WriteDecision::Later => {
                let mut result = staged(&self.pending, &gist, args.clone(), "/skills pending");
                result["gist"] = json!(gist);
                result
            }
        }
    }
}

/// Makes a change that has waited for approval. Gives the result as the tool would.
pub fn apply_pending_skill(payload: &Value, skills: &Skills, is_guarded: bool) -> Value {
    apply(payload, skills, is_guarded)
}

fn apply(args: &Value, skills: &Skills, is_guarded: bool) -> Value {
    let editor = SkillEditor { skills, is_guarded };
    let name = text(args, "name").unwrap_or_default();
    let action = text(args, "action").unwrap_or_default();
    match run(action, name, args, &editor) {
        Ok(result) => result,
        Err(message) => failure(message),
    }
}

fn run(action: &str, name: &str, args: &Value, editor: &SkillEditor<'_>) -> Result<Value, String> {
    let needed = |key: &str| {
        let value = args[key].as_str();
        value.ok_or_else(|| format!("Missing argument '{key}': the action '{action}' needs it."))
    };
    let path = text(args, "file_path");
    let sentence = |error: Error| match error.hint() {
        Some(hint) => format!("{error} Hint: {hint}."),
        None => error.to_string(),
    };
    match action {
        "create" => {
            let category = text(args, "category");
            let made = editor.create(name, category, needed("content")?);
            let directory = made.map_err(sentence)?;
            Ok(json!({
                "success": true,
                "message": format!("Skill '{name}' created."),
                "path": directory,
                "skill_md": directory.join("SKILL.md"),
                "category": category,
            }))
        }
        "edit" => {
            let file = editor
                .write(name, None, needed("content")?)
                .map_err(sentence)?;
            Ok(done(&format!("Skill '{name}' rewritten."), &file))
        }
        "patch" => {
            let shown = path.unwrap_or("SKILL.md");
            let before = editor.current_text(name, path).map_err(sentence)?;
            let all = args["replace_all"] == Value::Bool(true);
            let new = args["new_string"].as_str().unwrap_or_default();
            let (after, count) = edited_text(shown, &before, needed("old_string")?, new, all)?;
            let file = editor.write(name, path, &after).map_err(sentence)?;
            let places = if count == 1 {
                "1 place"
            } else {
                "several places"
            };
            Ok(done(
                &format!("{shown} of '{name}' changed in {places}."),
                &file,
            ))
        }
        "delete" => {
            editor.delete(name).map_err(sentence)?;
            Ok(json!({"success": true, "message": format!("Skill '{name}' deleted.")}))
        }
        "write_file" => {
            let path = needed("file_path")?;
            let file = editor.write(name, Some(path), needed("file_content")?);
            Ok(done(
                &format!("{path} of '{name}' written."),
                &file.map_err(sentence)?,
            ))
        }
        "remove_file" => {
            let path = needed("file_path")?;
            editor.remove_file(name, path).map_err(sentence)?;
            Ok(json!({"success": true, "message": format!("{path} of '{name}' removed.")}))
        }
        other => Err(format!(
            "Unknown action '{}'. Use {}.",
            hermes_text::one_line(other, 40),
            ACTIONS.join(", ")
        )),
    }
}

fn done(message: &str, file: &std::path::Path) -> Value {
    json!({"success": true, "message": message, "path": file})
}

/// What a change is, in one line.
fn gist(args: &Value) -> String {
    let value = |key: &str| args[key].as_str().unwrap_or_default();
    let (action, name, path) = (value("action"), value("name"), value("file_path"));
    let gist = match action {
        "create" | "edit" => {
            let verb = if action == "create" {
                "create"
            } else {
                "rewrite"
            };
            let description = split(value("content")).0.description();
            let size = value("content").chars().count();
            format!("{verb} '{name}': {description} ({size} characters)")
        }
        "patch" => {
            let target = if path.is_empty() { "SKILL.md" } else { path };
            let lines = |text: &str| text.lines().count();
            format!(
                "change {target} of '{name}' (+{}/-{} lines)",
                lines(value("new_string")),
                lines(value("old_string"))
            )
        }
        "write_file" => format!("write {path} of '{name}'"),
        "remove_file" => format!("remove {path} of '{name}'"),
        _ => format!("{action} '{name}'"),
    };
    hermes_text::one_line(&gist, 200)
}
