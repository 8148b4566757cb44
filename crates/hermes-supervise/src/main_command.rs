//! The command that a container was started with.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use hermes_config::{Environment, vars};

/// The step of this program that runs the command of a container.
const OWN_WRAPPER: [&str; 2] = ["internal", "main"];
/// The script of the reference's image that does it.
const FOREIGN_WRAPPER: &str = "main-wrapper.sh";

/// The arguments of a container, without the program that runs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MainCommand {
    words: Vec<OsString>,
}

impl MainCommand {
    /// The command with these words; a leading `hermes` means nothing.
    pub fn of_words(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words: Vec<OsString> = words.into_iter().collect();
        let first = words.first().map(Path::new).and_then(Path::file_name);
        if first == Some(OsStr::new("hermes")) {
            words.remove(0);
        }
        Self { words }
    }

    /// The command of the container that this process is in, as the command line of the process that
    /// runs it has it: the first one, or any.
    pub fn of_container() -> Option<Self> {
        let others = hermes_fs::read_dir(Path::new("/proc")).unwrap_or_default();
        let others = others
            .iter()
            .filter_map(|entry| entry.name.to_str()?.parse().ok());
        std::iter::once(1)
            .chain(others)
            .filter_map(hermes_proc::command_line)
            .find_map(|line| Self::in_command_line(&line))
    }

    fn in_command_line(line: &[OsString]) -> Option<Self> {
        for (index, word) in line.iter().enumerate() {
            let rest = line.get(index + 1..)?;
            if Path::new(word).file_name() == Some(OsStr::new(FOREIGN_WRAPPER)) {
                return Some(Self::of_words(rest.to_vec()));
            }
            let second = rest.first();
            if word == OWN_WRAPPER[0] && second.is_some_and(|next| next == OWN_WRAPPER[1]) {
                let words = rest.get(1..).unwrap_or_default();
                let words = match words {
                    [dashes, words @ ..] if dashes == "--" => words,
                    words => words,
                };
                return Some(Self::of_words(words.to_vec()));
            }
        }
        None
    }

    /// Whether the container serves the dashboard and nothing else. Another one has the gateways.
    pub(crate) fn is_dashboard(&self) -> bool {
        hermes_home::command_of(&self.words) == Some("dashboard")
    }

    /// Whether the command asks for the supervised gateway of the default profile.
    pub(crate) fn wants_gateway(&self, env: &Environment) -> bool {
        let texts: Vec<&str> = self.words.iter().filter_map(|word| word.to_str()).collect();
        let gateway = texts.iter().position(|word| *word == "gateway");
        let verb = gateway.and_then(|index| texts.get(index + 1));
        let runs = verb.is_none_or(|verb| *verb == "run" || verb.starts_with('-'));
        let names_profile = texts
            .iter()
            .any(|word| matches!(*word, "-p" | "--profile") || word.starts_with("--profile="));
        let opts_out =
            texts.contains(&"--no-supervise") || env.flag(&vars::HERMES_GATEWAY_NO_SUPERVISE);
        hermes_home::command_of(&self.words) == Some("gateway")
            && runs
            && !names_profile
            && !opts_out
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn command(text: &str) -> MainCommand {
        MainCommand::of_words(words(text))
    }

    #[test]
    fn a_gateway_is_wanted_by_its_command_alone() {
        let env = Environment::from_pairs([("", "")]);
        for text in [
            "gateway run",
            "gateway",
            "hermes gateway run -v",
            "gateway -v",
        ] {
            assert!(command(text).wants_gateway(&env), "{text}");
        }
        for text in [
            "",
            "chat",
            "gateway status",
            "gateway run --no-supervise",
            "-p coder gateway run",
            "gateway run --profile=coder",
            "sleep infinity",
            "dashboard --port 9119",
        ] {
            assert!(!command(text).wants_gateway(&env), "{text}");
        }
        let opted_out = Environment::from_pairs([("HERMES_GATEWAY_NO_SUPERVISE", "yes")]);
        assert!(!command("gateway run").wants_gateway(&opted_out));
        assert!(command("hermes dashboard --port 1").is_dashboard());
        assert!(!command("gateway run").is_dashboard());
    }

    #[test]
    fn the_command_is_found_behind_its_wrapper() {
        let found = |text: &str| MainCommand::in_command_line(&words(text));
        let run = Some(command("gateway run"));
        assert_eq!(
            found("/opt/hermes/bin/hermes internal main gateway run"),
            run
        );
        assert_eq!(found("hermes internal main -- gateway run"), run);
        assert_eq!(
            found("/bin/sh /opt/hermes/docker/main-wrapper.sh gateway run"),
            run
        );
        assert_eq!(found("s6-svscan /run/service"), None);
        assert_eq!(found("hermes gateway run"), None);
    }
}
