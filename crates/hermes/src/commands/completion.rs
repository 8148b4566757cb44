//! `hermes completion`: the command tree for a shell, and names that only this machine knows.

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

/// The function that the generated script defines, as its first line.
const FUNCTION: &str = "_hermes() {";
/// What that function is called once profiles, cards and settings are asked for first.
const STATIC_FUNCTION: &str = "_hermes_static() {";

const BASH: &str = r#"_hermes() {
    local IFS=$'\n'
    COMPREPLY=($(hermes internal complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    unset IFS
    [ ${#COMPREPLY[@]} -gt 0 ] || _hermes_static "$@"
}

"#;

const ZSH: &str = r#"_hermes() {
    local -a found
    found=("${(@f)$(hermes internal complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -a found
    else
        _hermes_static "$@"
    fi
}

"#;

const FISH: &str = "complete -c hermes -f -a '(hermes internal complete -- (commandline -opc)[2..-1] \
(commandline -ct) 2>/dev/null)'\n";

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut (context.command_tree)(),
        "hermes",
        &mut script,
    );
    let script = String::from_utf8_lossy(&script);
    let before = |function: &str| {
        let renamed = script.replacen(FUNCTION, STATIC_FUNCTION, 1);
        renamed.replacen(STATIC_FUNCTION, &format!("{function}{STATIC_FUNCTION}"), 1)
    };
    context.out(&match args.shell {
        Shell::Bash => before(BASH),
        Shell::Zsh => before(ZSH),
        _ => format!("{script}{FISH}"),
    })
}
