//! Scripts with arguments of any bytes, as text that every POSIX shell reads the same way.

/// What programs of a script take for a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locale {
    /// A byte.
    Bytes,
    /// The host's own locale.
    Usual,
}

/// A script whose positional parameters are `arguments`. Messages of programs are discarded unless
/// the script asks for them. In a shell of its own, so that its traps and exits are not those of
/// whoever runs it.
pub(crate) fn script(locale: Locale, parts: &[&str], arguments: &[&[u8]]) -> String {
    let mut text = "(\nexec 2>/dev/null\n".to_owned();
    if locale == Locale::Bytes {
        text.push_str("LC_ALL=C\nexport LC_ALL\n");
    }
    text.push_str("set --");
    for argument in arguments {
        text.push(' ');
        text.push_str(&word(argument));
    }
    for part in parts {
        text.push('\n');
        text.push_str(part);
    }
    text.push_str("\n)\n");
    text
}

/// A word the shell reads as these bytes, which hold no NUL.
pub(crate) fn word(bytes: &[u8]) -> String {
    let mut word = "'".to_owned();
    for chunk in bytes.utf8_chunks() {
        word.push_str(&chunk.valid().replace('\'', r"'\''"));
        if !chunk.invalid().is_empty() {
            // Never a newline among them, so the substitution gives them back as they are.
            word.push_str("'\"$(printf '");
            for byte in chunk.invalid() {
                word.push_str(&format!("\\{byte:03o}"));
            }
            word.push_str("')\"'");
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "real shells judge the quoting")]

    use std::process::Command;

    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn printed(shell: &[&str], script: &str) -> Vec<u8> {
        let (program, first) = shell.split_first().unwrap();
        let mut command = Command::new(program);
        let output = command.args(first).arg("-c").arg(script).output().unwrap();
        assert!(output.status.success(), "{shell:?}: {script}");
        output.stdout
    }

    #[test]
    fn shells_read_the_same_bytes() {
        let arguments: [&[u8]; 6] = [
            b"",
            b"it's $x `y` \\ \"z\" !",
            b"two\nlines\n\n",
            b"-n",
            b"\xff\xfe bad \xc3",
            "é 日本".as_bytes(),
        ];
        let script = script(Locale::Bytes, &[r#"printf '%s\0' "$@""#], &arguments);
        let expected: Vec<u8> = arguments
            .iter()
            .flat_map(|argument| [*argument, &[0]].concat())
            .collect();
        for shell in [&["bash"] as &[&str], &["sh"], &["busybox", "sh"]] {
            assert_eq!(printed(shell, &script), expected, "{shell:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_bytes_arrive(bytes in proptest::collection::vec(1_u8.., 0..64)) {
            let script = script(Locale::Bytes, &[r#"printf '%s' "$1""#], &[&bytes]);
            for shell in [&["bash"] as &[&str], &["sh"], &["busybox", "sh"]] {
                prop_assert_eq!(printed(shell, &script), bytes.clone());
            }
        }
    }
}
