//! `hermes tools enable` and `disable`: toolsets of a platform, in `platform_toolsets`.
//!
//! The list that is written names basic sets only, so that what is on can be read from it.

use std::collections::BTreeSet;

use hermes_config::settings::{SetRequest, set};
use hermes_tools::{ToolSelection, basic_toolsets};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names of toolsets
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Platform to switch them for: cli, telegram, discord and others
    #[arg(long, value_name = "PLATFORM", default_value = "cli")]
    platform: String,
}

/// Which way to switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

pub(super) fn enable(args: &Args, context: &Context) -> Result<()> {
    run(args, context, Switch::On)
}

pub(super) fn disable(args: &Args, context: &Context) -> Result<()> {
    run(args, context, Switch::Off)
}

fn run(args: &Args, context: &Context, switch: Switch) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.refuse_to_agents("switching toolsets")?;
    let platform = platform(&args.platform)?;
    let chosen = chosen(&args.names)?;
    let current = ToolSelection {
        // What is off everywhere stays out of the list of one platform as it was.
        disabled: Vec::new(),
        ..ToolSelection::resolve(context.config(), &context.env, platform, None)
    };
    let before = current.expanded();
    let after: BTreeSet<String> = match switch {
        Switch::On => before.union(&chosen).cloned().collect(),
        Switch::Off => before.difference(&chosen).cloned().collect(),
    };
    let word = match switch {
        Switch::On => "on",
        Switch::Off => "off",
    };
    if after == before {
        context.line(format!("Already {word} for {platform}."))?;
    } else {
        context.ensure_home()?;
        let names: Vec<&str> = after.iter().map(String::as_str).collect();
        let outcome = set(
            &context.sources_to_write(),
            &SetRequest {
                key: &format!("platform_toolsets.{platform}"),
                value: &format!("[{}]", names.join(", ")),
                force: true,
            },
        )?;
        context.start_logging();
        tracing::info!(key = outcome.key, "toolsets switched {word}");
        let switched: Vec<&str> = before
            .symmetric_difference(&after)
            .map(String::as_str)
            .collect();
        context.line(format!(
            "Switched {word} for {platform}: {}. Takes effect in new conversations.",
            switched.join(", ")
        ))?;
    }
    warn_if_off_everywhere(context, &chosen, switch)
}

/// A platform is a word of a key, so it must be one.
fn platform(text: &str) -> Result<&str> {
    let plain =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_-".contains(char);
    if text.is_empty() || !text.chars().all(plain) {
        return Err(CommandError::usage(format!(
            "'{}' is not a valid platform name",
            one_line(text, 60)
        )));
    }
    Ok(text)
}

/// The basic sets that the names stand for; all names must be known.
fn chosen(names: &[String]) -> Result<BTreeSet<String>> {
    let mut chosen = BTreeSet::new();
    for name in names {
        let meant = ToolSelection {
            names: vec![name.clone()],
            ..ToolSelection::default()
        }
        .expanded();
        let known: Vec<&str> = basic_toolsets().collect();
        if !meant.iter().all(|name| known.contains(&name.as_str())) {
            return Err(CommandError::user(format!(
                "there is no toolset '{}' that can be switched on or off",
                one_line(name, 60)
            ))
            .hint(format!("known toolsets: {}", known.join(", "))));
        }
        chosen.extend(meant);
    }
    Ok(chosen)
}

fn warn_if_off_everywhere(
    context: &Context,
    chosen: &BTreeSet<String>,
    switch: Switch,
) -> Result<()> {
    let off = context.config().texts("agent.disabled_toolsets");
    let names = chosen.iter().map(String::as_str);
    let held: Vec<&str> = names.filter(|name| off.contains(name)).collect();
    if switch == Switch::Off || held.is_empty() {
        return Ok(());
    }
    let held = held.join(", ");
    context.warn(format!(
        "agent.disabled_toolsets keeps {held} off everywhere"
    ))?;
    context.hint("remove the names from that list with `hermes config edit`")
}
