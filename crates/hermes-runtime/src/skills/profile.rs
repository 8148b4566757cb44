//! The skills of a profile under its settings.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hermes_board::WorkerVariables;
use hermes_config::{Config, vars};
use hermes_skills::bundled::BUNDLED;
use hermes_skills::{Absence, Catalog, OfferFacts, PluginSkills, Skill, SkillRoot, Skills, split};
use hermes_terminal::carried_files::CarriedRequest;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Result};

/// Where the skills of a profile are, and which are off on this platform.
pub(crate) fn profile_skills(context: &Context, platform: &str) -> Skills {
    Skills {
        roots: roots(context),
        disabled: disabled(context.config(), platform),
        plugins: plugins(context),
    }
}

fn plugins(context: &Context) -> PluginSkills {
    let is_off = context.env.flag(&vars::HERMES_SAFE_MODE);
    let settings = context.config().get("plugins").filter(|_| !is_off);
    let names = |key: &str| {
        let listed = settings.and_then(|settings| settings.get(key)?.as_array());
        let names = listed.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    };
    PluginSkills {
        directory: context.location.home.join("plugins"),
        enabled: names("enabled"),
        disabled: names("disabled"),
    }
}

/// The skills as commands of the program see them.
pub fn own_skills(context: &Context) -> Skills {
    profile_skills(context, "cli")
}

/// Keeps what is known of skills.
pub(crate) fn cache_file(context: &Context) -> PathBuf {
    context.location.home.join("cache").join("skills.json")
}

/// What decides about the offer, before the tools of a conversation are known.
pub(crate) fn offer_facts(context: &Context, platform: &str) -> OfferFacts {
    OfferFacts {
        disabled: disabled(context.config(), platform),
        has_board: WorkerVariables::read(&context.env).is_some(),
        is_container: hermes_home::is_container(&context.env, &context.system),
        ..OfferFacts::default()
    }
}

/// Whether there is a skill of this name, usable or not.
pub(crate) fn exists(name: &str, context: &Context) -> bool {
    !matches!(
        own_skills(context).find(name),
        Err(Absence::Unknown | Absence::UnsafeName)
    )
}

/// The names of all skills that can be loaded, sorted.
pub(crate) fn names(context: &Context) -> Vec<String> {
    let summaries = skill_summaries(context);
    summaries.into_iter().map(|skill| skill.name).collect()
}

/// A skill as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: Option<String>,
    /// The directory that it stands in with others of its kind.
    pub category: Option<String>,
}

/// The skills that can be used under these settings, sorted by name.
pub fn skill_summaries(context: &Context) -> Vec<SkillSummary> {
    let facts = OfferFacts {
        // Whoever asks by name gets it.
        has_board: true,
        ..offer_facts(context, "cli")
    };
    let catalog = Catalog::load(&roots(context), Some(&cache_file(context)));
    let described = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let found = catalog.first_of_each_name().into_iter();
    let mut found: Vec<SkillSummary> = found
        .filter(|skill| facts.offers(skill))
        .map(|skill| SkillSummary {
            name: skill.name.clone(),
            description: described(&skill.description),
            category: skill.category.clone(),
        })
        .collect();
    for skill in &BUNDLED {
        let is_known = found.iter().any(|one| one.name == skill.name);
        if !is_known && !facts.disabled.contains(skill.name) {
            found.push(SkillSummary {
                name: skill.name.to_owned(),
                description: described(&split(skill.text).0.description()),
                category: None,
            });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// The skills of these names, each once. If one cannot be had, none is.
pub(crate) fn load(names: &[String], context: &Context) -> Result<Vec<Skill>> {
    let skills = own_skills(context);
    let mut found: Vec<Skill> = Vec::new();
    let mut missing: Vec<(&str, Absence)> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        match skills.find(name) {
            Ok(skill) if found.contains(&skill) => {}
            Ok(skill) => found.push(skill),
            Err(_) if missing.iter().any(|(known, _)| *known == name) => {}
            Err(absence) => missing.push((name, absence)),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut reasons: Vec<String> = Vec::new();
    for (name, absence) in &missing {
        let reason = reason(absence, name, context);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    Err(Error::user(
        format!("Unknown skill(s): {}", names.join(", ")),
        Some(&reasons.join("; ")),
    ))
}

fn reason(absence: &Absence, name: &str, context: &Context) -> String {
    match absence {
        Absence::Unknown | Absence::UnsafeName => format!(
            "a skill is a directory with a SKILL.md below {}",
            context.location.home.join("skills").display()
        ),
        Absence::PluginOff(_) | Absence::NotInPlugin { .. } => absence.reason(name),
        Absence::Disabled => format!("'{name}' is switched off by skills.disabled"),
        Absence::OtherPlatform => {
            format!("'{name}' is not for this system, as its `platforms` says")
        }
        Absence::Several(paths) => {
            let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            format!(
                "there are several skills '{name}': {}; write the category before the name",
                paths.join(", ")
            )
        }
        Absence::Unreadable(error) => error.to_string(),
    }
}

fn roots(context: &Context) -> Vec<SkillRoot> {
    let user_home = &context.location.user_home;
    let request = CarriedRequest::from_config(context.config(), user_home);
    let own = SkillRoot {
        directory: context.location.home.join("skills"),
        remote: Some(PathBuf::from("skills")),
        is_own: true,
    };
    let external = request.external_skills.into_iter().enumerate();
    let external = external.map(|(position, directory)| SkillRoot {
        directory,
        remote: Some(PathBuf::from("external_skills").join(position.to_string())),
        is_own: false,
    });
    std::iter::once(own).chain(external).collect()
}

/// Names that are off everywhere or on this platform.
fn disabled(config: &Config, platform: &str) -> BTreeSet<String> {
    let everywhere = config
        .texts("skills.disabled")
        .into_iter()
        .map(str::to_owned);
    let here = config.get("skills.platform_disabled");
    let here = here.and_then(|platforms| platforms.get(platform));
    let here: Vec<String> = match here {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::String(name)) => vec![name.clone()],
        _ => Vec::new(),
    };
    let names = everywhere.chain(here).map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}
