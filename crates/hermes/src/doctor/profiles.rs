//! All profiles of the installation, and the commands that select them.

use std::collections::BTreeMap;

use hermes_config::dotenv::DotEnv;
use hermes_home::Aliases;
use hermes_home::profiles::{ProfileSummary, existing, list};

use super::row::{Fix, Row};
use crate::context::Context;

const SECTION: &str = "Profiles";

pub(super) fn check(context: &Context, rows: &mut Vec<Row>) {
    let profiles = match list(&context.location, context.current.as_ref()) {
        Ok(found) => found.profiles,
        Err(error) => {
            rows.push(Row::problem(SECTION, "profiles", error.to_string()));
            return;
        }
    };
    let named: Vec<&ProfileSummary> = profiles.iter().filter(|p| !p.name.is_default()).collect();
    rows.push(Row::ok(
        SECTION,
        "profiles",
        format!("{} besides the default", named.len()),
    ));
    for profile in &named {
        rows.push(describe(profile));
    }
    dangling_aliases(context, rows);
    shared_tokens(&profiles, rows);
    shared_ports(&profiles, rows);
}

fn describe(profile: &ProfileSummary) -> Row {
    let mut lacks = Vec::new();
    if !profile.path.join("config.yaml").is_file() {
        lacks.push("no config.yaml");
    }
    if !profile.has_env {
        lacks.push("no .env");
    }
    if profile.alias.is_none() {
        lacks.push("no alias");
    }
    let name = &profile.name;
    if lacks.is_empty() {
        let model = profile.model.as_deref().unwrap_or("no model");
        Row::ok(SECTION, "profile", format!("{name}: {model}"))
    } else {
        Row::warning(SECTION, "profile", format!("{name}: {}", lacks.join(", ")))
    }
}

fn dangling_aliases(context: &Context, rows: &mut Vec<Row>) {
    for alias in Aliases::of(&context.location).scan() {
        if existing(&context.location, &alias.profile).is_err() {
            rows.push(
                Row::warning(
                    SECTION,
                    "dangling_alias",
                    format!(
                        "the command {} selects '{}', which is gone",
                        context.display(&alias.path),
                        alias.profile
                    ),
                )
                .fix(Fix::RemoveAlias(alias.name)),
            );
        }
    }
}

/// Two gateways with one bot token throw each other out. Compared here, never shown.
fn shared_tokens(profiles: &[ProfileSummary], rows: &mut Vec<Row>) {
    let mut holders: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for profile in profiles {
        let env = DotEnv::load(&profile.path.join(".env")).unwrap_or_default();
        for name in env.names().filter(|name| name.ends_with("_BOT_TOKEN")) {
            if let Some(token) = env.get(name).filter(|token| !token.is_empty()) {
                let holder = holders
                    .entry((name.to_owned(), token.to_owned()))
                    .or_default();
                holder.push(profile.name.to_string());
            }
        }
    }
    for ((name, _), profiles) in holders.iter().filter(|(_, profiles)| profiles.len() > 1) {
        rows.push(
            Row::problem(
                SECTION,
                "shared_token",
                format!("{name} is the same in {}", profiles.join(", ")),
            )
            .hint("give each profile a bot of its own"),
        );
    }
}

fn shared_ports(profiles: &[ProfileSummary], rows: &mut Vec<Row>) {
    let mut holders: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for profile in profiles {
        if let Some(port) = profile.gateway_port {
            holders
                .entry(port)
                .or_default()
                .push(profile.name.to_string());
        }
    }
    for (port, names) in holders.iter().filter(|(_, names)| names.len() > 1) {
        rows.push(
            Row::problem(
                SECTION,
                "shared_port",
                format!("port {port} is assigned to {}", names.join(", ")),
            )
            .hint("remove gateway_port from profile.yaml of all but one"),
        );
    }
}
