//! The command line of a hook: words without a shell, and the script among them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Endings of files that an interpreter runs.
const SCRIPTS: &[&str] = &[
    ".sh", ".bash", ".zsh", ".fish", ".py", ".pyw", ".rb", ".pl", ".lua", ".js", ".mjs", ".cjs",
    ".ts",
];

/// The words of a command; a home directory is written out. `None` if a quotation is not closed or
/// there are no words.
pub(crate) fn words(command: &str, home: &Path) -> Option<Vec<String>> {
    let words = shlex::split(command)?;
    let words: Vec<String> = words
        .into_iter()
        .map(|word| match word.strip_prefix("~/") {
            Some(below) => home.join(below).to_string_lossy().into_owned(),
            None => word,
        })
        .collect();
    (!words.is_empty()).then_some(words)
}

/// The script that a command runs: a word with the ending of one, else the first path, else the
/// program.
pub fn script_of(command: &str, home: &Path) -> Option<PathBuf> {
    let words = words(command, home)?;
    let is_script = |word: &&String| {
        let word = word.to_ascii_lowercase();
        SCRIPTS.iter().any(|ending| word.ends_with(ending))
    };
    let script = words.iter().find(is_script);
    let path = || words.iter().find(|word| word.contains('/'));
    script
        .or_else(path)
        .or_else(|| words.first())
        .map(PathBuf::from)
}

/// When the script of a command was changed last, as the file of accepted hooks has it.
pub fn script_time(command: &str, home: &Path) -> Option<String> {
    let script = script_of(command, home)?;
    let changed = hermes_fs::metadata(&script).ok()?.modified().ok()?;
    Some(stamp(Timestamp::try_from(changed).ok()?))
}

/// A moment as the file of accepted hooks has it.
pub(crate) fn stamp(at: Timestamp) -> String {
    let utc = at.to_zoned(jiff::tz::TimeZone::UTC);
    // The reference leaves the fraction out where there is none.
    if utc.subsec_nanosecond() / 1_000 == 0 {
        return utc.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    }
    utc.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_script_is_found_behind_its_interpreter() {
        let home = Path::new("/home/joe");
        for (command, script) in [
            ("~/hooks/check.sh", "/home/joe/hooks/check.sh"),
            ("python3 /x/hook.py --fast", "/x/hook.py"),
            ("/usr/bin/env bash hook.sh", "hook.sh"),
            ("/opt/check-it --now", "/opt/check-it"),
            ("notify-send", "notify-send"),
            ("'/a b/c.sh' x", "/a b/c.sh"),
        ] {
            assert_eq!(script_of(command, home), Some(script.into()), "{command}");
        }
        assert_eq!(script_of("unclosed 'quote", home), None);
        assert_eq!(script_of("   ", home), None);
    }

    #[test]
    fn moments_are_written_as_the_reference_does() {
        let at: Timestamp = "2026-11-17T15:38:34.123456789Z".parse().unwrap();
        assert_eq!(stamp(at), "2026-11-17T15:38:34.123456Z");
        let at: Timestamp = "2026-11-17T15:38:34Z".parse().unwrap();
        assert_eq!(stamp(at), "2026-11-17T15:38:34Z");
    }
}
