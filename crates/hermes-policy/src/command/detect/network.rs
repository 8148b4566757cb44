//! Shells that somebody else on the network gets to use.

use super::super::keys;
use super::{Call, Keys, short_letters};
use hermes_shell::programs::{ShellInput, is_shell, shell_text};
use hermes_shell::{Command, is_long};

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    let command = call.command;
    let connected = command
        .redirects
        .iter()
        .any(|redirect| is_connection(&redirect.target.text));
    if connected
        && (is_shell(call.name()) || matches!(call.name(), "exec" | "eval" | "source" | "."))
    {
        keys.push(keys::REVERSE_SHELL);
    }
    let is_awk = matches!(call.name(), "awk" | "gawk");
    if is_awk && command.texts().any(|text| text.contains("/inet")) && runs_what_arrives(command) {
        keys.push(keys::REVERSE_SHELL);
    }
    if !is_connector(call.name()) {
        return;
    }
    let given = command.texts().any(|text| {
        let lower = text.to_ascii_lowercase();
        lower.contains("exec:")
            || lower.contains("system:")
            || lower.contains("shell:")
            || is_long(text, "--exec", 4)
            || is_long(text, "--sh-exec", 5)
            || is_long(text, "--lua-exec", 6)
    });
    let by_letter = is_netcat(call.name())
        && command
            .texts()
            .filter_map(short_letters)
            .any(|letters| letters.contains(['e', 'c']));
    let upstream = call.script.upstream(command);
    if given || by_letter || upstream.into_iter().any(is_open_shell) {
        keys.push(keys::REVERSE_SHELL);
    }
}

/// Whether a file name is a connection to the shell.
fn is_connection(text: &str) -> bool {
    text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}

/// Whether a script of awk runs what it reads: a connection can be read line by line as well.
fn runs_what_arrives(command: &Command) -> bool {
    let runs =
        |text: &str| text.contains("|&") || text.contains("| getline") || text.contains("system");
    command.texts().any(runs)
}

fn is_netcat(name: &str) -> bool {
    matches!(
        name,
        "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" | "pwncat"
    )
}

fn is_connector(name: &str) -> bool {
    is_netcat(name)
        || matches!(
            name,
            "socat" | "socat1" | "telnet" | "openssl" | "websocat" | "cryptcat"
        )
}

/// Whether a command is a shell that does whatever arrives at it.
fn is_open_shell(command: &Command) -> bool {
    is_shell(command.name())
        && (matches!(shell_text(command), Some(ShellInput::Stdin))
            || command
                .texts()
                .filter_map(short_letters)
                .any(|letters| letters.contains('i')))
}
