//! `hermes profile alias`.

use hermes_home::profiles::existing;
use hermes_home::{Aliases, ProfileName};

use super::alias_step;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
    /// Name of the command (default: the profile's name)
    #[arg(long = "name", value_name = "ALIAS", allow_hyphen_values = true)]
    alias: Option<String>,
    /// Remove the command instead
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing the command of a profile")?;
    let name = ProfileName::parse(&args.name)?;
    existing(&context.location, &name)?;
    if args.remove {
        return remove(args, context, &name);
    }
    let alias = alias_step::write(
        context,
        args.alias.as_deref().unwrap_or(name.as_str()),
        &name,
    )?;
    context.line(format!(
        "✓ {} → hermes -p {name}  ({})",
        alias.name,
        context.display(&alias.path)
    ))?;
    alias_step::say_how_to_find(context)?;
    Ok(())
}

/// Removes the named alias, or all of the profile.
fn remove(args: &Args, context: &Context, profile: &ProfileName) -> Result<()> {
    let aliases = Aliases::of(&context.location);
    let wanted: Vec<String> = match &args.alias {
        Some(alias) => vec![alias.clone()],
        None => {
            let own = aliases
                .scan()
                .into_iter()
                .filter(|alias| alias.profile == *profile);
            own.map(|alias| alias.name).collect()
        }
    };
    if wanted.is_empty() {
        return Err(CommandError::user(format!(
            "Profile '{profile}' has no alias"
        )));
    }
    for alias in wanted {
        let path = aliases.remove(&alias)?;
        context.line(format!("✓ Removed {}", context.display(&path)))?;
    }
    Ok(())
}
