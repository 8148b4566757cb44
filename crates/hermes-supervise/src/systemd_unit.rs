//! The text of a systemd unit: rendered, quoted, compared with one that is there.

use crate::account::Account;
use crate::definition::GatewayDefinition;

/// Shortest time a stopping gateway has.
const LEAST_STOP: u64 = 60;

/// The unit of a gateway: of the system if it runs as an account, else of the user.
pub(crate) fn unit(gateway: &GatewayDefinition, account: Option<&Account>) -> String {
    let words = [gateway.program.as_str()].into_iter();
    let words: Vec<String> = words.chain(gateway.arguments()).map(word).collect();
    let mut service = vec![
        ("Type", "notify".to_owned()),
        ("ExecStart", words.join(" ")),
        // Taken as it stands but for the percent signs; quotes would be part of the path.
        ("WorkingDirectory", specifiers(&gateway.home)),
        ("Environment", variable("HERMES_HOME", &gateway.home)),
        ("Environment", variable("PATH", &gateway.path)),
    ];
    if let Some(account) = account {
        service.extend([
            ("User", specifiers(&account.name)),
            ("Group", specifiers(&account.group)),
            ("Environment", variable("HOME", &account.home)),
            ("Environment", variable("USER", &account.name)),
            ("Environment", variable("LOGNAME", &account.name)),
        ]);
    }
    if let Some(watchdog) = gateway.watchdog {
        service.push(("NotifyAccess", "main".to_owned()));
        service.push(("WatchdogSec", format!("{}s", watchdog.as_secs())));
    }
    let stop = gateway.stop_limit().as_secs().max(LEAST_STOP);
    service.extend([
        ("Restart", "always".to_owned()),
        ("RestartSec", "5".to_owned()),
        ("RestartForceExitStatus", "75".to_owned()),
        ("RestartPreventExitStatus", "78".to_owned()),
        ("KillMode", "mixed".to_owned()),
        ("KillSignal", "SIGTERM".to_owned()),
        ("TimeoutStopSec", stop.to_string()),
        ("ExecReload", "/bin/kill -USR1 $MAINPID".to_owned()),
    ]);
    let target = match account {
        Some(_) => "multi-user.target",
        None => "default.target",
    };
    let before = [
        ("Description", specifiers(&gateway.described())),
        ("After", "network-online.target".to_owned()),
        ("Wants", "network-online.target".to_owned()),
        // The gateway slows itself down when it is started too often.
        ("StartLimitIntervalSec", "0".to_owned()),
    ];
    let after = [("WantedBy", target.to_owned())];
    [
        section("Unit", &before),
        section("Service", &service),
        section("Install", &after),
    ]
    .join("\n")
}

fn section(name: &str, directives: &[(&str, String)]) -> String {
    let lines = directives
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"));
    format!("[{name}]\n{}", lines.collect::<String>())
}

/// A word of a command line. Variables and specifiers in it mean nothing.
fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=+:,@".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    quoted(&text.replace('$', "$$"))
}

/// An assignment, quoted as a whole.
fn variable(name: &str, value: &str) -> String {
    quoted(&format!("{name}={value}"))
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", specifiers(&escaped))
}

fn specifiers(text: &str) -> String {
    text.replace('%', "%%")
}

/// Whether a unit that is there does what this one would: `PATH` may have grown since, and space at
/// the end of lines means nothing.
pub(crate) fn is_current(there: &str, wanted: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim_end);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with("Environment=\"PATH="))
            .map(str::to_owned)
            .collect()
    };
    lines(there) == lines(wanted)
}

/// Whether a unit was written by the Python runtime: its interpreter runs the gateway, or it hands on
/// the environment that interpreter lives in.
pub(crate) fn is_of_python(unit: &str) -> bool {
    unit.lines().map(str::trim_start).any(|line| {
        let starts = line.strip_prefix("ExecStart=");
        let sets = line.strip_prefix("Environment=");
        starts.is_some_and(|command| command.contains("hermes_cli") || command.contains("python"))
            || sets.is_some_and(|value| value.trim_matches('"').starts_with("VIRTUAL_ENV="))
    })
}

/// Whether a unit runs a gateway of this program or of the Python runtime.
pub(crate) fn runs_a_gateway(unit: &str) -> bool {
    unit.lines()
        .filter_map(|line| line.trim_start().strip_prefix("ExecStart="))
        .any(|command| {
            let words: Vec<&str> = command.split_whitespace().collect();
            let is_program = |word: &str| {
                let word = word.trim_start_matches(['-', '@', ':', '+', '!', '"']);
                ["hermes", "hermes_cli/main.py", "hermes_cli.main"]
                    .iter()
                    .any(|program| word == *program || word.ends_with(&format!("/{program}")))
            };
            let calls =
                |pair: &[&str]| is_program(pair[0].trim_end_matches('"')) && pair[1] == "gateway";
            words.windows(2).any(calls) || words.iter().any(|word| word.ends_with("gateway/run.py"))
        })
}

/// The account that a unit of the system runs as.
pub(crate) fn account_of(unit: &str) -> Option<String> {
    let name = unit
        .lines()
        .find_map(|line| line.trim().strip_prefix("User="))?;
    Some(name.trim().replace("%%", "%"))
}

#[cfg(test)]
#[path = "systemd_unit_tests.rs"]
mod tests;
