//! Changing `.env`: one line at a time, everything else byte for byte.

use super::names::{is_credential, is_denied_name, is_known_name, is_valid_name};
use super::parse::{Content, DotEnv, Line};

/// Positions listed when characters had to be dropped.
const MAX_POSITIONS: usize = 5;

/// A variable that may not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetVariableError {
    #[error("'{0}' is not a variable name (letters, digits and _, not starting with a digit)")]
    BadName(String),
    #[error("'{0}' may not be set in .env: it would change how every program starts")]
    Denied(String),
    /// A quote opened on an earlier line would swallow the new one.
    #[error("a quote that is opened in .env before '{0}' is never closed")]
    OpenQuote(String),
}

/// Sets a variable, in place of its last line or at the end. Gives the positions (from 1) of
/// characters outside ASCII that were dropped from a key or token: they come from copying out of a
/// document and make every request fail.
pub fn set_variable(
    env: &mut DotEnv,
    name: &str,
    value: &str,
) -> Result<Vec<usize>, SetVariableError> {
    if !is_valid_name(name) {
        return Err(SetVariableError::BadName(name.to_owned()));
    }
    if is_denied_name(name) {
        return Err(SetVariableError::Denied(name.to_owned()));
    }
    let mut dropped = Vec::new();
    let mut clean: String = value
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r' | '\0'))
        .collect();
    if is_credential(name) {
        dropped = clean
            .chars()
            .enumerate()
            .filter(|(_, c)| !c.is_ascii())
            .map(|(index, _)| index + 1)
            .take(MAX_POSITIONS)
            .collect();
        clean.retain(|c| c.is_ascii());
    }
    let line = Line {
        raw: format!("{name}={}\n", quote(&clean)),
        content: Content::Assignment {
            name: name.to_owned(),
            value: clean,
        },
    };
    let position = env.lines.iter().rposition(|line| assigns(line, name));
    match position.and_then(|index| env.lines.get_mut(index)) {
        Some(existing) => *existing = line,
        None => {
            end_last_line(env);
            env.lines.push(line);
        }
    }
    // How blank lines fall to assignments may differ; what is assigned may not.
    let assigned = |env: &DotEnv| -> Vec<(String, String)> {
        let pairs = env.lines.iter().filter_map(Line::assignment);
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    if assigned(&DotEnv::parse(&env.to_text())) != assigned(env) {
        return Err(SetVariableError::OpenQuote(name.to_owned()));
    }
    Ok(dropped)
}

/// Removes every line of a variable; says whether there was one.
pub fn unset_variable(env: &mut DotEnv, name: &str) -> bool {
    let before = env.lines.len();
    env.lines.retain(|line| !assigns(line, name));
    env.lines.len() != before
}

/// Gives each of several assignments that ran together a line; says how many lines were taken
/// apart.
pub fn repair(env: &mut DotEnv) -> usize {
    let mut count = 0;
    let mut lines = Vec::with_capacity(env.lines.len());
    for line in std::mem::take(&mut env.lines) {
        let Some(pieces) = split(&line) else {
            lines.push(line);
            continue;
        };
        count += 1;
        for mut piece in pieces {
            if !piece.raw.ends_with('\n') {
                piece.raw.push('\n');
            }
            lines.push(piece);
        }
    }
    env.lines = lines;
    count
}

/// The assignments of a line into which several ran together, in pieces of its text: known names
/// from the beginning on, each but the last with a value that is one plain word.
///
/// `A_API_KEY=xB_API_KEY=y` comes from tools that append without a line break. A known name inside
/// an address or a sentence is part of that.
pub(super) fn split(line: &Line) -> Option<Vec<Line>> {
    let (name, _) = line.assignment()?;
    if !line.raw.starts_with(name) || !is_known_name(name) {
        return None;
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in split_points(&line.raw) {
        let piece = line.raw.get(start..end)?;
        let (_, value) = piece.split_once('=')?;
        let structured = ["://", "?", "&"].iter().any(|mark| value.contains(mark));
        if structured || value.contains(char::is_whitespace) {
            return None;
        }
        pieces.extend(DotEnv::parse(piece).lines);
        start = end;
    }
    if pieces.is_empty() {
        return None;
    }
    pieces.extend(DotEnv::parse(line.raw.get(start..)?).lines);
    Some(pieces)
}

/// Where a second, third… known `NAME=` starts inside a line.
fn split_points(raw: &str) -> Vec<usize> {
    let mut points = Vec::new();
    for (equals, _) in raw.match_indices('=') {
        let before = raw.get(..equals).unwrap_or_default();
        let run = before
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .map_or(0, |at| at + 1);
        // The longest known name wins: GLM_API_KEY, not the LM_API_KEY inside it.
        let start = (run..equals).find(|start| {
            before
                .get(*start..)
                .is_some_and(|name| name.len() > 3 && is_known_name(name))
        });
        if let Some(start) = start.filter(|start| *start > 0) {
            points.push(start);
        }
    }
    points
}

fn assigns(line: &Line, name: &str) -> bool {
    line.assignment().is_some_and(|(key, _)| key == name)
}

fn end_last_line(env: &mut DotEnv) {
    if let Some(last) = env.lines.last_mut()
        && !last.raw.ends_with(['\n', '\r'])
    {
        last.raw.push('\n');
    }
}

/// Quotes where a reader would otherwise see something else.
fn quote(value: &str) -> String {
    let risky = |c: char| c.is_whitespace() || matches!(c, '#' | '"' | '\'' | '\\' | '$' | '`');
    if value.contains(risky) {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn one_line_changes() {
        let mut env = DotEnv::parse("# keep\nA=1\nexport B=2 # x\nodd line\nC=3");
        set_variable(&mut env, "B", "a b#c").unwrap();
        set_variable(&mut env, "D", "4").unwrap();
        assert_eq!(
            env.to_text(),
            "# keep\nA=1\nB=\"a b#c\"\nodd line\nC=3\nD=4\n"
        );
        assert!(unset_variable(&mut env, "A"));
        assert!(!unset_variable(&mut env, "A"));
        assert_eq!(env.to_text(), "# keep\nB=\"a b#c\"\nodd line\nC=3\nD=4\n");
    }

    #[test]
    fn keys_lose_what_is_not_ascii() {
        let mut env = DotEnv::default();
        let dropped = set_variable(&mut env, "OPENAI_API_KEY", "sk\u{2011}a\nb\u{a0}").unwrap();
        assert_eq!(dropped, [3, 6]);
        assert_eq!(env.get("OPENAI_API_KEY"), Some("skab"));
        set_variable(&mut env, "GREETING", "grüß").unwrap();
        assert_eq!(env.get("GREETING"), Some("grüß"));
    }

    #[test]
    fn bad_and_denied_names_are_refused() {
        let mut env = DotEnv::default();
        for name in ["", "1A", "A-B", "A B", "Ä"] {
            assert!(matches!(
                set_variable(&mut env, name, "x"),
                Err(SetVariableError::BadName(_))
            ));
        }
        for name in ["PATH", "DYLD_X", "HERMES_HOME"] {
            assert!(matches!(
                set_variable(&mut env, name, "x"),
                Err(SetVariableError::Denied(_))
            ));
        }
        assert_eq!(env.to_text(), "");
    }

    #[test]
    fn run_together_lines_are_split_at_the_longest_name() {
        let mut env = DotEnv::parse(
            "OPENROUTER_API_KEY=sk-1GLM_API_KEY=abcTAVILY_API_KEY=x\n# A=1\nURL=x?y=1\n",
        );
        assert_eq!(repair(&mut env), 1);
        assert_eq!(
            env.to_text(),
            "OPENROUTER_API_KEY=sk-1\nGLM_API_KEY=abc\nTAVILY_API_KEY=x\n# A=1\nURL=x?y=1\n"
        );
        assert_eq!(repair(&mut env), 0);
    }

    #[test]
    fn blank_lines_before_the_new_one_do_not_matter() {
        let mut env = DotEnv::parse("\n ");
        set_variable(&mut env, "NAME", "v").unwrap();
        assert_eq!(DotEnv::parse(&env.to_text()).get("NAME"), Some("v"));
    }

    proptest! {
        #[test]
        fn what_is_set_is_read_back(value in "[^\r\n\0]{0,40}", before in "[ -~\n]{0,60}") {
            let mut env = DotEnv::parse(&before);
            match set_variable(&mut env, "NAME", &value) {
                Ok(_) => {
                    let again = DotEnv::parse(&env.to_text());
                    prop_assert_eq!(again.get("NAME"), Some(value.as_str()));
                }
                Err(SetVariableError::OpenQuote(_)) => {
                    prop_assert!(before.contains(['"', '\'']), "{before:?}");
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }
}
