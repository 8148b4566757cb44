//! `hermes profile describe`.

use hermes_home::ProfileName;
use hermes_home::profiles::{describe, existing, load_meta};

use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile (default: the current one)
    name: Option<String>,
    /// Set the description
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Replace an existing description
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
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
    match &args.text {
        None if meta.description.is_empty() => {
            context.line(format!("(no description set for '{name}')"))?;
        }
        None => {
            let prefix = if meta.description_auto { "[auto] " } else { "" };
            context.line(format!("{prefix}{}", meta.description))?;
        }
        // A generated description gives way; one that a person wrote is not lost by accident.
        Some(_) if !meta.description.is_empty() && !meta.description_auto && !args.overwrite => {
            return Err(
                CommandError::user(format!("'{name}' already has a description"))
                    .hint("replace it with --overwrite"),
            );
        }
        Some(text) => {
            describe(&context.location, &name, text, false)?;
            context.line(format!("✓ Described '{name}'"))?;
        }
    }
    Ok(())
}
