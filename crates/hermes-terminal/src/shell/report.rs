//! What a shell said about itself when it ended.
//!
//! A report is either understood as a whole or ignored as a whole: half a report would unset
//! variables that are still there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use hermes_fs::random_hex;

use super::overlay::difference;
use super::quoting::Declarations;
use super::state::{Definitions, ShellState, StateDelta, changed_definitions};

/// More than this and the report is ignored.
pub(crate) const LONGEST: usize = 4 * 1024 * 1024;

/// A word nobody can guess. It begins with a letter: behind `\0`, a digit would change the meaning
/// of the format with which the shell prints it.
pub(crate) fn report_nonce() -> String {
    format!("n{}", random_hex(31))
}

pub(crate) struct Report {
    pub(crate) exports: BTreeMap<OsString, OsString>,
    /// Functions; `None` if they could not be told apart.
    pub(crate) functions: Option<Definitions>,
    pub(crate) aliases: Definitions,
    /// Directory without links; `None` if it is gone.
    pub(crate) cwd: Option<PathBuf>,
}

impl Report {
    /// Reads what came through the pipe.
    pub(crate) fn parse(bytes: &[u8], nonce: &str) -> Option<Self> {
        let mut fields = bytes.split(|byte| *byte == 0);
        // Whatever a child wrote to the descriptor by accident stands before.
        fields.find(|field| field.ends_with(nonce.as_bytes()))?;
        let exports = fields.next()?;
        let names = fields.next()?;
        let functions = fields.next()?;
        let aliases = fields.next()?;
        let cwd = fields.next()?;
        if fields.next()? != nonce.as_bytes() {
            return None;
        }
        let cwd = cwd.strip_suffix(b"\n").unwrap_or(cwd);
        Some(Self {
            exports: parse_exports(exports),
            functions: split_functions(names, functions),
            aliases: parse_aliases(aliases),
            cwd: cwd
                .starts_with(b"/")
                .then(|| OsString::from_vec(cwd.to_owned()).into()),
        })
    }

    /// What a command changed that began with `before` and `variables` in the directory
    /// `started_in`, given without links.
    pub(crate) fn changes(
        self,
        before: &ShellState,
        variables: &[(OsString, OsString)],
        started_in: &Path,
    ) -> StateDelta {
        StateDelta {
            cwd: self.cwd.filter(|cwd| cwd != started_in),
            variables: difference(variables, &self.exports),
            functions: self
                .functions
                .map(|after| changed_definitions(&before.functions, after))
                .unwrap_or_default(),
            aliases: changed_definitions(&before.aliases, self.aliases),
        }
    }

    /// What a login shell set up that began with `variables`.
    pub(crate) fn login_changes(self, variables: &[(OsString, OsString)]) -> StateDelta {
        let nothing = ShellState::new(PathBuf::new());
        StateDelta {
            cwd: None,
            ..self.changes(&nothing, variables, Path::new(""))
        }
    }
}

pub(crate) fn parse_exports(text: &[u8]) -> BTreeMap<OsString, OsString> {
    let mut exports = BTreeMap::new();
    for words in Declarations::new(text) {
        let mut words = words.into_iter();
        let (Some(verb), Some(mut word)) = (words.next(), words.next()) else {
            continue;
        };
        let flags = if verb == b"declare" {
            let flags = word;
            let Some(next) = words.next() else { continue };
            word = next;
            flags
        } else {
            Vec::new()
        };
        // Arrays and references to other variables do not reach children.
        if flags.iter().any(|flag| matches!(flag, b'a' | b'A' | b'n')) {
            continue;
        }
        if let Some((name, value)) = split_at_equals(word) {
            exports.insert(OsString::from_vec(name), OsString::from_vec(value));
        }
    }
    exports
}

fn parse_aliases(text: &[u8]) -> Definitions {
    Declarations::new(text)
        .filter_map(|words| {
            let definition = words.into_iter().skip(1).find(|word| word != b"--")?;
            split_at_equals(definition)
        })
        .collect()
}

fn split_at_equals(mut word: Vec<u8>) -> Option<(Vec<u8>, Vec<u8>)> {
    let position = word.iter().position(|byte| *byte == b'=')?;
    let value = word.split_off(position + 1);
    word.pop();
    Some((word, value))
}

/// Cuts the list of definitions at the beginning of each function. `names` has them in the same
/// order. If a body holds a line that looks like a beginning, nobody can tell: `None`.
fn split_functions(names: &[u8], definitions: &[u8]) -> Option<Definitions> {
    let names: Vec<&[u8]> = names
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.rsplit(|byte| *byte == b' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let beginnings = beginnings(definitions);
    let found: Vec<&[u8]> = beginnings
        .iter()
        .map(|(_, name)| *name)
        .filter(|name| names.contains(name))
        .collect();
    if found != names {
        return None;
    }
    let mut starts = beginnings
        .iter()
        .filter(|(_, name)| names.contains(name))
        .map(|(position, _)| *position)
        .chain([definitions.len()]);
    let mut start = starts.next()?;
    let mut functions = Definitions::new();
    for (name, end) in names.iter().zip(starts) {
        functions.insert(name.to_vec(), definitions.get(start..end)?.to_owned());
        start = end;
    }
    Some(functions)
}

/// Every line that looks like the beginning of a function, with its position and the name.
fn beginnings(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut found = Vec::new();
    let mut position = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let start = position;
        position += line.len();
        if let Some(name) = line.strip_suffix(b" () \n")
            && text
                .get(position..)
                .is_some_and(|next| next.starts_with(b"{ \n"))
        {
            found.push((start, name.strip_prefix(b"function ").unwrap_or(name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const FUNCTIONS: &str = "a-b () \n{ \n    :\n}\ngg () \n{ \n    cat <<E\n}\nE\n\n}\ndeclare -fx gg\nfunction time () \n{ \n    :\n}\n";

    fn report(parts: [&str; 5]) -> Vec<u8> {
        format!("noise\0NONCE\0{}\0NONCE\0", parts.join("\0")).into_bytes()
    }

    #[test]
    fn a_whole_report_is_read() {
        let bytes = report([
            "declare -x A=\"1\"\ndeclare -x B\ndeclare -ax C=([0]=\"x\")\n",
            "declare -f a-b\ndeclare -fx gg\ndeclare -f time\n",
            FUNCTIONS,
            "alias -- -='cd -'\nalias x='it'\\''s'\n",
            "/tmp/a b\n",
        ]);
        let report = Report::parse(&bytes, "NONCE").unwrap();
        assert_eq!(report.exports, [("A".into(), "1".into())].into());
        assert_eq!(report.cwd, Some("/tmp/a b".into()));
        let aliases: Definitions = [
            (b"-".to_vec(), b"cd -".to_vec()),
            (b"x".to_vec(), b"it's".to_vec()),
        ]
        .into();
        assert_eq!(report.aliases, aliases);
        let functions = report.functions.unwrap();
        assert_eq!(functions.values().flatten().count(), FUNCTIONS.len());
        let gg = functions.get(b"gg".as_slice()).unwrap();
        assert!(gg.starts_with(b"gg () ") && gg.ends_with(b"declare -fx gg\n"));
    }

    #[test]
    fn half_a_report_or_a_foreign_one_is_none() {
        let whole = report(["", "", "", "", "/\n"]);
        assert!(Report::parse(&whole, "NONCE").is_some());
        assert!(Report::parse(&whole, "OTHER").is_none());
        for end in 0..whole.len() - 1 {
            assert!(Report::parse(&whole[..end], "NONCE").is_none(), "{end}");
        }
    }

    #[test]
    fn functions_that_cannot_be_told_apart_are_left_alone() {
        let text = "a () \n{ \n    cat <<E\nb () \n{ \nE\n\n}\nb () \n{ \n    :\n}\n";
        assert_eq!(
            split_functions(b"declare -f a\ndeclare -f b\n", text.as_bytes()),
            None
        );
        assert_eq!(split_functions(b"", b""), Some(Definitions::new()));
    }
}
