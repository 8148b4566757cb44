//! `hermes skills list`.

use hermes_runtime::own_skills;
use hermes_skills::bundled::{self, BundledState};
use hermes_skills::{Catalog, IndexedSkill, OfferFacts};
use serde_json::{Value, json};

use super::hub;
use crate::commands::named;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Only those of one kind: all, hub, builtin or local
    #[arg(long, default_value = "all", value_parser = named([
        ("all", Kind::All),
        ("hub", Kind::Hub),
        ("builtin", Kind::Builtin),
        ("local", Kind::Local),
    ]))]
    source: Kind,
    /// Leave out those that are off
    #[arg(long)]
    enabled_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    All,
    Hub,
    Builtin,
    Local,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let skills = own_skills(context);
    let catalog = Catalog::load(&skills.roots, None);
    let installed = hub(context).installed()?;
    let copies = bundled::states(&context.location.home)?;
    let facts = OfferFacts {
        disabled: skills.disabled,
        has_board: true,
        is_container: true,
        ..OfferFacts::default()
    };
    let kind = |skill: &IndexedSkill| {
        let directory = skill
            .directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let is_copy = |(one, state): &&(&bundled::BundledSkill, BundledState)| {
            one.name == skill.name && *state != BundledState::Other
        };
        if skill.is_own && installed.contains_key(directory.as_ref()) {
            Kind::Hub
        } else if skill.is_own && copies.iter().any(|copy| is_copy(&copy)) {
            Kind::Builtin
        } else {
            Kind::Local
        }
    };
    let shown: Vec<(&IndexedSkill, Kind)> = catalog
        .first_of_each_name()
        .into_iter()
        .map(|skill| (skill, kind(skill)))
        .filter(|(_, kind)| args.source == Kind::All || args.source == *kind)
        .filter(|(skill, _)| !args.enabled_only || facts.offers(skill))
        .collect();
    let state = |skill: &IndexedSkill| {
        if facts.disabled.contains(&skill.name) {
            "off"
        } else if !facts.offers(skill) {
            "other system"
        } else if skill.problem.is_some() {
            "damaged"
        } else {
            "on"
        }
    };
    if args.json {
        let rows = shown
            .iter()
            .map(|(skill, kind)| row(skill, *kind, state(skill)));
        return context.json(&Value::Array(rows.collect()));
    }
    if shown.is_empty() {
        context.line("No skills")?;
        return context.hint(
            "a skill is a directory with a SKILL.md in skills/ of the Hermes home; those of Hermes \
                   itself are put there when the first conversation begins",
        );
    }
    let mut table = Table::new(&["NAME", "CATEGORY", "SOURCE", "STATE", "DESCRIPTION"]);
    for (skill, kind) in &shown {
        table.row(vec![
            one_line(&skill.name, 40),
            one_line(skill.category.as_deref().unwrap_or("-"), 28),
            kind.name().to_owned(),
            state(skill).to_owned(),
            one_line(&skill.description, 60),
        ]);
    }
    context.out(&table.render())?;
    for (skill, _) in &shown {
        if let Some(problem) = &skill.problem {
            let name = one_line(&skill.name, 40);
            context.warn(format!("{name}: {}", one_line(problem, 200)))?;
        }
    }
    Ok(())
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::All | Self::Local => "local",
            Self::Hub => "hub",
            Self::Builtin => "builtin",
        }
    }
}

fn row(skill: &IndexedSkill, kind: Kind, state: &str) -> Value {
    json!({
        "name": skill.name,
        "category": skill.category,
        "description": skill.description,
        "source": kind.name(),
        "state": state,
        "path": skill.directory,
        "problem": skill.problem,
    })
}
