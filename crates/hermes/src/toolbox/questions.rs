//! What somebody at the terminal is asked: whether a command may run, and the password of sudo.

use std::sync::Arc;
use std::time::Duration;

use hermes_policy::{Answer, ApprovalRequest, Approver};
use hermes_secret::SecretString;
use hermes_terminal::sudo::PasswordPrompt;

use crate::ui::{Echo, Person, visible};

/// Asks the person at the terminal.
pub(super) struct Question<'a>(pub(super) &'a Person);

impl Approver for Question<'_> {
    fn ask(&self, request: &ApprovalRequest) -> Answer {
        let answer = self
            .0
            .ask(&shown(request), request.timeout, Echo::On)
            .map(|answer| answer.expose().trim().to_lowercase());
        meaning(answer.as_deref(), request)
    }
}

/// The question as it is shown. The command comes first, so that nothing it says can push the
/// question out of sight.
fn shown(request: &ApprovalRequest) -> String {
    let mut text = String::from("\nThis command needs your approval:\n\n");
    for line in visible(&request.command).lines() {
        text.push_str(&format!("    {line}\n"));
    }
    text.push_str(&format!("\nReason: {}\n", visible(&request.description)));
    if let Some(advice) = &request.advice {
        text.push_str(&format!(
            "The approval model advises against it: {}\n",
            visible(advice)
        ));
    }
    let choices = [
        Some("[o]nce"),
        request.offer_session.then_some("[s]ession"),
        (request.offer_session && request.offer_always).then_some("[a]lways"),
        Some("[d]eny"),
    ];
    let choices: Vec<&str> = choices.into_iter().flatten().collect();
    text.push_str(&format!(
        "{} (within {} s, else deny): ",
        choices.join(", "),
        request.timeout.as_secs()
    ));
    text
}

/// Anything but a clear yes is a no.
fn meaning(answer: Option<&str>, request: &ApprovalRequest) -> Answer {
    match answer {
        Some("o" | "once") => Answer::Once,
        Some("s" | "session") if request.offer_session => Answer::Session,
        Some("a" | "always") if request.offer_session && request.offer_always => Answer::Always,
        _ => Answer::Deny(None),
    }
}

/// Asks the person at the terminal for the password of sudo.
pub(super) struct SudoQuestion(pub(super) Arc<Person>);

impl PasswordPrompt for SudoQuestion {
    fn ask(&self, limit: Duration) -> Option<SecretString> {
        let question = format!(
            "\nThe command uses sudo. Password (hidden, within {} s, Enter to go on without): ",
            limit.as_secs()
        );
        self.0.ask(&question, limit, Echo::Off)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            command: "rm -rf ./x\necho \u{1b}[2Jok \u{202e}evil\r".to_owned(),
            keys: vec!["recursive delete".to_owned()],
            description: "recursive delete".to_owned(),
            offer_session: true,
            offer_always: true,
            timeout: Duration::from_mins(1),
            advice: None,
        }
    }

    #[test]
    fn nothing_in_a_command_changes_what_is_seen() {
        assert_eq!(
            shown(&request()),
            "\nThis command needs your approval:\n\n    rm -rf ./x\n    echo \\u{1b}[2Jok \
             \\u{202e}evil\\u{d}\n\nReason: recursive delete\n\
             [o]nce, [s]ession, [a]lways, [d]eny (within 60 s, else deny): "
        );
    }

    #[test]
    fn only_what_is_offered_can_be_answered() {
        let all = request();
        let no_always = ApprovalRequest {
            offer_always: false,
            ..request()
        };
        let advised_against = ApprovalRequest {
            offer_session: false,
            advice: Some("it deletes".to_owned()),
            ..no_always.clone()
        };
        let deny = || Answer::Deny(None);
        for (answer, expected) in [
            (Some("o"), [Answer::Once, Answer::Once, Answer::Once]),
            (Some("session"), [Answer::Session, Answer::Session, deny()]),
            (Some("a"), [Answer::Always, deny(), deny()]),
            (Some("d"), [deny(), deny(), deny()]),
            (Some(""), [deny(), deny(), deny()]),
            (Some("yes"), [deny(), deny(), deny()]),
            (None, [deny(), deny(), deny()]),
        ] {
            let got = [&all, &no_always, &advised_against].map(|one| meaning(answer, one));
            assert_eq!(got, expected, "{answer:?}");
        }
        assert!(
            shown(&advised_against)
                .contains("The approval model advises against it: it deletes\n[o]nce, [d]eny")
        );
    }
}
