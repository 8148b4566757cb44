//! `hermes completion`: the command tree for a shell.

use clap_complete::Shell;

use super::named;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell to write the script for
    #[arg(value_parser = named([("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)]))]
    shell: Shell,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut (context.command_tree)(),
        "hermes",
        &mut script,
    );
    context.out(&String::from_utf8_lossy(&script))
}
