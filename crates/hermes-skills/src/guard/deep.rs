//! What Python files of a skill could run: no objection, but worth a look.

use std::path::Path;
use std::sync::LazyLock;

use hermes_fs::Kind;
use regex::Regex;

use super::Severity;
use super::scan::Finding;

/// Largest file that is read.
const MAX_BYTES: u64 = 256 * 1024;
/// Findings that are given.
const MOST: usize = 200;

/// Calls that run other code, reach the network or change what is imported.
const CALLS: &str = r"\b(eval|exec|compile|__import__|importlib\.import_module|getattr|setattr|subprocess\.\w+|os\.(system|popen|exec\w*|spawn\w*|remove|unlink)|shutil\.rmtree|socket\.\w+|urllib\.request\.\w+|requests\.\w+|httpx\.\w+|ctypes\.\w+|pickle\.loads?|marshal\.loads?)\s*\(";

/// Such calls in the Python files of a directory.
pub fn deep_findings(directory: &Path) -> hermes_fs::Result<Vec<Finding>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CALLS).ok());
    let mut findings = Vec::new();
    hermes_fs::walk(directory, &mut |relative,
                                     entry|
     -> hermes_fs::Result<bool> {
        let entry = entry?;
        let is_python = entry.path.extension().is_some_and(|ending| ending == "py");
        if entry.kind != Kind::File || !is_python {
            return Ok(entry.kind == Kind::Dir);
        }
        let Ok(text) = hermes_fs::read_text_capped(&entry.path, MAX_BYTES) else {
            return Ok(false);
        };
        for (number, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or_default();
            let calls = PATTERN
                .iter()
                .flat_map(|pattern| pattern.captures_iter(code));
            for call in calls.filter_map(|call| call.get(1)) {
                if findings.len() < MOST {
                    findings.push(Finding {
                        rule: call.as_str().to_owned(),
                        severity: Severity::Low,
                        category: "python".to_owned(),
                        file: relative.to_string_lossy().into_owned(),
                        line: number + 1,
                    });
                }
            }
        }
        Ok(false)
    })?;
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn calls_are_found_outside_of_comments() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.py");
        let text = b"import os\n# eval(x)\nos.system('ls'); eval(y)\nevaluate(z)\n";
        hermes_fs::write_atomic(&file, text, 0o600).unwrap();
        let found = deep_findings(directory.path()).unwrap();
        let found: Vec<(&str, usize)> = found.iter().map(|f| (f.rule.as_str(), f.line)).collect();
        assert_eq!(found, [("os.system", 3), ("eval", 3)]);
    }
}
