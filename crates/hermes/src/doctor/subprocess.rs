//! What children see: HOME, the keychain, activation markers, an own install, the shell.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::Config;
use hermes_home::profiles::list;
use hermes_proc::env::{holds_reference_distribution, is_activation_marker};
use hermes_proc::home::{HomeMode, KEYCHAIN, LinkState, home_link_state, is_home_entry};
use hermes_proc::{ChildSpec, find_on_path};
use hermes_terminal::environment::EnvironmentBuilder;

use super::row::{Fix, Row};
use super::skill_needs::skills_wanting;
use crate::context::Context;

const SECTION: &str = "Subprocess environment";

/// A shell that does not tell its version by then is not one we can use.
const SHELL_PATIENCE: Duration = Duration::from_secs(5);
/// A unit file of ours is a page of text.
const UNIT_LIMIT: u64 = 256 * 1024;

pub(super) fn check(context: &Context, all_profiles: bool, rows: &mut Vec<Row>) {
    if all_profiles {
        // A profile list that cannot be read is told by the section on profiles.
        let found = list(&context.location, context.current.as_ref());
        for profile in found.map(|found| found.profiles).unwrap_or_default() {
            let (config, builder) = context.environment_of(&profile.path);
            Subject {
                context,
                label: Some(profile.name.to_string()),
                home: &profile.path,
                config: &config,
                builder: &builder,
            }
            .check(rows);
        }
    } else {
        Subject {
            context,
            label: None,
            home: &context.location.home,
            config: context.config(),
            builder: &context.environment(),
        }
        .check(rows);
    }
    let builder = context.environment();
    markers(context, &builder, rows);
    units(context, &builder, rows);
    damaged_installs(context, rows);
    rows.push(shell(&builder));
}

/// One profile.
struct Subject<'a> {
    context: &'a Context,
    label: Option<String>,
    home: &'a Path,
    config: &'a Config,
    builder: &'a EnvironmentBuilder,
}

impl Subject<'_> {
    fn check(&self, rows: &mut Vec<Row>) {
        rows.push(self.home_row());
        if self.builder.policy().child_home.is_profile_home() {
            rows.extend(self.keychain_row());
            rows.extend(self.link_rows());
            rows.extend(self.claude_row());
        }
        for warning in self.builder.warnings() {
            // Settings that do not fit have their own rows already.
            if warning.starts_with("env passthrough") {
                rows.push(
                    Row::warning(SECTION, "passthrough", self.labelled(warning))
                        .hint("terminal.trusted_env_passthrough entrusts a credential to shells"),
                );
            }
        }
    }

    fn labelled(&self, text: &str) -> String {
        match &self.label {
            Some(label) => format!("{label}: {text}"),
            None => text.to_owned(),
        }
    }

    fn home_row(&self) -> Row {
        let home = &self.builder.policy().child_home;
        let place = if home.is_container {
            "container"
        } else {
            "host"
        };
        let shown = match home.effective() {
            Some(path) => self.context.display(path),
            None => "not set".to_owned(),
        };
        let mode = home.mode;
        let missing = mode == HomeMode::Profile && !home.is_profile_home();
        let note = if missing {
            "; the profile has no home of its own"
        } else {
            ""
        };
        let text = format!("Child HOME: {shown} (mode {}, {place}{note})", mode.name());
        if home.is_profile_home() && !home.is_writable() {
            return Row::problem(
                SECTION,
                "home_mode",
                self.labelled(&format!("{text} cannot be written")),
            )
            .hint("check its owner and mode, or set terminal.home_mode to real");
        }
        Row::ok(SECTION, "home_mode", self.labelled(&text))
    }

    fn keychain_row(&self) -> Option<Row> {
        let home = &self.builder.policy().child_home;
        let source = self.context.display(&home.real_home().join(KEYCHAIN));
        let state = home_link_state(home, Path::new(KEYCHAIN));
        let ok = |text: String| Some(Row::ok(SECTION, "keychain", self.labelled(&text)));
        match state {
            LinkState::NoSource => None,
            _ if !self.builder.links_keychain() => ok(format!(
                "keychain not linked: terminal.profile_home_keychain is false ({source})"
            )),
            LinkState::Linked => ok(format!("keychain linked to {source}")),
            LinkState::Occupied => ok("keychain directory is the profile's own".to_owned()),
            LinkState::Missing | LinkState::Stale => Some(
                Row::warning(
                    SECTION,
                    "keychain",
                    self.labelled(&format!(
                        "the profile's home hides the login keychain ({source})"
                    )),
                )
                .hint("programs you are logged in to will say \"not logged in\"")
                .hint("`hermes doctor --fix` links it; so does the next command of the agent")
                .fix(Fix::MakeLinks(self.home.to_owned())),
            ),
        }
    }

    fn link_rows(&self) -> Vec<Row> {
        let home = &self.builder.policy().child_home;
        let entries = self.builder.link_entries().iter();
        let row = |entry: &PathBuf| {
            let shown = entry.display();
            let warning = |text: String| Row::warning(SECTION, "home_link", self.labelled(&text));
            if !is_home_entry(entry) {
                return Some(
                    warning(format!("terminal.profile_home_links: '{shown}' is skipped"))
                        .hint("entries are relative paths without `..`"),
                );
            }
            match home_link_state(home, entry) {
                LinkState::Linked | LinkState::Occupied => None,
                LinkState::NoSource => Some(warning(format!(
                    "terminal.profile_home_links: the real home has no {shown}"
                ))),
                LinkState::Missing | LinkState::Stale => Some(
                    warning(format!("the profile's home lacks its link {shown}"))
                        .fix(Fix::MakeLinks(self.home.to_owned())),
                ),
            }
        };
        entries.filter_map(row).collect()
    }

    /// A skill that drives `claude` fails in a home without its login.
    fn claude_row(&self) -> Option<Row> {
        let disabled = self.config.texts("skills.disabled");
        let skills = skills_wanting(self.home, "claude", &disabled);
        let home = &self.builder.policy().child_home.profile_home;
        let reachable = |entry: &str| hermes_fs::metadata(&home.join(entry)).is_ok();
        if skills.is_empty() || reachable(KEYCHAIN) || reachable(".claude") {
            return None;
        }
        Some(
            Row::warning(
                SECTION,
                "claude_worker",
                self.labelled(&format!(
                    "claude has no login in the profile's home; used by: {}",
                    skills.join(", ")
                )),
            )
            .hint("add .claude and .claude.json to terminal.profile_home_links")
            .hint("or set terminal.home_mode to real"),
        )
    }
}

fn markers(context: &Context, builder: &EnvironmentBuilder, rows: &mut Vec<Row>) {
    let own = &builder.policy().own_install;
    let inherited: Vec<String> = context
        .env
        .iter()
        .filter(|(name, _)| name.to_str().is_some_and(is_activation_marker))
        .map(|(name, value)| {
            let note = if own.contains(Path::new(value)) {
                " (points into Hermes' own install)"
            } else {
                ""
            };
            format!("{}{note}", name.display())
        })
        .collect();
    rows.push(if inherited.is_empty() {
        Row::ok(SECTION, "markers", "no activation markers inherited")
    } else {
        Row::warning(
            SECTION,
            "markers",
            format!("inherited activation markers: {}", inherited.join(", ")),
        )
        .hint("children do not see them; terminal.env_passthrough lets one through by name")
    });
}

/// Units of the reference carry its environment into everything a gateway starts.
fn units(context: &Context, builder: &EnvironmentBuilder, rows: &mut Vec<Row>) {
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
                rows.push(
                    Row::warning(
                        SECTION,
                        "unit",
                        format!("{} sets VIRTUAL_ENV", context.display(&entry.path)),
                    )
                    .hint("it was written by the Python runtime; remove that line"),
                );
            }
        }
    }
}

/// An environment of the Python runtime without the runtime: the mark `uv sync` leaves when it
/// takes an inherited `VIRTUAL_ENV` for the project's own.
fn damaged_installs(context: &Context, rows: &mut Vec<Row>) {
    let agent = context.location.root.join("hermes-agent");
    let opt = context.system.file_system_root.join("opt/hermes");
    for (venv, source) in [
        (agent.join("venv"), &agent),
        (agent.join(".venv"), &agent),
        (opt.join(".venv"), &opt),
    ] {
        if venv.join("pyvenv.cfg").is_file() && !holds_reference_distribution(&venv) {
            rows.push(
                Row::problem(
                    SECTION,
                    "own_install",
                    format!(
                        "{} has lost the package hermes_agent",
                        context.display(&venv)
                    ),
                )
                .hint("another project's installer replaced its packages")
                .hint(format!(
                    "to restore: VIRTUAL_ENV={} uv pip install -e {}",
                    venv.display(),
                    source.display()
                )),
            );
        }
    }
}

fn shell(builder: &EnvironmentBuilder) -> Row {
    let plan = builder.helper_plan();
    let path = plan.get("PATH").map(OsStr::to_owned);
    let find = |name: &str| find_on_path(OsStr::new(name), path.as_deref());
    let Some(program) = find("bash") else {
        return match find("sh") {
            Some(sh) => Row::warning(
                SECTION,
                "bash",
                format!("no bash; {} is used instead", sh.display()),
            )
            .hint("functions and aliases last from call to call with bash only"),
            None => {
                Row::problem(SECTION, "bash", "neither bash nor sh was found").hint("install bash")
            }
        };
    };
    let child = ChildSpec::new(&program, ["--version"], plan);
    match child.run_captured(SHELL_PATIENCE, 4096) {
        Ok(done) if done.status.success() => {
            let said = String::from_utf8_lossy(&done.stdout);
            let version = said
                .split_whitespace()
                .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
            let version = version.map_or_else(String::new, |version| format!(" {version}"));
            Row::ok(
                SECTION,
                "bash",
                format!("bash{version} ({})", program.display()),
            )
        }
        Ok(done) => Row::problem(
            SECTION,
            "bash",
            format!("{} ended with {}", program.display(), done.status),
        )
        .hint("reinstall bash"),
        Err(error) => Row::problem(SECTION, "bash", error.to_string()).hint("reinstall bash"),
    }
}
