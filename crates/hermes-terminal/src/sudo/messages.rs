//! What sudo says, recognised.

/// Whether sudo refused the password it was given. The count in its message varies.
pub(crate) fn password_was_rejected(output: &str) -> bool {
    output.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("incorrect password attempt") || line.contains("authentication failed")
    }) && output.contains("sudo")
}

/// A line for people in a chat, where nobody can type a password.
pub(super) fn sudo_hint(output: &str) -> Option<&'static str> {
    let asks = output.lines().any(|line| {
        line.contains("sudo: a password is required")
            || line.contains("sudo: a terminal is required")
            || line.contains("sudo: no tty present")
    });
    asks.then_some("Hint: sudo needs a password; set SUDO_PASSWORD in the profile's .env file.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sudos_own_words_are_recognised() {
        assert!(password_was_rejected(
            "sudo: 1 incorrect password attempt\n"
        ));
        assert!(password_was_rejected(
            "x\nsudo: 3 incorrect password attempts"
        ));
        assert!(!password_was_rejected("git: authentication failed"));
        assert!(sudo_hint("sudo: a password is required").is_some());
        assert!(sudo_hint("all is well").is_none());
    }
}
