//! `hermes profile describe`.

use hermes_agent::{ProfileFacts, describe_profile};
use hermes_config::{Config, Sources};
use hermes_home::ProfileName;
use hermes_home::profiles::{describe, existing, load_meta, names};
use hermes_providers::{AuxiliaryModels, ModelOverrides};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::tool_access::interrupt;

/// Most skills that the model is told of.
const MOST_SKILLS: usize = 60;
/// Most bytes of a persona that are read, and characters that are told.
const PERSONA_BYTES: u64 = 1 << 20;
const PERSONA_CHARS: usize = 2_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile (default: the current one)
    name: Option<String>,
    /// Set the description
    #[arg(long, value_name = "TEXT", conflicts_with = "auto")]
    text: Option<String>,
    /// Let a model write the description from the profile's skills and persona
    #[arg(long)]
    auto: bool,
    /// With --auto: all profiles that have no description of a person
    #[arg(long, requires = "auto", conflicts_with = "name")]
    all: bool,
    /// Replace an existing description
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.all {
        return describe_all(args, context);
    }
    let name = match (&args.name, &context.current) {
        (Some(name), _) => ProfileName::parse(name)?,
        (None, Some(current)) => current.clone(),
        (None, None) => {
            return Err(CommandError::usage(
                "name a profile: this home is not a profile",
            ));
        }
    };
    let home = existing(&context.location, &name)?.home;
    let meta = load_meta(&home);
    let sets = args.text.is_some() || args.auto;
    if !sets {
        return context.line(if meta.description.is_empty() {
            format!("(no description set for '{name}')")
        } else {
            let prefix = if meta.description_auto { "[auto] " } else { "" };
            format!("{prefix}{}", meta.description)
        });
    }
    // A generated description gives way; one that a person wrote is not lost by accident.
    if !meta.description.is_empty() && !meta.description_auto && !args.overwrite {
        return Err(
            CommandError::user(format!("'{name}' already has a description"))
                .hint("replace it with --overwrite"),
        );
    }
    match &args.text {
        Some(text) => {
            describe(&context.location, &name, text, false)?;
            context.line(format!("✓ Described '{name}'"))
        }
        None => describe_automatically(&name, context),
    }
}

/// Every profile; a failure does not stop the others and shows in the exit code.
fn describe_all(args: &Args, context: &Context) -> Result<()> {
    let mut failed = false;
    for name in names(&context.location)? {
        let meta = load_meta(&existing(&context.location, &name)?.home);
        if !meta.description.is_empty() && !meta.description_auto && !args.overwrite {
            context.line(format!("  '{name}' keeps its description"))?;
            continue;
        }
        if let Err(error) = describe_automatically(&name, context) {
            failed = true;
            context.printer.report(&error);
        }
    }
    CommandError::silent_unless(!failed)
}

fn describe_automatically(name: &ProfileName, context: &Context) -> Result<()> {
    let home = existing(&context.location, name)?.home;
    let config = Config::load_read_only(&Sources::new(&context.env, &home));
    let (model, _) = config.model();
    let persona = hermes_fs::read_text_capped(&home.join("SOUL.md"), PERSONA_BYTES);
    let facts = ProfileFacts {
        name: name.to_string(),
        model: model.unwrap_or("(not set)").to_owned(),
        skills: skills(&home),
        persona: persona
            .unwrap_or_default()
            .chars()
            .take(PERSONA_CHARS)
            .collect(),
    };
    context.start_logging();
    let models = AuxiliaryModels::new(context.config(), ModelOverrides::default());
    let text = describe_profile(&models, &facts, &*interrupt()?).map_err(|reason| {
        CommandError::user(format!("'{name}' was not described: {reason}"))
            .hint("set it yourself with --text, or check `hermes doctor`")
    })?;
    describe(&context.location, name, &text, true)?;
    context.line(format!("✓ Described '{name}': {text}"))
}

/// Names of the skills of a home, spread over the alphabet if there are many.
fn skills(home: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    collect_skills(&home.join("skills"), 0, &mut found);
    // Every profile has these: they tell nothing about this one.
    found.retain(|name| hermes_skills::bundled::named(name).is_none());
    found.sort();
    let step = found.len().div_ceil(MOST_SKILLS).max(1);
    found.into_iter().step_by(step).collect()
}

/// A skill is a directory with a `SKILL.md`, alone or in the directory of its category.
fn collect_skills(directory: &std::path::Path, depth: usize, found: &mut Vec<String>) {
    let entries = hermes_fs::read_dir(directory).unwrap_or_default();
    for entry in entries.into_iter().filter(|entry| entry.path.is_dir()) {
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if entry.path.join("SKILL.md").is_file() {
            found.push(name.into_owned());
        } else if depth < 3 {
            collect_skills(&entry.path, depth + 1, found);
        }
    }
}
