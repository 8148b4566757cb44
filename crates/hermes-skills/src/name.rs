//! Names of skills and categories: parts of paths, so they are checked before they are used.

/// Longest name.
const MAX_CHARS: usize = 64;

/// Why this cannot be the name of a new skill.
pub fn check_name(name: &str) -> Result<(), String> {
    check("name of a skill", name)
}

/// Why this cannot be the category of a new skill.
pub fn check_category(category: &str) -> Result<(), String> {
    check("category", category)
}

fn check(what: &str, name: &str) -> Result<(), String> {
    let shown = hermes_text::one_line(name, 80);
    if name.chars().count() > MAX_CHARS {
        return Err(format!(
            "'{shown}' is too long for a {what}: at most {MAX_CHARS} characters."
        ));
    }
    let mut letters = name.bytes();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let starts_well = letters.next().is_some_and(is_plain);
    if starts_well && letters.all(|byte| is_plain(byte) || b"._-".contains(&byte)) {
        return Ok(());
    }
    Err(format!(
        "'{shown}' cannot be the {what}: use lower-case letters, digits, dots, hyphens and \
         underscores, and begin with a letter or digit."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_plain_parts_of_a_path() {
        for good in ["a", "code-review", "x.y_z9", &"a".repeat(64)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "A",
            "a/b",
            "..",
            ".a",
            "-a",
            "a b",
            "ä",
            "a\n",
            &"a".repeat(65),
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
