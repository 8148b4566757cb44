//! What an exit code means where it is no failure, or a failure of a known kind.
//!
//! The code of a list is that of its last command; where nobody can tell which that is, there is no
//! hint.

use hermes_shell::last_program;

/// A hint for the exit code of a command; `None` for 0 and for codes nobody can explain.
pub(super) fn exit_code_meaning(command: &str, exit_code: i32) -> Option<&'static str> {
    if exit_code == 0 {
        return None;
    }
    let general = match exit_code {
        126 => Some("the command or its directory cannot be executed or entered"),
        127 => Some("command not found"),
        137 => Some("killed by SIGKILL, perhaps out of memory"),
        -9 => Some("the shell was killed by SIGKILL, perhaps out of memory"),
        -15 => Some("the shell was terminated by SIGTERM"),
        _ => None,
    };
    general.or_else(|| of_program(last_program(command)?, exit_code))
}

fn of_program(program: &str, exit_code: i32) -> Option<&'static str> {
    let meaning = match (program, exit_code) {
        ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", 1) => "no matches (not an error)",
        ("diff" | "colordiff", 1) => "the files differ (not an error)",
        ("find", 1) => "some directories could not be read; the results may be partial",
        ("test" | "[", 1) => "the condition is false (not an error)",
        ("curl", 6) => "the host name could not be resolved",
        ("curl", 7) => "the connection failed",
        ("curl", 22) => "the server answered with an HTTP error",
        ("curl", 28) => "the request timed out",
        ("git", 1) => "often normal: for example, git diff found changes",
        _ => return None,
    };
    Some(meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn codes_get_their_meaning() {
        assert!(exit_code_meaning("grep x f", 1).is_some());
        assert_eq!(exit_code_meaning("grep x f", 2), None);
        assert_eq!(exit_code_meaning("grep x f", 0), None);
        assert_eq!(exit_code_meaning("echo grep", 1), None);
        assert_eq!(exit_code_meaning("x", 127), Some("command not found"));
        assert!(exit_code_meaning("x", -9).is_some());
    }
}
