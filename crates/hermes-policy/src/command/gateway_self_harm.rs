//! Inside the gateway, commands that would stop the gateway: the turn that asked would die with it,
//! so no approval helps.

use super::detect::hermes_call;
use hermes_shell::{Analysis, Command, Reach, is_one_of};

/// Verbs of `systemctl` that leave a running gateway alone.
const HARMLESS: &str = "status show cat is-active is-enabled is-failed list-units list-dependencies \
    enable start help";

/// Why a command must not run inside the gateway, if so.
pub(crate) fn gateway_self_harm(analysis: &Analysis<'_>) -> Option<String> {
    let found = analysis
        .script
        .certain()
        .map(|(_, command)| command)
        .filter(|command| command.reach != Reach::Container)
        .find(|command| stops_gateway(command))?;
    let shown: String = found.render(true).chars().take(80).collect();
    Some(format!(
        "'{shown}' would stop the gateway this conversation runs in. Ask the user to run it in a terminal of their own."
    ))
}

fn stops_gateway(command: &Command) -> bool {
    let unit = |text: &str| {
        let lower = text.to_ascii_lowercase();
        lower.contains("hermes-gateway") || lower.contains("hermes.gateway")
    };
    match command.name() {
        "systemctl" => {
            let verb = command.texts().find(|text| !text.starts_with('-'));
            let harmless = verb.is_none_or(|verb| is_one_of(verb, HARMLESS));
            !harmless && command.texts().any(unit)
        }
        "launchctl" => {
            let verb = command.texts().next().unwrap_or_default();
            let harmless = verb.is_empty() || is_one_of(verb, "list print blame load enable start");
            !harmless && command.texts().any(unit)
        }
        "kill" | "pkill" | "killall" => {
            let names = command
                .args()
                .iter()
                .flat_map(|word| &word.inner)
                .flat_map(|inner| inner.names.iter().map(String::as_str));
            let words: Vec<String> = command
                .texts()
                .chain(names)
                .map(str::to_ascii_lowercase)
                .collect();
            let all = words.join(" ");
            let by_name = command.name() != "kill"
                && words
                    .iter()
                    .any(|word| matches!(word.as_str(), "hermes" | "^hermes$"));
            by_name || (all.contains("hermes") && all.contains("gateway"))
        }
        _ => matches!(hermes_call(command), Some(("gateway", "stop" | "restart"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_stop_the_gateway_are_refused() {
        for command in [
            "hermes gateway stop",
            "hermes -p work gateway restart",
            "bash -c 'hermes gateway restart'",
            "systemctl --user restart hermes-gateway",
            "sudo systemctl stop hermes-gateway-work.service",
            "launchctl kickstart -k gui/501/ai.hermes.gateway",
            "pkill -f 'hermes gateway'",
            "pkill hermes",
            "kill $(pgrep -f 'hermes gateway')",
        ] {
            assert!(
                gateway_self_harm(&Analysis::of(command)).is_some(),
                "{command}"
            );
        }
        for command in [
            "hermes gateway status",
            "systemctl --user status hermes-gateway",
            "systemctl restart nginx",
            "launchctl list ai.hermes.gateway",
            "pkill nginx",
            "kill 5",
            "echo hermes gateway stop",
            "git commit -m 'hermes gateway stop'",
        ] {
            assert!(
                gateway_self_harm(&Analysis::of(command)).is_none(),
                "{command}"
            );
        }
    }
}
