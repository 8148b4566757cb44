//! What the container was asked to run: arguments of `docker run` after the image's name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Entry points that scripts from before may still name; the arguments behind them are meant.
const ENTRY_POINTS: [&str; 3] = ["/init", "/opt/hermes/docker/entrypoint.sh", "/usr/bin/tini"];

/// Flags of tini that take a value.
const TINI_VALUES: [&str; 2] = ["-p", "-e"];

/// What the main program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MainProgram {
    /// This program, with these arguments.
    Hermes(Vec<OsString>),
    /// Another one.
    Program { path: PathBuf, args: Vec<OsString> },
}

impl MainProgram {
    /// Decides. Names of our commands count before programs of the same name (`login`), and programs
    /// before words that no command has.
    pub fn resolve(
        args: &[OsString],
        is_subcommand: impl Fn(&str) -> bool,
        find: impl Fn(&OsStr) -> Option<PathBuf>,
    ) -> Self {
        let hermes = || Self::Hermes(args.to_vec());
        let Some((first, rest)) = args.split_first() else {
            return hermes();
        };
        let is_ours = first
            .to_str()
            .is_some_and(|word| word.starts_with('-') || is_subcommand(word));
        if is_ours {
            return hermes();
        }
        match find(first) {
            Some(path) if path.file_name() == Some(OsStr::new("hermes")) => {
                Self::Hermes(rest.to_vec())
            }
            Some(path) => Self::Program {
                path,
                args: rest.to_vec(),
            },
            None => hermes(),
        }
    }
}

/// The arguments without entry points and the flags of `tini` at their beginning.
pub fn without_entry_points(args: &[OsString]) -> &[OsString] {
    let mut rest = args;
    while let Some((first, others)) = rest.split_first() {
        let path = Path::new(first);
        if !ENTRY_POINTS.iter().any(|entry| path == Path::new(entry)) {
            break;
        }
        rest = others;
        if path.ends_with("tini") {
            rest = without_tini_flags(rest);
        }
    }
    rest
}

/// Arguments of `tini` without its own flags.
pub fn without_tini_flags(args: &[OsString]) -> &[OsString] {
    let mut rest = args;
    while let Some((first, others)) = rest.split_first() {
        let Some(flag) = first.to_str().filter(|word| word.starts_with('-')) else {
            break;
        };
        rest = others;
        if flag == "--" {
            break;
        }
        if TINI_VALUES.contains(&flag) {
            rest = rest.split_first().map_or(rest, |(_, others)| others);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn resolve(text: &str) -> MainProgram {
        let programs = ["sleep", "bash", "login", "/bin/true", "hermes"];
        MainProgram::resolve(
            &words(text),
            |word| ["chat", "login", "gateway"].contains(&word),
            |name| {
                let known = programs.iter().any(|program| name == *program);
                known.then(|| Path::new("/usr/bin").join(name))
            },
        )
    }

    fn hermes(text: &str) -> MainProgram {
        MainProgram::Hermes(words(text))
    }

    fn program(path: &str, args: &str) -> MainProgram {
        MainProgram::Program {
            path: path.into(),
            args: words(args),
        }
    }

    #[test]
    fn five_patterns() {
        assert_eq!(resolve(""), hermes(""));
        assert_eq!(resolve("chat -q hi"), hermes("chat -q hi"));
        assert_eq!(
            resolve("sleep infinity"),
            program("/usr/bin/sleep", "infinity")
        );
        assert_eq!(resolve("bash"), program("/usr/bin/bash", ""));
        assert_eq!(resolve("--tui"), hermes("--tui"));
    }

    #[test]
    fn commands_come_before_programs_and_unknown_words_are_ours() {
        assert_eq!(resolve("login --help"), hermes("login --help"));
        assert_eq!(resolve("/bin/true"), program("/bin/true", ""));
        assert_eq!(resolve("gatway run"), hermes("gatway run"));
        assert_eq!(resolve("hermes gateway run"), hermes("gateway run"));
    }

    #[test]
    fn entry_points_of_before_are_passed_over() {
        let cases = [
            (
                "/usr/bin/tini -g -- /opt/hermes/docker/entrypoint.sh chat",
                "chat",
            ),
            ("/init gateway run", "gateway run"),
            ("/usr/bin/tini -s -p SIGTERM -e 143 bash -l", "bash -l"),
            ("bash /init", "bash /init"),
            ("", ""),
        ];
        for (given, expected) in cases {
            assert_eq!(
                without_entry_points(&words(given)),
                words(expected),
                "{given}"
            );
        }
        assert_eq!(without_tini_flags(&words("-vvv -- -x")), words("-x"));
    }
}
