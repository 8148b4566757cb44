//! The question whether a risky command may run, as text, and the meaning of what is typed.

use hermes_policy::{Answer, ApprovalRequest};

use super::visible;

/// The question as it is shown. The command comes first, so that nothing it says can push the
/// question out of sight.
pub(super) fn prompt(request: &ApprovalRequest) -> String {
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
        "{} (default after {} s: deny): ",
        choices.join(", "),
        request.timeout.as_secs()
    ));
    text
}

/// The meaning of the typed answer; anything but a clear yes is a denial.
pub(super) fn meaning(answer: Option<&str>, request: &ApprovalRequest) -> Answer {
    match answer {
        Some("o" | "once") => Answer::Once,
        Some("s" | "session") if request.offer_session => Answer::Session,
        Some("a" | "always") if request.offer_session && request.offer_always => Answer::Always,
        _ => Answer::Deny(None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn control_characters_of_a_command_are_spelled_out() {
        assert_eq!(
            prompt(&request()),
            "\nThis command needs your approval:\n\n    rm -rf ./x\n    echo \\u{1b}[2Jok \
             \\u{202e}evil\\u{d}\n\nReason: recursive delete\n\
             [o]nce, [s]ession, [a]lways, [d]eny (within 60 s, else deny): "
        );
    }

    #[test]
    fn only_offered_answers_approve() {
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
            prompt(&advised_against)
                .contains("The approval model advises against it: it deletes\n[o]nce, [d]eny")
        );
    }
}
