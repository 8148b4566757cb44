//! Names of plugins. A name becomes a directory, a key of the settings and a toolset.

/// Most characters of a name.
const MOST: usize = 64;

/// What is wrong with a name, if anything.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let shown = hermes_text::shown(name, MOST);
    if name.is_empty() {
        return Err("the name of a plugin cannot be empty".to_owned());
    }
    for part in ["/", "\\", ".."] {
        if name.contains(part) {
            return Err(format!(
                "the name of a plugin cannot have '{part}' in it: '{shown}'"
            ));
        }
    }
    if name.chars().count() > MOST {
        return Err(format!(
            "the name of a plugin has at most {MOST} characters: '{shown}'"
        ));
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    if name.starts_with(['.', '-', ' ']) || name.ends_with(' ') || !name.chars().all(is_plain) {
        return Err(format!(
            "the name of a plugin is made of letters, digits, '_', '-' and '.': '{shown}'"
        ));
    }
    Ok(())
}

/// Whether a text can be a key: a name, or a category and a name.
pub(crate) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((category, name)) => check(category).is_ok() && check(name).is_ok(),
        None => check(key).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a..b",
            ".hidden",
            "-f",
            "a\nb",
            "a\0b",
            " x",
            "x ",
            "a:b",
            "\u{202e}x",
        ] {
            assert!(check(name).is_err(), "{name:?}");
        }
        assert!(check(&"x".repeat(65)).is_err());
        for name in ["disk-cleanup", "a", "x.y", "Größe", "a b", "_x"] {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
        assert!(is_key("memory/honcho") && !is_key("a/b/c") && !is_key("../x") && !is_key("/x"));
    }
}
