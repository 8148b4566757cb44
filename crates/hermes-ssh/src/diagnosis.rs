//! What `ssh` meant when it gave up.
//!
//! `ssh` has one exit code for all troubles of its own, so its words decide. Pure; never tries
//! anything.

use super::settings::SshSettings;
use hermes_terminal::remote::{TransportError, Trouble};

/// The exit code for everything that goes wrong before or beside the program there.
pub(crate) const SSH_FAILED: i32 = 255;
/// Characters of the other side's words in a message.
const MAX_WORDS: usize = 2000;

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    HostKeyChanged,
    HostKeyRefused,
    PermissionDenied,
    UnknownHost,
    /// Nobody listens there, or nobody gets there, at the moment.
    Unreachable,
    /// There was a connection, and it broke.
    Lost,
    OwnSettings,
    Unknown,
}

/// Words by which a cause is known, most telling first: a refused key is also a closed connection.
const SIGNS: &[(&str, Cause)] = &[
    (
        "remote host identification has changed",
        Cause::HostKeyChanged,
    ),
    ("host key verification failed", Cause::HostKeyRefused),
    ("permission denied", Cause::PermissionDenied),
    ("too many authentication failures", Cause::PermissionDenied),
    ("bad configuration option", Cause::OwnSettings),
    ("bad owner or permissions", Cause::OwnSettings),
    ("mux_client", Cause::Lost),
    ("control socket", Cause::Lost),
    ("name or service not known", Cause::UnknownHost),
    ("nodename nor servname", Cause::UnknownHost),
    ("no address associated", Cause::UnknownHost),
    ("temporary failure in name resolution", Cause::Unreachable),
    ("connection refused", Cause::Unreachable),
    ("connection timed out", Cause::Unreachable),
    ("operation timed out", Cause::Unreachable),
    ("no route to host", Cause::Unreachable),
    ("network is unreachable", Cause::Unreachable),
    ("connection reset", Cause::Lost),
    ("connection closed", Cause::Lost),
    ("closed by remote host", Cause::Lost),
    ("broken pipe", Cause::Lost),
    ("session open refused", Cause::Lost),
    ("shared connection", Cause::Lost),
];

pub(crate) fn cause_of(stderr: &str) -> Cause {
    let text = stderr.to_lowercase();
    if words(stderr).is_empty() {
        // A client that shares a connection says nothing when that breaks.
        return Cause::Lost;
    }
    let sign = SIGNS.iter().find(|(sign, _)| text.contains(sign));
    sign.map_or(Cause::Unknown, |(_, cause)| *cause)
}

/// The other side's own words on one line, without what is no news.
pub(crate) fn words(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| {
        let bare = line.trim().trim_matches('@').trim();
        bare.chars().filter(|letter| !letter.is_control()).collect()
    });
    let telling = lines.filter(|line: &String| {
        !line.is_empty() && !line.starts_with("Warning: Permanently added ")
    });
    let joined = telling.collect::<Vec<_>>().join("; ");
    let surplus = joined.chars().count().saturating_sub(MAX_WORDS);
    joined.chars().skip(surplus).collect()
}

impl Cause {
    /// Whether it is the machine or the way to it, as opposed to a setting.
    pub(crate) fn is_missing_part(self) -> bool {
        matches!(self, Self::Unreachable | Self::Lost | Self::Unknown)
    }

    /// What to do.
    pub(crate) fn hint(self, settings: &SshSettings) -> String {
        let SshSettings { host, port, .. } = settings;
        let target = settings.target();
        let port_words = settings
            .port_option()
            .map_or_else(String::new, |port| format!("-p {port} "));
        match self {
            Self::HostKeyChanged => {
                let name = match settings.port_option() {
                    Some(port) => format!("[{host}]:{port}"),
                    None => host.clone(),
                };
                format!(
                    "find out why the key changed; if it is the right machine, remove the old key \
                     with: ssh-keygen -R '{name}'"
                )
            }
            Self::HostKeyRefused => format!(
                "log in once by hand to see the problem with its key: ssh {port_words}{target}"
            ),
            Self::PermissionDenied => format!(
                "check terminal.ssh_user and terminal.ssh_key; Hermes never asks for passwords, so \
                 install your key first: ssh-copy-id {port_words}{target}"
            ),
            Self::UnknownHost => format!("check terminal.ssh_host: '{host}' could not be resolved"),
            Self::Unreachable | Self::Lost | Self::Unknown => format!(
                "check that {host} is up and answers on port {port}: ssh {port_words}{target} true"
            ),
            Self::OwnSettings => "fix your ssh configuration (~/.ssh/config)".to_owned(),
        }
    }
}

/// The error for a part that is missing or does not answer.
pub(crate) fn down(message: String, hint: Option<String>) -> TransportError {
    TransportError {
        message,
        hint,
        is_missing_part: true,
    }
}

/// The error for a connection that did not come about.
pub(crate) fn connection_failed(stderr: &str, settings: &SshSettings) -> TransportError {
    let cause = cause_of(stderr);
    let reason = match (cause, words(stderr)) {
        (Cause::HostKeyChanged, _) => {
            format!("the host key of {} has changed", settings.host)
        }
        (_, words) if words.is_empty() => "no reason was given".to_owned(),
        (_, words) => words,
    };
    TransportError {
        message: format!("SSH connection failed: {reason}"),
        hint: Some(cause.hint(settings)),
        is_missing_part: cause.is_missing_part(),
    }
}

/// What it means that a client ended before the program there had started.
pub(crate) fn trouble(code: Option<i32>, stderr: &str, settings: &SshSettings) -> Trouble {
    let target = settings.target();
    match code {
        Some(SSH_FAILED) => match cause_of(stderr) {
            Cause::Lost => Trouble::Gone,
            Cause::Unreachable => Trouble::Passing(connection_failed(stderr, settings)),
            _ => Trouble::Final(connection_failed(stderr, settings)),
        },
        Some(code) => {
            let words = words(stderr);
            let reason = if words.is_empty() {
                format!("exit code {code}")
            } else {
                format!("{words} (exit code {code})")
            };
            Trouble::Final(down(
                format!("could not start a command on {target}: {reason}"),
                Some(format!(
                    "check that {target} has a POSIX login shell and bash"
                )),
            ))
        }
        None => Trouble::Passing(down(
            format!("the ssh client for {target} was killed"),
            None,
        )),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn settings(port: u16) -> SshSettings {
        SshSettings {
            host: "box".to_owned(),
            user: "me".to_owned(),
            port,
            key: None,
            persistent_shell: true,
            start_directory: "~".into(),
        }
    }

    const CHANGED: &str = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n\
        @    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n\
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n\
        IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n\
        Host key for [box]:2222 has changed and you have requested strict checking.\n\
        Host key verification failed.\n";

    #[test]
    fn causes_are_known_by_the_clients_words() {
        for (stderr, cause) in [
            (CHANGED, Cause::HostKeyChanged),
            ("Host key verification failed.", Cause::HostKeyRefused),
            (
                "me@box: Permission denied (publickey).",
                Cause::PermissionDenied,
            ),
            (
                "ssh: Could not resolve hostname box: Name or service not known",
                Cause::UnknownHost,
            ),
            (
                "ssh: Could not resolve hostname box: Temporary failure in name resolution",
                Cause::Unreachable,
            ),
            (
                "ssh: connect to host box port 22: Connection refused",
                Cause::Unreachable,
            ),
            (
                "kex_exchange_identification: read: Connection reset by peer",
                Cause::Lost,
            ),
            ("Connection closed by 10.0.0.1 port 22", Cause::Lost),
            ("client_loop: send disconnect: Broken pipe", Cause::Lost),
            (
                "mux_client_request_session: read from master failed: Broken pipe",
                Cause::Lost,
            ),
            (
                "Control socket connect(/tmp/x.sock): Connection refused",
                Cause::Lost,
            ),
            ("", Cause::Lost),
            (
                "Warning: Permanently added 'box' (ED25519) to the list\r\n",
                Cause::Lost,
            ),
            (
                "/root/.ssh/config: line 1: Bad configuration option: x",
                Cause::OwnSettings,
            ),
            ("something new", Cause::Unknown),
        ] {
            assert_eq!(cause_of(stderr), cause, "{stderr}");
        }
    }

    #[test]
    fn messages_are_one_line_with_a_way_out() {
        let error = connection_failed(CHANGED, &settings(2222));
        assert_eq!(
            error.message,
            "SSH connection failed: box has another host key than before"
        );
        assert!(error.hint.unwrap().ends_with("ssh-keygen -R '[box]:2222'"));
        assert!(!error.is_missing_part);

        let refused = "Warning: Permanently added 'box' (ED25519) to the list of known hosts.\r\n\
                       me@box: Permission denied (publickey).\r\n";
        let error = connection_failed(refused, &settings(22));
        assert_eq!(
            error.message,
            "SSH connection failed: me@box: Permission denied (publickey)."
        );
        assert!(error.hint.unwrap().ends_with("ssh-copy-id me@box"));
    }

    #[test]
    fn a_broken_connection_is_gone_a_refused_key_is_final() {
        let trouble = |code, stderr| trouble(code, stderr, &settings(22));
        assert_eq!(
            trouble(Some(255), "Connection reset by peer"),
            Trouble::Gone
        );
        assert_eq!(trouble(Some(255), ""), Trouble::Gone);
        assert!(matches!(
            trouble(Some(255), "connect: Connection refused"),
            Trouble::Passing(_)
        ));
        assert!(matches!(trouble(Some(255), CHANGED), Trouble::Final(_)));
        assert!(matches!(trouble(None, ""), Trouble::Passing(_)));
        let Trouble::Final(error) = trouble(Some(127), "bash: not found") else {
            panic!("a missing shell does not pass");
        };
        assert_eq!(
            error.message,
            "nothing could be started at me@box: bash: not found (exit code 127)"
        );
    }

    #[test]
    fn words_are_cut_at_the_front() {
        let long = format!("{}\u{e4}nd", "x".repeat(3000));
        let words = words(&long);
        assert_eq!(words.chars().count(), MAX_WORDS);
        assert!(words.ends_with("\u{e4}nd"));
    }
}
