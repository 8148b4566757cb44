//! `hermes profile create`.

use std::path::Path;

use hermes_config::Sources;
use hermes_config::settings::migrate;
use hermes_home::profiles::{CloneDepth, CreateFlags, CreateRequest, ProfileContent, create};
use hermes_home::{Location, ProfileName, StepError};

use super::alias_step;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent options of one command"
)]
pub(crate) struct Args {
    /// Name: lowercase letters, digits, - and _
    #[arg(allow_hyphen_values = true)]
    name: String,
    /// Copy settings, secrets, persona, skills and memory of the active profile
    #[arg(long)]
    clone: bool,
    /// Copy everything but history
    #[arg(long)]
    clone_all: bool,
    /// Copy from this profile instead of the active one
    #[arg(long, value_name = "SRC")]
    clone_from: Option<String>,
    /// Do not create a command for the profile
    #[arg(long)]
    no_alias: bool,
    /// Leave out the bundled skills
    #[arg(long)]
    no_skills: bool,
    /// What the profile is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = ProfileName::parse_new(&args.name)?;
    let flags = CreateFlags {
        clone: args.clone,
        clone_all: args.clone_all,
        clone_from: args
            .clone_from
            .as_deref()
            .map(ProfileName::parse)
            .transpose()?,
        no_skills: args.no_skills,
    };
    let current = current_home(context);
    let content = ProfileContent::from_flags(&flags, &context.location, &current.home)?;
    let request = CreateRequest {
        name: name.clone(),
        content: content.clone(),
        description: args.description.clone(),
    };
    let prepare = |staged: &Path| prepare(context, &content, staged);
    let policy = context.home_policy();
    let profile = create(&context.location, &request, &policy, &prepare)?;

    context.start_logging();
    tracing::info!(profile = name.as_str(), "profile created");
    context.line(format!(
        "✓ Created profile '{name}' at {}",
        context.display(&profile.home)
    ))?;
    if let ProfileContent::Clone { source, depth } = &content {
        let what = match depth {
            CloneDepth::Settings => "settings, secrets, persona, skills and memory",
            CloneDepth::Everything => "everything but history",
        };
        context.line(format!("  Copied {what} from {}", context.display(source)))?;
    }
    if !args.no_alias {
        alias_step::write_or_warn(context, &name)?;
    }
    next_steps(context, &name)?;
    warn_about_shared_token(context, &content)?;
    Ok(())
}

/// The home of the current profile; for the `profile` group, the sticky one.
fn current_home(context: &Context) -> Location {
    match &context.current {
        Some(name) => context.location.for_profile(name),
        None => context.location.clone(),
    }
}

/// A cloned file older than the current schema is migrated before anyone sees the profile.
fn prepare(
    context: &Context,
    content: &ProfileContent,
    staged: &Path,
) -> std::result::Result<(), StepError> {
    let ProfileContent::Clone {
        depth: CloneDepth::Settings,
        ..
    } = content
    else {
        return Ok(());
    };
    let sources = Sources {
        home: staged.to_owned(),
        ..context.sources()
    };
    let report = migrate(&sources, false);
    match report {
        Ok(report) => {
            // The profile is new: there is nothing to go back to.
            for backup in report.backups {
                hermes_fs::remove_file(&backup)?;
            }
        }
        // A broken file is cloned as it is; the user mends it there as here.
        Err(hermes_config::settings::ConfigError::Broken { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    for lock in ["config.yaml.lock", ".env.lock"] {
        hermes_fs::remove_file_if_present(&staged.join(lock))?;
    }
    Ok(())
}

fn next_steps(context: &Context, name: &ProfileName) -> Result<()> {
    context.line("Next:")?;
    context.line(format!("  hermes -p {name} config set model.default MODEL"))?;
    context.line(format!(
        "  hermes -p {name} config set OPENROUTER_API_KEY KEY"
    ))?;
    context.line(format!("  hermes profile use {name}"))
}

/// Two gateways with one bot token throw each other out.
fn warn_about_shared_token(context: &Context, content: &ProfileContent) -> Result<()> {
    let ProfileContent::Clone { source, .. } = content else {
        return Ok(());
    };
    let dotenv = hermes_config::dotenv::DotEnv::load(&source.join(".env")).unwrap_or_default();
    let tokens: Vec<&str> = dotenv
        .names()
        .filter(|name| name.ends_with("_BOT_TOKEN"))
        .filter(|name| dotenv.get(name).is_some_and(|value| !value.is_empty()))
        .collect();
    if !tokens.is_empty() {
        context.warn(format!(
            "the clone shares {} with its source",
            tokens.join(", ")
        ))?;
        context.hint("give the clone its own token before running both gateways")?;
    }
    Ok(())
}
