//! What the sandbox kept a command from, read from its output.
//!
//! Programs say which path they could not change, or which address they could not reach, in words of
//! their own around the words of the system. Pure: a text and a plan in, one line out.

use std::path::{Component, Path, PathBuf};

use hermes_proc::sandbox::{Network, SandboxPlan};

/// Only the end of a long output is looked at: errors stand there.
const LOOKED_AT: usize = 16 * 1024;

/// What the system says when the sandbox says no.
const REFUSALS: &[&str] = &[
    "permission denied",
    "read-only file system",
    "operation not permitted",
    "device or resource busy",
    "invalid cross-device link",
    "erofs",
    "eacces",
    "eperm",
    "no new privileges",
];

/// Directories that `terminal.sandbox_write` does not take.
const NEVER_WRITABLE: &[&str] = &["/etc", "/boot", "/dev", "/sys", "/usr/lib/systemd"];

/// What programs say when there is no network.
const NETWORK_REFUSALS: &[&str] = &[
    "could not resolve",
    "temporary failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "getaddrinfo",
    "failed to connect",
    "couldn't connect",
    "connection refused",
    "dns error",
    "socket",
];

/// One line of advice about a command that the sandbox kept from something.
pub(crate) fn wall_hint(
    output: &str,
    exit_code: i32,
    cwd: &Path,
    plan: &SandboxPlan,
) -> Option<String> {
    let start = output.ceil_char_boundary(output.len().saturating_sub(LOOKED_AT));
    let output = output.get(start..).unwrap_or_default();
    let mut refused = false;
    for line in output.lines() {
        let lower = line.to_lowercase();
        if lower.contains("no such file") {
            let mut paths = paths_in(line, cwd);
            if let Some(path) = paths.find(|path| is_hidden(path, plan)) {
                return Some(about_hidden(&path));
            }
        }
        if !REFUSALS.iter().any(|words| lower.contains(words)) {
            continue;
        }
        refused = true;
        if let Some(hint) = paths_in(line, cwd).find_map(|path| about_path(&path, plan)) {
            return Some(hint);
        }
    }
    if exit_code == 0 {
        return None;
    }
    if plan.network != Network::On {
        let lower = output.to_lowercase();
        let is_network = NETWORK_REFUSALS.iter().any(|words| lower.contains(words));
        if is_network || (refused && lower.contains("connect")) {
            let (reach, word) = match plan.network {
                Network::Loopback => ("addresses of this machine only", "loopback"),
                Network::Off | Network::On => ("no network", "off"),
            };
            let address = address_in(output)
                .map(|address| format!(" ({address})"))
                .unwrap_or_default();
            return Some(format!(
                "hint: sandboxed commands reach {reach}{address}, because \
                 terminal.sandbox_network is {word}; the user sets it to on in config.yaml"
            ));
        }
    }
    refused.then(|| {
        "hint: this command ran in the sandbox, which lets it change its workspace only and does \
         not allow other users' rights, mounts, namespaces, tracing or signals to processes outside; \
         the user can allow paths with terminal.sandbox_write"
            .to_owned()
    })
}

fn about_path(path: &Path, plan: &SandboxPlan) -> Option<String> {
    let shown = path.display();
    if is_hidden(path, plan) {
        return Some(about_hidden(path));
    }
    if path.starts_with("/proc") {
        return Some(format!(
            "hint: {shown} belongs to a process outside of the sandbox, or to the kernel; no setting \
             allows it"
        ));
    }
    if plan.protected.iter().any(|kept| path.starts_with(kept)) {
        return Some(format!(
            "hint: {shown} decides what git runs, so sandboxed commands cannot change it; the user \
             changes it outside"
        ));
    }
    if plan.may_write(path) {
        return None;
    }
    let directory = path.parent().unwrap_or(path);
    // What holds private places or the machine's settings is never writable as a whole.
    let holds_private = plan
        .hidden
        .iter()
        .any(|hidden| hidden.starts_with(directory));
    if holds_private
        || NEVER_WRITABLE
            .iter()
            .any(|root| directory.starts_with(root))
    {
        return Some(format!(
            "hint: the sandbox keeps this command from changing {shown}, and no setting allows it; \
             work in the workspace, or the user runs it outside"
        ));
    }
    Some(format!(
        "hint: the sandbox keeps this command from changing {shown}; the user adds {} to \
         terminal.sandbox_write in config.yaml to allow it",
        directory.display()
    ))
}

fn is_hidden(path: &Path, plan: &SandboxPlan) -> bool {
    let mut hidden = plan.hidden.iter().chain(&plan.sockets);
    hidden.any(|hidden| path.starts_with(hidden))
}

fn about_hidden(path: &Path) -> String {
    format!(
        "hint: {} is private: sandboxed commands cannot see it (`hermes sandbox policy` lists what \
         they cannot)",
        path.display()
    )
}

/// Words of a line that look like paths, the last first: that is where programs put them.
fn paths_in<'a>(line: &'a str, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let is_edge = |c: char| {
        matches!(
            c,
            '\'' | '"' | '`' | '(' | ')' | ':' | ',' | ';' | '‘' | '’'
        )
    };
    let words = line.split(|c: char| c.is_whitespace() || is_edge(c));
    let words: Vec<&str> = words.collect();
    words
        .into_iter()
        .rev()
        .filter(|word| word.contains('/') && !word.contains("//"))
        // Names by which bash means addresses.
        .filter(|word| !word.starts_with("/dev/tcp/") && !word.starts_with("/dev/udp/"))
        .map(move |word| plain(&cwd.join(word.trim_end_matches('.'))))
}

/// The path without `.` and `..`, which need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The first word that looks like a host or an address.
fn address_in(output: &str) -> Option<&str> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '(' | ')' | ',' | ';');
    output
        .split(is_edge)
        .map(|word| word.trim_end_matches([':', '.']))
        .find(|word| {
            let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '/');
            word.len() > 3
                && word.contains('.')
                && word.chars().all(letters)
                && !word.starts_with(['/', '.'])
                && !Path::new(word).extension().is_some_and(|end| {
                    ["py", "rs", "js", "sh", "txt", "so", "json"]
                        .iter()
                        .any(|it| end == *it)
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(network: Network) -> SandboxPlan {
        SandboxPlan {
            writable: vec!["/w".into()],
            protected: vec!["/w/.git/hooks".into()],
            hidden: vec!["/h/.ssh".into()],
            network,
            ..SandboxPlan::default()
        }
    }

    fn hint(output: &str, code: i32) -> String {
        wall_hint(output, code, Path::new("/w/sub"), &plan(Network::On)).unwrap_or_default()
    }

    #[test]
    fn paths_are_found_in_the_words_of_programs() {
        for (output, part) in [
            (
                "bash: line 1: /etc/x: Permission denied",
                "no setting allows",
            ),
            (
                "bash: line 1: /srv/x/y: Permission denied",
                "adds /srv/x to",
            ),
            ("cat: /h/.ssh/id: No such file or directory", "is private"),
            ("bash: /h/y: Read-only file system", "no setting allows"),
            (
                "touch: cannot touch '/opt/a b': Read-only file system",
                "/opt",
            ),
            (
                "cp: cannot create regular file '../../x/y': Read-only file system",
                "/x/y",
            ),
            (
                "cat: /h/.ssh/id: Permission denied",
                "/h/.ssh/id is private",
            ),
            (
                "cannot lock ref: open /w/.git/hooks/pre: Device or resource busy",
                "decides what git runs",
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/usr/lib/x'",
                "terminal.sandbox_write",
            ),
        ] {
            let hint = hint(output, 1);
            assert!(
                hint.contains(part) && !hint.contains('\n'),
                "{output}: {hint}"
            );
        }
    }

    #[test]
    fn without_a_path_it_says_what_a_sandbox_is() {
        let hint = hint("unshare: unshare failed: Operation not permitted", 1);
        assert!(hint.contains("ran in the sandbox"), "{hint}");
    }

    #[test]
    fn silence_about_commands_that_hit_nothing() {
        for (output, code) in [
            ("error: expected expression", 1),
            ("all good", 0),
            ("grep: permission denied is a phrase", 0),
            ("", 1),
            ("ssh: connect to host a.example.org: Connection refused", 1),
        ] {
            assert_eq!(hint(output, code), "", "{output}");
        }
    }

    #[test]
    fn a_network_that_is_switched_off_is_named_with_the_address() {
        let output = "curl: (6) Could not resolve host: api.example.org";
        let told = wall_hint(output, 6, Path::new("/w"), &plan(Network::Off)).unwrap();
        assert!(told.contains("api.example.org"), "{told}");
        assert!(told.contains("terminal.sandbox_network is off"), "{told}");
        assert_eq!(
            wall_hint(output, 6, Path::new("/w"), &plan(Network::On)),
            None
        );
    }
}
