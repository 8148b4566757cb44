//! Profiles, and who their agents are.

use std::path::Path;

use askama::Template;
use serde::Deserialize;

use super::frame::{self, html, html_with};
use super::shell::{Shell, Trouble};
use super::shown::{nullable, segment};
use super::source::Source;
use crate::call::{Answered, Call};

#[derive(Template)]
#[template(path = "profiles.html")]
struct ProfilesPage {
    shell: Shell,
    trouble: Option<Trouble>,
    profiles: Vec<Profile>,
}

#[derive(Template)]
#[template(path = "soul.html")]
struct SoulPage {
    shell: Shell,
    trouble: Option<Trouble>,
    name: String,
    content: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profiles {
    pub(super) profiles: Vec<Profile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profile {
    pub(super) name: String,
    path: String,
    is_default: bool,
    model: Option<String>,
    provider: Option<String>,
    #[serde(deserialize_with = "nullable")]
    skill_count: u64,
    pub(super) gateway_running: bool,
    #[serde(deserialize_with = "nullable")]
    description: String,
}

impl Profile {
    fn model_text(&self) -> String {
        match (self.model.as_deref(), self.provider.as_deref()) {
            (Some(model), Some(provider)) if !model.is_empty() => format!("{model} ({provider})"),
            (Some(model), None) if !model.is_empty() => model.to_owned(),
            (_, Some(provider)) if !provider.is_empty() => provider.to_owned(),
            _ => "not chosen".to_owned(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Soul {
    #[serde(deserialize_with = "nullable")]
    content: String,
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let answer: Result<Profiles, Trouble> = source.get("/api/profiles").await;
    let (mut answer, trouble) = match answer {
        Ok(answer) => (answer, None),
        Err(trouble) => (Profiles::default(), Some(trouble)),
    };
    let context = call.context();
    for profile in &mut answer.profiles {
        profile.path = context.location.display(Path::new(&profile.path));
    }
    let mut shell = frame::shell(&call, "Profiles", "profiles");
    shell.refresh = Some(10);
    let page = ProfilesPage {
        shell,
        trouble,
        profiles: answer.profiles,
    };
    html(&page)
}

pub(super) async fn soul(call: Call) -> Answered {
    let source = Source::of(&call);
    let name = call.param("name").to_owned();
    let answer: Result<Soul, Trouble> = source
        .get(&format!("/api/profiles/{}/soul", segment(&name)))
        .await;
    let (soul, trouble) = match answer {
        Ok(soul) => (soul, None),
        Err(trouble) => (Soul::default(), Some(trouble)),
    };
    let status = if trouble.is_none() { 200 } else { 404 };
    let mut shell = frame::shell(&call, &format!("Soul of {name}"), "profiles");
    shell.body = "text";
    let page = SoulPage {
        shell,
        trouble,
        name: segment(&name),
        content: soul.content,
    };
    html_with(status, &page)
}
