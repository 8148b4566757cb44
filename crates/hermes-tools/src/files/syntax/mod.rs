//! Does a file of data or code parse? Looks at the text only and never runs a program.
//!
//! A write that would break a file that parses is refused; the caller can insist.

mod python;

use std::path::Path;

use hermes_config::yaml;
use serde_json::{Value, json};

use crate::argument::Argument;

/// Larger texts are not checked.
const MAX_CHECKED_BYTES: usize = 4 * 1024 * 1024;

/// The argument with which a text is written although it does not parse.
pub(super) const FORCE: Argument = Argument::flag(
    "force",
    "Set to true to write JSON, YAML, TOML or Python although it does not parse.",
);

/// Why a text does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    /// From 1.
    line: usize,
    reason: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Check {
    Parses,
    Broken(Fault),
    /// A kind of file that is not checked, or a text that is too long for it.
    Skipped,
}

/// `{"status": "ok" | "error" | "skipped", …}` for a file that was written.
pub(super) fn lint(path: &Path, text: &str) -> Value {
    match check(path, text) {
        Check::Parses => json!({"status": "ok"}),
        Check::Broken(Fault { line, reason }) => {
            json!({"status": "error", "output": format!("line {line}: {reason}")})
        }
        Check::Skipped => {
            json!({"status": "skipped", "message": "no check for this kind of file"})
        }
    }
}

/// The refusal of a write that would leave a file that does not parse. A file that did not parse
/// before may be written: mending it can take several steps.
pub(super) fn refuse_broken(
    shown: &str,
    path: &Path,
    before: Option<&str>,
    after: &str,
) -> Result<(), String> {
    let Check::Broken(fault) = check(path, after) else {
        return Ok(());
    };
    let was_broken = before
        .filter(|before| !before.trim().is_empty())
        .is_some_and(|before| matches!(check(path, before), Check::Broken(_)));
    if was_broken {
        return Ok(());
    }
    let Fault { line, reason } = fault;
    Err(format!(
        "{shown} was not written, because its new content does not parse: line {line}: {reason}. \
         Mend that line, or pass \"force\": true if the file is meant to be like this."
    ))
}

fn check(path: &Path, text: &str) -> Check {
    if text.len() > MAX_CHECKED_BYTES {
        return Check::Skipped;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    let fault = match extension.as_deref() {
        Some("json") if may_have_comments(path) => return Check::Skipped,
        Some("json" | "ipynb") => json_fault(text),
        Some("yaml" | "yml") => yaml_fault(text),
        Some("toml") => toml_fault(text),
        Some("py" | "pyi") => match python::fault(text) {
            Ok(fault) => fault,
            Err(python::TooSlow) => return Check::Skipped,
        },
        _ => return Check::Skipped,
    };
    match fault {
        // Templates of YAML become YAML only when they are filled in.
        Some(_) if matches!(extension.as_deref(), Some("yaml" | "yml")) && is_template(text) => {
            Check::Skipped
        }
        Some(fault) => Check::Broken(fault),
        None => Check::Parses,
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Files of editors and compilers that are called JSON and allow comments and final commas.
fn may_have_comments(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let in_settings = path.components().any(|part| {
        matches!(
            part.as_os_str().to_str(),
            Some(".vscode" | ".zed" | ".devcontainer")
        )
    });
    in_settings
        || ["tsconfig", "jsconfig", ".eslintrc", "devcontainer"]
            .iter()
            .any(|known| name.starts_with(known))
}

fn json_fault(text: &str) -> Option<Fault> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    Some(Fault {
        line: error.line().max(1),
        reason: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
    })
}

fn yaml_fault(text: &str) -> Option<Fault> {
    let error = yaml::check_syntax(text).err()?;
    Some(Fault {
        line: error.line,
        reason: error.message,
    })
}

fn toml_fault(text: &str) -> Option<Fault> {
    let error = toml::de::DeTable::parse(text).err()?;
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    Some(Fault {
        line: before.matches('\n').count() + 1,
        reason: error.message().replace('\n', ", "),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn data_and_code_are_parsed_and_other_files_skipped() {
        let status = |name: &str, text: &str| lint(Path::new(name), text)["status"].clone();
        for (name, text, expected) in [
            ("a.json", "{\"a\": [1]}", "ok"),
            ("a.JSON", "{\"a\": [1}", "error"),
            ("a.json", "\u{feff}{}", "ok"),
            ("a.ipynb", "{]", "error"),
            ("tsconfig.base.json", "{/* x */ \"a\": 1,}", "skipped"),
            (".vscode/settings.json", "{// x\n}", "skipped"),
            ("a.yml", "a: [1", "error"),
            ("a.yml", "a: 1\n---\nb: 2\n", "ok"),
            ("a.yml", "a: !Ref b\n? [1]\n: c\n", "ok"),
            ("a.yml", "a: 1\n---\nb: [2\n", "error"),
            (
                "a.yaml",
                "{{- if .Values.x }}\na: 1\n{{- end }}\n",
                "skipped",
            ),
            ("a.toml", "[a]\nb = 1\n", "ok"),
            ("a.toml", "[a]\nb = \n", "error"),
            ("a.toml", "a = 1\na = 2\n", "error"),
            ("a.py", "def f():\n    return 1\n", "ok"),
            ("a.py", "def f(:\n    return 1\n", "error"),
            ("a.txt", "{", "skipped"),
            ("json", "{", "skipped"),
        ] {
            assert_eq!(status(name, text), expected, "{name} {text:?}");
        }
    }

    #[test]
    fn faults_carry_line_and_reason() {
        for (name, text, line, reason) in [
            ("a.json", "{\n  \"a\": 1,\n}", 3, "key must be a string"),
            ("a.yml", "a: 1\nb: [1\nc: 2\n", 3, ""),
            ("a.toml", "a = 1\nb = x y\n", 2, ""),
            ("a.py", "x = 1\ny = (2\n", 2, "'(' was never closed"),
        ] {
            let Check::Broken(fault) = check(Path::new(name), text) else {
                panic!("{name} parses");
            };
            assert_eq!(fault.line, line, "{name}: {fault:?}");
            assert!(
                fault.reason.contains(reason) && !fault.reason.is_empty(),
                "{name}: {fault:?}"
            );
            assert!(!fault.reason.contains('\n'), "{fault:?}");
        }
    }

    #[test]
    fn only_what_breaks_a_file_is_refused() {
        let refused = |before: Option<&str>, after: &str| {
            refuse_broken("a.json", Path::new("/x/a.json"), before, after).is_err()
        };
        assert!(refused(None, "{"));
        assert!(refused(Some("{}"), "{"));
        assert!(refused(Some(" \n"), "{"));
        assert!(!refused(Some("{,"), "{"));
        assert!(!refused(Some("{"), "{}"));
        let message = refuse_broken("a.json", Path::new("/x/a.json"), None, "{\n1}").unwrap_err();
        assert_eq!(
            message,
            "a.json was not written, because its new content does not parse: line 2: key must be a \
             string. Mend that line, or pass \"force\": true if the file is meant to be like this."
        );
    }
}
