//! Skills and toolsets.

use askama::Template;
use serde::Deserialize;
use serde_json::json;

use super::frame::{self, html};
use super::shell::{Shell, Trouble};
use super::shown::nullable;
use super::source::Source;
use crate::call::{Answered, Call};

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    shell: Shell,
    troubles: Vec<Trouble>,
    skills: Vec<Skill>,
    toolsets: Vec<Toolset>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Skill {
    name: String,
    #[serde(deserialize_with = "nullable")]
    description: String,
    category: Option<String>,
    enabled: bool,
}

impl Skill {
    fn search_text(&self) -> String {
        format!("{} {}", self.name, self.description).to_lowercase()
    }

    fn body(&self) -> String {
        json!({"name": self.name}).to_string()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Toolset {
    name: String,
    #[serde(deserialize_with = "nullable")]
    label: String,
    #[serde(deserialize_with = "nullable")]
    description: String,
    enabled: bool,
    configured: bool,
    tools: Vec<String>,
}

impl Toolset {
    fn search_text(&self) -> String {
        format!(
            "{} {} {} {}",
            self.name,
            self.label,
            self.description,
            self.tool_names()
        )
        .to_lowercase()
    }

    fn tool_names(&self) -> String {
        self.tools.join(", ")
    }
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let mut troubles = Vec::new();
    let skills = source.get("/api/skills").await.unwrap_or_else(|trouble| {
        troubles.push(trouble);
        Vec::new()
    });
    let toolsets = source
        .get("/api/tools/toolsets")
        .await
        .unwrap_or_else(|trouble| {
            troubles.push(trouble);
            Vec::new()
        });
    let mut shell = frame::shell(&call, "Skills and tools", "skills");
    shell.module = Some("find");
    let page = SkillsPage {
        shell,
        troubles,
        skills,
        toolsets,
    };
    html(&page)
}
