//! Commands of the Python runtime that have no place here: each says what to use instead.

/// Names, and what to do.
const ABSENT: &[(&[&str], &str)] = &[
    (
        &["subscription", "topup"],
        "Accounts are managed on the page of their provider; /usage shows what this session took.",
    ),
    (
        &["update"],
        "Hermes does not update itself: install the new version the way you installed this one.",
    ),
    (
        &["codex-runtime"],
        "Every turn runs in this program; /model chooses who answers.",
    ),
    (
        &["pet", "hatch"],
        "There are no pets; /skin and /indicator change what the chat looks like.",
    ),
    (
        &["handoff", "platforms", "platform", "sethome", "topic"],
        "No chat platform is connected in this version; /save writes the conversation to a file.",
    ),
    (
        &["snapshot", "snap"],
        "`hermes backup` saves the Hermes home; /rollback goes back to snapshots of your files.",
    ),
    (
        &["moa"],
        "One model answers here; /model chooses another, and /background asks beside this session.",
    ),
    (
        &["voice"],
        "There is no voice in this version; type, or dictate with the system's own dictation.",
    ),
    (
        &["journey", "learn", "suggestions"],
        "/memory shows what is remembered; ask the agent to remember something else.",
    ),
    (
        &["bundles", "blueprint", "curator"],
        "Skills are used one by one: /skills lists them, /NAME loads one.",
    ),
    (
        &["browser"],
        "There is no browser in this version; /tools shows what the model can call.",
    ),
    (
        &["approve", "deny", "commands", "start", "restart"],
        "This is a command for chat platforms; at a terminal, questions are answered where they \
         appear and /help lists the commands.",
    ),
];

/// What to do instead of a command that is not here.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    let found = ABSENT.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;

    #[test]
    fn no_command_is_both_here_and_absent() {
        for command in COMMANDS {
            for name in command.names {
                assert_eq!(instead_of(name), None, "{name}");
            }
        }
    }
}
