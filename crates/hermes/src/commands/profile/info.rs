//! `hermes profile info`: the manifest of a profile's distribution.

use hermes_home::ProfileName;
use hermes_home::profiles::manifest_of;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let manifest = manifest_of(&context.location, &ProfileName::parse(&args.name)?)?;
    let distribution = &manifest.distribution;
    let rows = [
        ("Name", Some(&distribution.name)),
        ("Version", distribution.version.as_ref()),
        ("Source", distribution.source.as_ref()),
        ("Description", manifest.description.as_ref()),
        ("Requires", manifest.hermes_requires.as_ref()),
        ("Author", manifest.author.as_ref()),
        ("License", manifest.license.as_ref()),
        ("Installed", manifest.installed_at.as_ref()),
    ];
    for (label, value) in rows {
        if let Some(value) = value {
            context.line(format!("{:<13}{value}", format!("{label}:")))?;
        }
    }
    for variable in &manifest.variables {
        let need = if variable.required {
            "required"
        } else {
            "optional"
        };
        context.line(format!(
            "Variable:    {} ({need}) {}",
            variable.name, variable.description
        ))?;
    }
    Ok(())
}
