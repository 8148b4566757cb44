//! The command of its own that a new profile gets.

use std::path::PathBuf;

use hermes_config::vars;
use hermes_home::{Alias, AliasRules, Aliases, ProfileName};

use crate::context::Context;
use crate::error::{CommandError, Result};

/// Commands of the reference that no alias may take, whether we have them yet or not.
const REFERENCE_COMMANDS: &str = "chat model moa fallback secrets migrate gateway proxy lsp setup \
    postinstall whatsapp whatsapp-cloud slack send login logout auth cron webhook portal kanban \
    project hooks security debug checkpoints console pairing skills bundles plugins curator pets \
    journey learning memory-graph memory tools computer-use mcp sessions insights claw update \
    uninstall acp dashboard serve desktop gui prompt-size honcho exec sandbox demo";

/// The running program, as wrappers name it.
pub(super) fn program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|error| CommandError::environment(format!("could not find this program: {error}")))
}

/// Calls `action` with what an alias must not collide with.
pub(super) fn with_rules<T>(context: &Context, action: impl FnOnce(AliasRules<'_>) -> T) -> T {
    let tree = (context.command_tree)();
    let own = tree.get_subcommands().map(clap::Command::get_name);
    let names: Vec<&str> = own.chain(REFERENCE_COMMANDS.split_whitespace()).collect();
    action(AliasRules {
        subcommands: &names,
        path: context.env.os(&vars::PATH),
    })
}

/// Writes the wrapper `alias` for a profile.
pub(super) fn write(context: &Context, alias: &str, profile: &ProfileName) -> Result<Alias> {
    let aliases = Aliases::of(&context.location);
    let name = with_rules(context, |rules| aliases.check(alias, rules))?;
    Ok(aliases.write(&name, profile, &program()?)?)
}

/// For a profile just made: the wrapper of its name, or a warning why there is none.
pub(super) fn write_or_warn(context: &Context, profile: &ProfileName) -> Result<()> {
    let alias = Aliases::of(&context.location);
    let written = with_rules(context, |rules| alias.check(profile.as_str(), rules))
        .and_then(|name| alias.write(&name, profile, &program().unwrap_or_default()));
    match written {
        Ok(written) => {
            context.line(format!("  Command: {} → hermes -p {profile}", written.name))?;
            say_how_to_find(context)
        }
        Err(error) => {
            context.warn(format!(
                "could not create a command for the profile: {error}"
            ))?;
            context.hint(format!(
                "choose one with: hermes profile alias {profile} --name NAME"
            ))
        }
    }
}

/// The export line, if the shell would not find the wrapper.
pub(super) fn say_how_to_find(context: &Context) -> Result<()> {
    let aliases = Aliases::of(&context.location);
    if !aliases.is_on_path(context.env.os(&vars::PATH)) {
        context.note(format!(
            "note: {} is not on PATH; add it with: export PATH=\"{}:$PATH\"",
            context.display(aliases.directory()),
            aliases.directory().display()
        ))?;
    }
    Ok(())
}
