//! `hermes profile create`.

use std::path::Path;

use hermes_config::Sources;
use hermes_config::settings::migrate;
use hermes_home::profiles::{CloneDepth, CreateFlags, CreateRequest, ProfileContent, create};
use hermes_home::{Location, ProfileName, StepError};
use hermes_providers::builtin;

use super::alias_step;
use super::inherit::{FirstSettings, ModelArgs};

use crate::commands::gateway::slot;
use crate::context::Context;
use crate::error::Result;
use crate::ui::{counted, one_line};

/// The variable that is named if no provider is.
const OPENROUTER: &[&str] = &["OPENROUTER_API_KEY"];

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
    #[command(flatten)]
    model: ModelArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = ProfileName::parse_new(&args.name)?;
    let copies = args.clone || args.clone_all || args.clone_from.is_some();
    if copies || args.model.inherit_keys {
        context.refuse_to_agents("handing keys to another profile")?;
    }
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
    let first = FirstSettings::resolve(&args.model, context);
    let prepare = |staged: &Path| match &content {
        ProfileContent::Fresh { .. } => first.write(staged),
        ProfileContent::Clone { .. } => prepare(context, &content, staged),
    };
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
    } else {
        tell(&first, context)?;
    }
    if !args.no_skills && !args.clone_all {
        sync_skills(&profile.home, context)?;
    }
    slot::register_or_warn(context, &name)?;
    if !args.no_alias {
        alias_step::write_or_warn(context, &name)?;
    }
    let first = matches!(content, ProfileContent::Fresh { .. }).then_some(&first);
    next_steps(context, &name, first)?;
    warn_about_shared_token(context, &content)?;
    Ok(())
}

/// Copies the bundled skills. The profile is there either way: the next conversation tries again.
fn sync_skills(home: &Path, context: &Context) -> Result<()> {
    match hermes_skills::bundled::sync_if_needed(home) {
        Ok(0) => Ok(()),
        Ok(count) => context.line(format!("  {} synced.", counted(count, "bundled skill"))),
        Err(error) => context.warn(format!("the bundled skills were not copied: {error}")),
    }
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

/// Says which model the profile has, and from where.
fn tell(first: &FirstSettings, context: &Context) -> Result<()> {
    let parts = [first.provider(), first.model()];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .map(|part| one_line(part, 100))
        .collect();
    if !parts.is_empty() {
        let parts = parts.join(", ");
        context.line(if first.is_inherited {
            format!("  Provider and model taken over from the default profile: {parts}")
        } else {
            format!("  Provider and model: {parts}")
        })?;
    }
    if first.inherits_keys() {
        context
            .line("  Provider keys of the default profile are used as well (nothing is copied)")?;
    }
    Ok(())
}

/// What is left to do. A clone has everything its source has.
fn next_steps(context: &Context, name: &ProfileName, first: Option<&FirstSettings>) -> Result<()> {
    context.line("Next:")?;
    let lacks_model = first.is_none_or(|first| first.model().is_none());
    if lacks_model {
        context.line(format!("  hermes -p {name} config set model.default MODEL"))?;
    }
    if !first.is_some_and(FirstSettings::inherits_keys) {
        let provider = first.and_then(FirstSettings::provider);
        let variables = provider.map_or(OPENROUTER, |provider| {
            builtin(provider).map_or(&[][..], |known| known.key_variables)
        });
        if let Some(variable) = variables.first() {
            context.line(format!("  hermes -p {name} config set {variable} KEY"))?;
        }
    }
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
