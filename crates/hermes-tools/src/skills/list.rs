//! `skills_list`: names and descriptions of the skills that are offered.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::SkillAccess;
use crate::argument::{Argument, text};
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "skills_list",
    toolset: "skills",
    description: "Lists the skills there are, with what each is for. skill_view shows one.",
    arguments: &[Argument::text("category", "Only skills of this category.")],
    reach: ToolReach::ReadOnly,
    ..ToolSpec::DEFAULT
};

/// The tool.
pub struct SkillsListTool(pub SkillAccess);

impl Tool for SkillsListTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let catalog = self.0.catalog();
        let facts = self.0.facts(context);
        let wanted = text(args, "category");
        let mut skills: Vec<_> = catalog
            .first_of_each_name()
            .into_iter()
            .filter(|skill| facts.offers(skill))
            .filter(|skill| wanted.is_none_or(|wanted| is_in(skill.category.as_deref(), wanted)))
            .collect();
        skills
            .sort_by(|one, other| (&one.category, &one.name).cmp(&(&other.category, &other.name)));
        let categories: BTreeSet<&str> = skills
            .iter()
            .filter_map(|skill| skill.category.as_deref())
            .collect();
        let rows: Vec<Value> = skills
            .iter()
            .map(|skill| {
                json!({
                    "name": skill.name,
                    "description": skill.description,
                    "category": skill.category,
                })
            })
            .collect();
        let mut result = json!({
            "success": true,
            "count": rows.len(),
            "skills": rows,
            "categories": categories,
        });
        result["hint"] = match skills.len() {
            0 => json!("There are no skills here; skill_manage creates one."),
            _ => json!("skill_view(name) shows the whole skill and its files."),
        };
        result
    }
}

/// Whether a category is this one or lies in it.
fn is_in(category: Option<&str>, wanted: &str) -> bool {
    category.is_some_and(|category| {
        let inner = category.strip_prefix(wanted);
        inner.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
