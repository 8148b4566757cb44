//! `hermes completion`: the command tree for a shell.

use clap_complete::Shell;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell to write the script for
    #[arg(value_enum)]
    shell: Supported,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Supported {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let shell = match args.shell {
        Supported::Bash => Shell::Bash,
        Supported::Zsh => Shell::Zsh,
        Supported::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut (context.command_tree)(), "hermes", &mut script);
    context.out(&String::from_utf8_lossy(&script))
}
