//! `hermes skills config`: which skills are on.

use std::collections::BTreeSet;

use hermes_config::settings::{SetRequest, set};
use hermes_runtime::own_skills;
use hermes_skills::Absence;
use serde_json::Value;

use super::list;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Switch this skill on
    #[arg(long, value_name = "NAME")]
    enable: Vec<String>,
    /// Switch this skill off
    #[arg(long, value_name = "NAME")]
    disable: Vec<String>,
    /// Only on this platform, such as telegram
    #[arg(long)]
    platform: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.enable.is_empty() && args.disable.is_empty() {
        list::run(&list::Args::default(), context)?;
        return context.hint("--disable NAME switches one off, --enable NAME on again");
    }
    context.refuse_if_managed("config.yaml")?;
    let platform = args.platform.as_deref();
    if platform.is_some_and(|name| name.is_empty() || name.contains(['.', ' '])) {
        return Err(CommandError::usage("no such platform"));
    }
    let key = match platform {
        Some(platform) => format!("skills.platform_disabled.{platform}"),
        None => "skills.disabled".to_owned(),
    };
    let skills = own_skills(context);
    for name in args.enable.iter().chain(&args.disable) {
        if matches!(
            skills.find(name),
            Err(Absence::Unknown | Absence::UnsafeName)
        ) {
            return Err(
                CommandError::user(format!("no such skill: '{}'", one_line(name, 64)))
                    .hint("`hermes skills list` shows them"),
            );
        }
    }
    let known = context
        .config()
        .get(&key)
        .and_then(Value::as_array)
        .cloned();
    let known = known.unwrap_or_default();
    let known = known.iter().filter_map(Value::as_str).map(str::to_owned);
    let mut disabled: BTreeSet<String> = known.collect();
    disabled.extend(args.disable.iter().cloned());
    for name in &args.enable {
        disabled.remove(name);
    }
    let names: Vec<String> = disabled.into_iter().collect();
    let value = serde_json::to_string(&names).unwrap_or_default();
    context.ensure_home()?;
    let request = SetRequest {
        key: &key,
        value: &value,
        force: false,
    };
    set(&context.sources_to_write(), &request)?;
    for name in &args.disable {
        context.line(format!("✓ {} is off", one_line(name, 64)))?;
    }
    for name in &args.enable {
        context.line(format!("✓ {} is on", one_line(name, 64)))?;
    }
    Ok(())
}
