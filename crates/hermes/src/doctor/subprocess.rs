//! What children see: HOME, the keychain, activation markers, an own install, the shell.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use hermes_config::Config;
use hermes_home::profiles::list;
use hermes_proc::env::{holds_reference_distribution, is_activation_marker};
use hermes_proc::home::{KEYCHAIN, LinkState, home_link_state, is_home_entry};
use hermes_proc::{ChildSpec, find_on_path};
use hermes_terminal::environment::EnvironmentBuilder;

use super::row::{Fix, Report};
use super::skill_needs::skills_wanting;
use crate::context::Context;

/// A shell that does not tell its version by then is not one we can use.
const SHELL_TIMEOUT: Duration = Duration::from_secs(5);
/// A unit file of ours is a page of text.
const UNIT_LIMIT: u64 = 256 * 1024;

pub(super) fn check(context: &Context, all_profiles: bool, report: &mut Report) {
    report.section = "Subprocess environment";
    let builder = context.environment();
    if all_profiles {
        // A profile list that cannot be read is told by the section on profiles.
        let found = list(&context.location, context.current.as_ref());
        for profile in found.map(|found| found.profiles).unwrap_or_default() {
            let its = context.in_home(&profile.path);
            Subject {
                context,
                label: format!("{}: ", profile.name),
                home: &profile.path,
                config: its.config(),
                builder: &its.environment(),
            }
            .check(report);
        }
    } else {
        Subject {
            context,
            label: String::new(),
            home: &context.location.home,
            config: context.config(),
            builder: &builder,
        }
        .check(report);
    }
    markers(context, &builder, report);
    units(context, &builder, report);
    damaged_installs(context, report);
    shell(&builder, report);
}

/// One profile.
struct Subject<'a> {
    context: &'a Context,
    /// What texts about it begin with.
    label: String,
    home: &'a Path,
    config: &'a Config,
    builder: &'a EnvironmentBuilder,
}

impl Subject<'_> {
    fn check(&self, report: &mut Report) {
        let label = &self.label;
        self.check_home(report);
        if self.builder.policy().child_home.is_profile_home() {
            self.check_keychain(report);
            for entry in self.builder.link_entries() {
                self.check_link(entry, report);
            }
            self.check_claude(report);
        }
        for warning in self.builder.warnings() {
            // Settings that do not fit have their own rows already.
            if warning.starts_with("env passthrough") {
                report
                    .warning("passthrough", format!("{label}{warning}"))
                    .hint("use terminal.trusted_env_passthrough to pass a credential to shells");
            }
        }
    }

    fn check_home(&self, report: &mut Report) {
        let label = &self.label;
        let home = &self.builder.policy().child_home;
        let machine = if home.is_container {
            "container"
        } else {
            "host"
        };
        let shown = match home.effective() {
            Some(path) => self.context.display(path),
            None => "not set".to_owned(),
        };
        let mode = home.mode;
        let missing = home.is_profile_home() && !home.profile_home.exists();
        let note = if missing {
            "; made by the first command"
        } else {
            ""
        };
        let mode = mode.name();
        let text = format!("{label}Child HOME: {shown} (mode {mode}, {machine}{note})");
        if home.is_profile_home() && !missing && !home.is_writable() {
            report
                .problem("home_mode", format!("{text} is not writable"))
                .hint("check its owner and mode, or set terminal.home_mode to real");
        } else {
            report.ok("home_mode", text);
        }
    }

    fn check_keychain(&self, report: &mut Report) {
        let label = &self.label;
        let home = &self.builder.policy().child_home;
        let source = self.context.display(&home.real_home().join(KEYCHAIN));
        let text = match home_link_state(home, Path::new(KEYCHAIN)) {
            LinkState::NoSource => return,
            _ if !self.builder.links_keychain() => {
                format!("keychain not linked: terminal.profile_home_keychain is false ({source})")
            }
            LinkState::Linked => format!("keychain linked to {source}"),
            LinkState::Occupied => "keychain directory belongs to the profile itself".to_owned(),
            LinkState::Missing | LinkState::Stale => {
                let text = format!("the profile's home hides the login keychain ({source})");
                return report
                    .warning("keychain", format!("{label}{text}"))
                    .hint("programs you are logged in to will say \"not logged in\"")
                    .hint("`hermes doctor --fix` links it; so will the agent's next command")
                    .fix(Fix::MakeLinks(self.home.to_owned()));
            }
        };
        report.ok("keychain", format!("{label}{text}"));
    }

    fn check_link(&self, entry: &Path, report: &mut Report) {
        let (label, shown) = (&self.label, entry.display());
        let state = home_link_state(&self.builder.policy().child_home, entry);
        let problem = match state {
            _ if !is_home_entry(entry) => {
                format!("terminal.profile_home_links: '{shown}' is skipped")
            }
            LinkState::Linked | LinkState::Occupied => return,
            LinkState::NoSource => {
                format!("terminal.profile_home_links: the real home has no {shown}")
            }
            LinkState::Missing | LinkState::Stale => {
                format!("the profile's home is missing its link {shown}")
            }
        };
        let row = report.warning("home_link", format!("{label}{problem}"));
        if !is_home_entry(entry) {
            row.hint("entries must be relative paths without `..`");
        } else if state != LinkState::NoSource {
            row.fix(Fix::MakeLinks(self.home.to_owned()));
        }
    }

    /// A skill that drives `claude` fails in a home without its login.
    fn check_claude(&self, report: &mut Report) {
        let label = &self.label;
        let disabled = self.config.texts("skills.disabled");
        let skills = skills_wanting(self.home, "claude", &disabled).join(", ");
        let home = &self.builder.policy().child_home.profile_home;
        let reachable = |entry: &str| hermes_fs::metadata(&home.join(entry)).is_ok();
        if skills.is_empty() || reachable(KEYCHAIN) || reachable(".claude") {
            return;
        }
        let text = format!("claude has no login in the profile's home; used by: {skills}");
        report
            .warning("claude_worker", format!("{label}{text}"))
            .hint("add .claude and .claude.json to terminal.profile_home_links")
            .hint("or set terminal.home_mode to real");
    }
}

fn markers(context: &Context, builder: &EnvironmentBuilder, report: &mut Report) {
    let own = &builder.policy().own_install;
    let is_marker = |name: &OsStr| name.to_str().is_some_and(is_activation_marker);
    let inherited = context.env.iter().filter(|(name, _)| is_marker(name));
    let inherited: Vec<String> = inherited
        .map(|(name, value)| {
            let note = if own.contains(Path::new(value)) {
                " (points into Hermes' own install)"
            } else {
                ""
            };
            format!("{}{note}", name.display())
        })
        .collect();
    if inherited.is_empty() {
        report.ok("markers", "no activation markers inherited");
    } else {
        let text = format!("inherited activation markers: {}", inherited.join(", "));
        report.warning("markers", text).hint(
            "child processes do not see them; list a name in terminal.env_passthrough to let \
                it through",
        );
    }
}

/// Units of the reference carry its environment into everything a gateway starts.
fn units(context: &Context, builder: &EnvironmentBuilder, report: &mut Report) {
    let real_home = builder.policy().child_home.real_home();
    let root = &context.system.file_system_root;
    let directories = [
        real_home.join(".config/systemd/user"),
        real_home.join("Library/LaunchAgents"),
        root.join("etc/systemd/system"),
        root.join("Library/LaunchDaemons"),
    ];
    for directory in directories {
        // Absent on most machines.
        for entry in hermes_fs::read_dir(&directory).unwrap_or_default() {
            let is_ours = entry.name.to_string_lossy().contains("hermes");
            let sets_it = || {
                let bytes = hermes_fs::read_capped(&entry.path, UNIT_LIMIT).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains("VIRTUAL_ENV")
            };
            if is_ours && entry.kind == hermes_fs::Kind::File && sets_it() {
                let path = context.display(&entry.path);
                let hint = if entry.name == "hermes.service" {
                    "an early installation left it; `hermes gateway migrate-legacy` removes it"
                } else {
                    "it was written by the Python runtime; `hermes gateway install` replaces it"
                };
                report
                    .warning("unit", format!("{path} sets VIRTUAL_ENV"))
                    .hint(hint);
            }
        }
    }
}

/// An environment of the Python runtime without the runtime: the mark `uv sync` leaves when it
/// takes an inherited `VIRTUAL_ENV` for the project's own.
fn damaged_installs(context: &Context, report: &mut Report) {
    let agent = context.location.root.join("hermes-agent");
    let opt = context.system.file_system_root.join("opt/hermes");
    for (venv, source) in [
        (agent.join("venv"), &agent),
        (agent.join(".venv"), &agent),
        (opt.join(".venv"), &opt),
    ] {
        if venv.join("pyvenv.cfg").is_file() && !holds_reference_distribution(&venv) {
            let shown = context.display(&venv);
            report
                .problem(
                    "own_install",
                    format!("{shown} no longer contains the package hermes_agent"),
                )
                .hint("another project's installer replaced its packages")
                .hint(format!(
                    "to restore: VIRTUAL_ENV={} uv pip install -e {}",
                    venv.display(),
                    source.display()
                ));
        }
    }
}

fn shell(builder: &EnvironmentBuilder, report: &mut Report) {
    let plan = builder.helper_plan();
    let path = plan.get("PATH").map(OsStr::to_owned);
    let find = |name: &str| find_on_path(OsStr::new(name), path.as_deref());
    let Some(program) = find("bash") else {
        match find("sh") {
            Some(sh) => report
                .warning(
                    "bash",
                    format!("bash was not found; using {} instead", sh.display()),
                )
                .hint("only bash keeps functions and aliases from call to call"),
            None => report
                .problem("bash", "neither bash nor sh was found")
                .hint("install bash"),
        };
        return;
    };
    let child = ChildSpec::new(&program, ["--version"], plan);
    let program = program.display();
    let problem = match child.run_captured(SHELL_TIMEOUT, 4096) {
        Ok(done) if done.status.success() => {
            let output = String::from_utf8_lossy(&done.stdout);
            let version = output
                .split_whitespace()
                .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
            let version = version.map_or_else(String::new, |version| format!(" {version}"));
            return report.ok("bash", format!("bash{version} ({program})"));
        }
        Ok(done) => format!("{program} ended with {}", done.status),
        Err(error) => error.to_string(),
    };
    report.problem("bash", problem).hint("reinstall bash");
}
