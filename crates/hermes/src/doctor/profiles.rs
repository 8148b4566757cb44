//! All profiles of the installation, and the commands that select them.

use std::collections::BTreeMap;

use hermes_config::dotenv::DotEnv;
use hermes_home::Aliases;
use hermes_home::profiles::{ProfileSummary, existing, list};

use super::row::{Fix, Report};
use crate::context::Context;

pub(super) fn check(context: &Context, report: &mut Report) {
    report.section = "Profiles";
    let profiles = match list(&context.location, context.current.as_ref()) {
        Ok(found) => found.profiles,
        Err(error) => {
            report.problem("profiles", error.to_string());
            return;
        }
    };
    let named: Vec<&ProfileSummary> = profiles.iter().filter(|p| !p.name.is_default()).collect();
    report.ok("profiles", format!("{} besides the default", named.len()));
    for profile in named {
        describe(profile, report);
    }
    for alias in Aliases::of(&context.location).scan() {
        if existing(&context.location, &alias.profile).is_err() {
            let (path, profile) = (context.display(&alias.path), &alias.profile);
            let text =
                format!("the command {path} selects profile '{profile}', which no longer exists");
            report
                .warning("dangling_alias", text)
                .fix(Fix::RemoveAlias(alias.name));
        }
    }
    shared_tokens(&profiles, report);
    shared_ports(&profiles, report);
}

fn describe(profile: &ProfileSummary, report: &mut Report) {
    let lacks = [
        (!profile.path.join("config.yaml").is_file()).then_some("no config.yaml"),
        (!profile.has_env).then_some("no .env"),
        profile.alias.is_none().then_some("no alias"),
    ];
    let lacks: Vec<&str> = lacks.into_iter().flatten().collect();
    let name = &profile.name;
    if lacks.is_empty() {
        let model = profile.model.as_deref().unwrap_or("no model");
        report.ok("profile", format!("{name}: {model}"));
    } else {
        report.warning("profile", format!("{name}: {}", lacks.join(", ")));
    }
}

/// Two gateways with one bot token throw each other out. Compared here, never shown.
fn shared_tokens(profiles: &[ProfileSummary], report: &mut Report) {
    let mut holders: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for profile in profiles {
        let env = DotEnv::load(&profile.path.join(".env")).unwrap_or_default();
        for name in env.names().filter(|name| name.ends_with("_BOT_TOKEN")) {
            if let Some(token) = env.get(name).filter(|token| !token.is_empty()) {
                let holder = holders.entry((name.to_owned(), token.to_owned()));
                holder.or_default().push(profile.name.to_string());
            }
        }
    }
    for ((name, _), profiles) in holders.iter().filter(|(_, profiles)| profiles.len() > 1) {
        report
            .problem(
                "shared_token",
                format!("{name} has the same value in {}", profiles.join(", ")),
            )
            .hint("give each profile its own bot");
    }
}

fn shared_ports(profiles: &[ProfileSummary], report: &mut Report) {
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
        report
            .problem(
                "shared_port",
                format!("port {port} is assigned to {}", names.join(", ")),
            )
            .hint("remove gateway_port from profile.yaml in all but one of them");
    }
}
