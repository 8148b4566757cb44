//! `hermes profile show`, and bare `hermes profile` for the current one.

use hermes_home::ProfileName;
use hermes_home::profiles::{ProfileSummary, show};

use super::running;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = ProfileName::parse(&args.name)?;
    let profile = show(&context.location, &name, context.current.as_ref())?;
    if args.json {
        return context.json(&profile.to_json());
    }
    let exists = |there: bool| if there { "exists" } else { "not configured" };
    let mut rows = vec![
        ("Profile", profile.name.to_string()),
        ("Path", profile.path.display().to_string()),
    ];
    rows.extend(model(&profile).map(|model| ("Model", model)));
    rows.push(("Gateway", gateway(&profile)));
    rows.push(("Skills", profile.skill_count().to_string()));
    rows.push((".env", exists(profile.has_env).to_owned()));
    rows.push(("SOUL.md", exists(profile.has_soul).to_owned()));
    if let Some(distribution) = &profile.distribution {
        let version = distribution
            .version
            .as_deref()
            .map(|v| format!("@{v}"))
            .unwrap_or_default();
        rows.push(("Distribution", format!("{}{version}", distribution.name)));
    }
    rows.extend(alias(&profile).map(|alias| ("Alias", alias)));
    if !profile.description.is_empty() {
        rows.push(("Description", profile.description));
    }
    print(context, &rows)
}

pub(super) fn current(context: &Context) -> Result<()> {
    let Some(name) = &context.current else {
        return print(
            context,
            &[
                ("Active profile", "custom".to_owned()),
                ("Path", context.display(&context.location.home)),
            ],
        );
    };
    let profile = show(&context.location, name, Some(name))?;
    let mut rows = vec![
        ("Active profile", profile.name.to_string()),
        ("Path", context.display(&profile.path)),
    ];
    rows.extend(model(&profile).map(|model| ("Model", model)));
    rows.push(("Gateway", gateway(&profile)));
    rows.push(("Skills", format!("{} installed", profile.skill_count())));
    rows.extend(alias(&profile).map(|alias| ("Alias", alias)));
    print(context, &rows)
}

fn print(context: &Context, rows: &[(&str, String)]) -> Result<()> {
    let width = rows
        .iter()
        .map(|(label, _)| label.len() + 1)
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (label, value) in rows {
        text.push_str(&format!("{:<width$} {value}\n", format!("{label}:")));
    }
    context.out(&text)
}

fn model(profile: &ProfileSummary) -> Option<String> {
    let model = profile.model.as_ref()?;
    Some(match &profile.provider {
        Some(provider) => format!("{model} ({provider})"),
        None => model.clone(),
    })
}

fn gateway(profile: &ProfileSummary) -> String {
    match profile.gateway_pid {
        Some(pid) => format!("running (PID {pid})"),
        None => running(false).to_owned(),
    }
}

fn alias(profile: &ProfileSummary) -> Option<String> {
    let alias = profile.alias.as_ref()?;
    Some(format!("{} → hermes -p {}", alias.name, profile.name))
}
