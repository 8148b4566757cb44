//! Texts that are nothing but variables: files of them by their names, and what such a file looks
//! like when a program prints it. There a name says what its value is; in source code it does not.

/// Whether a file of this name holds variables with their values: `.env`, `.env.local`, `prod.env`,
/// `.envrc`.
pub fn is_variables_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == ".envrc" || name.strip_suffix(".env").is_some() || name.starts_with(".env.")
}

/// Whether a text has at least two lines `NAME=value`, numbered or not, and besides them only
/// comments and empty lines.
pub(crate) fn are_assignments(text: &str) -> bool {
    let mut count = 0;
    for line in text.lines() {
        let line = without_number(line).trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=') {
            Some((name, _)) if is_variable(name) => count += 1,
            _ => return false,
        }
    }
    count >= 2
}

/// The line without the number that a page of a file puts before it.
fn without_number(line: &str) -> &str {
    let numbered = line.trim_start().split_once('|');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match numbered {
        Some((number, rest)) if is_number(number) => rest,
        _ => line,
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_variables_are_known_by_their_names() {
        for name in [".env", ".env.local", "prod.env", ".ENV", ".envrc"] {
            assert!(is_variables_file(name), "{name}");
        }
        for name in [".venv", "env", "environment.rs", "a.env.rs", ""] {
            assert!(!is_variables_file(name), "{name}");
        }
    }

    #[test]
    fn only_what_is_nothing_but_assignments_counts() {
        for text in [
            "A=1\nB_2=x y\n",
            "# a comment\n\nexport A=1\nb=\n",
            "     1|A=1\n     2|\n     3|B=2",
        ] {
            assert!(are_assignments(text), "{text}");
        }
        for text in [
            "",
            "A=1\n",
            "A=1\nB=2\necho done\n",
            "A = 1\nB = 2\n",
            "a.b=1\na.c=2",
            "1=2\n3=4",
            "if (a==b)\nA=1\nB=2",
        ] {
            assert!(!are_assignments(text), "{text}");
        }
    }
}
