//! `hermes profile use`.

use hermes_home::ProfileName;
use hermes_home::profiles::use_profile;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile; "default" for the one at the root
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("switching the active profile")?;
    let name = ProfileName::parse(&args.name)?;
    use_profile(&context.location, &name)?;
    let said = if name.is_default() {
        format!(
            "Switched to: default ({})",
            context.display(&context.location.root)
        )
    } else {
        format!("Switched to: {name}")
    };
    context.line(said)
}
