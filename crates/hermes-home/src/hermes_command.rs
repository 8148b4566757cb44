//! Recognising Hermes processes, ours and the reference's, by their command lines.
//!
//! Works on whole arguments. A substring test would take `gateway status`, `tui_gateway` or an
//! editor with a file of that name for a gateway.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hermes_config::Environment;

use crate::location::follow;
use crate::select::{command_index, command_of, flag_in};
use crate::{Location, SystemFacts};

/// Arguments of the process that keeps a container alive while s6 runs its gateway. It looks like a
/// gateway to people, and is none.
pub const HEARTBEAT_ARGUMENTS: [&str; 3] = ["gateway", "run", "(heartbeat)"];

/// Subcommands that serve others and hold a profile's files open.
const BACKENDS: &[&str] = &["serve", "dashboard", "gateway"];

/// The arguments a Hermes process was given, without interpreter and program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HermesCommand {
    args: Vec<OsString>,
}

impl HermesCommand {
    /// Finds the program in an argument vector: `hermes …`, `python …/hermes …`,
    /// `python -m hermes_cli.main …`, `python …/gateway/run.py`, `hermes-gateway`.
    pub(crate) fn parse(argv: &[OsString]) -> Option<Self> {
        // Interpreter options may come first; what a user typed as an argument may not.
        for (index, word) in argv.iter().enumerate().take(6) {
            let rest = || argv.get(index + 1..).unwrap_or_default().to_vec();
            let path = Path::new(word);
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if name == "hermes" || word == "hermes_cli.main" || path.ends_with("hermes_cli/main.py")
            {
                return Some(Self { args: rest() });
            }
            if name == "hermes-gateway" || path.ends_with("gateway/run.py") {
                let args = [OsString::from("gateway"), OsString::from("run")];
                return Some(Self {
                    args: args.into_iter().chain(rest()).collect(),
                });
            }
            let is_interpreter = index == 0 && is_interpreter(name);
            if !is_interpreter && !word.as_encoded_bytes().starts_with(b"-") {
                return None;
            }
        }
        None
    }

    /// Whether the process hosts a gateway: `gateway`, `gateway run`, or `gateway restart`, which
    /// becomes one where no service manager does.
    pub(crate) fn hosts_gateway(&self) -> bool {
        if self.args == HEARTBEAT_ARGUMENTS {
            return false;
        }
        let words = self.words();
        words.first().is_some_and(|word| *word == "gateway")
            && words
                .get(1)
                .is_none_or(|word| *word == "run" || *word == "restart")
    }

    /// Whether the process serves others: gateway, API server or dashboard.
    pub(crate) fn is_backend(&self) -> bool {
        match self.words().as_slice() {
            ["gateway", ..] => self.hosts_gateway(),
            [command, ..] => BACKENDS.contains(command),
            [] => false,
        }
    }

    /// The subcommand and the word behind it, options and profile selectors left out.
    fn words(&self) -> Vec<&str> {
        let after = command_index(&self.args).and_then(|index| self.args.get(index + 1..));
        let words = [command_of(&self.args), after.and_then(command_of)];
        words.into_iter().flatten().collect()
    }

    /// The home the process was started for, by flag or `HERMES_HOME`. The sticky profile is left
    /// out: it may have changed since.
    fn home(&self, env: &Environment) -> Option<PathBuf> {
        // Nothing of ours starts with a relative home: children get it absolute.
        let system = SystemFacts {
            start_dir: None,
            ..SystemFacts::of_process()
        };
        let base = Location::resolve(env, &system).ok()?;
        Some(match flag_in(&self.args) {
            Some(name) => base.profile_home(&name),
            None => base.home,
        })
    }
}

/// The Hermes command a process runs, if it is one.
pub(crate) fn command_of_process(pid: u32) -> Option<HermesCommand> {
    HermesCommand::parse(&hermes_proc::command_line(pid)?)
}

/// The command of a process that is known to be a Hermes, whatever its program is called.
pub(crate) fn known_hermes(pid: u32) -> Option<HermesCommand> {
    let argv = hermes_proc::command_line(pid)?;
    HermesCommand::parse(&argv).or_else(|| {
        let args = argv.get(1..)?.to_vec();
        Some(HermesCommand { args })
    })
}

/// Whether a process was started for this home. A process whose environment is hidden was not.
pub(crate) fn is_process_of_home(pid: u32, command: &HermesCommand, home: &Path) -> bool {
    hermes_proc::environment_of(pid)
        .map(Environment::from_pairs)
        .and_then(|env| command.home(&env))
        .is_some_and(|theirs| follow(&theirs) == follow(home))
}

/// Whether nothing speaks against a process being the one that a record in this home means. Our own
/// processes hide their environment from everyone but root; then the command line has to do.
pub(crate) fn may_be_of_home(pid: u32, command: &HermesCommand, home: &Path) -> bool {
    if hermes_proc::environment_of(pid).is_some() {
        return is_process_of_home(pid, command, home);
    }
    let Some(name) = flag_in(&command.args) else {
        return true;
    };
    let of_profile = home
        .parent()
        .is_some_and(|above| above.ends_with("profiles"));
    if name.is_default() {
        !of_profile
    } else {
        of_profile && home.file_name() == Some(OsStr::new(name.as_str()))
    }
}

fn is_interpreter(name: &str) -> bool {
    name.starts_with("python") || name == "sh" || name == "bash" || name == "env"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heartbeat_of_a_container_is_no_gateway() {
        let argv = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        let heartbeat = HermesCommand::parse(&argv("hermes gateway run (heartbeat)")).unwrap();
        assert!(!heartbeat.hosts_gateway() && !heartbeat.is_backend());
        let gateway = HermesCommand::parse(&argv("hermes gateway run --ready-fd 3")).unwrap();
        assert!(gateway.hosts_gateway());
    }

    fn parse(line: &str) -> Option<HermesCommand> {
        let argv: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        HermesCommand::parse(&argv)
    }

    #[test]
    fn gateways_are_recognised() {
        for line in [
            "hermes gateway",
            "hermes gateway run",
            "hermes gateway restart",
            "/usr/bin/hermes -p coder gateway run --verbose",
            "hermes gateway -p coder run",
            "hermes gateway run --profile coder",
            "hermes -p gateway gateway run",
            "hermes --profile=gateway gateway",
            "/v/bin/python3.11 /v/bin/hermes gateway run",
            "/v/bin/python -u -m hermes_cli.main --profile x gateway run",
            "python /opt/hermes/hermes_cli/main.py gateway run",
            "python /opt/hermes/gateway/run.py",
            "/usr/bin/hermes-gateway",
        ] {
            assert!(parse(line).is_some_and(|c| c.hosts_gateway()), "{line}");
            assert!(parse(line).is_some_and(|c| c.is_backend()), "{line}");
        }
    }

    #[test]
    fn others_are_not() {
        for line in [
            "hermes",
            "hermes gateway status",
            "hermes gateway stop",
            "hermes -p gateway status",
            "hermes chat -q gateway run",
            "hermes chat gateway run",
            "python -m tui_gateway",
            "python script.py hermes gateway run",
            "vim hermes gateway run",
            "grep -r hermes gateway run",
            "tail -f /x/gateway/run.py.log",
            "hermesx gateway run",
        ] {
            assert!(!parse(line).is_some_and(|c| c.hosts_gateway()), "{line}");
            assert!(!parse(line).is_some_and(|c| c.is_backend()), "{line}");
        }
        assert_eq!(HermesCommand::parse(&[]), None);
    }

    #[test]
    fn servers_and_dashboards_are_backends() {
        for line in ["hermes serve", "hermes -p x dashboard --no-open"] {
            assert!(parse(line).is_some_and(|c| c.is_backend()), "{line}");
        }
    }

    #[test]
    fn the_home_comes_from_flag_or_variable() {
        let env = Environment::from_pairs([("HOME", "/u"), ("HERMES_HOME", "/x/profiles/p")]);
        let home = |line: &str| parse(line).and_then(|c| c.home(&env));
        assert_eq!(home("hermes gateway run"), Some("/x/profiles/p".into()));
        assert_eq!(home("hermes -p q gateway"), Some("/x/profiles/q".into()));
        assert_eq!(home("hermes gateway -p default"), Some("/x".into()));
    }
}
