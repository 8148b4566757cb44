//! `hermes profile import`.

use std::path::PathBuf;

use hermes_home::ProfileName;
use hermes_home::archive::{ImportLimits, ImportRequest, unpack_profile};

use super::alias_step;
use crate::commands::gateway::slot;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The archive
    file: PathBuf,
    /// Name of the profile (default: the one in the archive)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("importing a profile")?;
    let wanted = args
        .name
        .as_deref()
        .map(ProfileName::parse_new)
        .transpose()?;
    let profiles_dir = context.location.profiles_dir();
    let request = ImportRequest {
        archive: &args.file,
        profiles_dir: &profiles_dir,
        limits: ImportLimits::default(),
    };
    let unpacked = unpack_profile(&request)?;
    let name = match wanted {
        Some(name) => name,
        None => ProfileName::parse_new(&unpacked.top)
            .map_err(|error| CommandError::from(error).hint("choose a name with --name"))?,
    };
    let home = context.location.profile_home(&name);
    if hermes_fs::exists_no_follow(&home) {
        return Err(hermes_home::Error::Exists { name, path: home }.into());
    }
    context.home_policy().hand_over_tree(unpacked.path())?;
    let home = unpacked.publish(&name)?;
    context.start_logging();
    tracing::info!(profile = name.as_str(), "profile imported");
    context.line(format!(
        "✓ Imported profile '{name}' at {}",
        context.display(&home)
    ))?;
    slot::register_or_warn(context, &name)?;
    alias_step::write_or_warn(context, &name)?;
    Ok(())
}
