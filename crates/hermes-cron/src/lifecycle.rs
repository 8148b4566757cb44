//! Jobs that would stop the gateway that runs them: it starts again, the job comes again, and so on.

use std::sync::LazyLock;

use regex::Regex;

use crate::error::{Error, Result};

/// Commands, not prose: each begins with a program.
static STOPS_GATEWAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"hermes\s+(?:-\S+\s+\S+\s+)*gateway\s+(?:restart|stop)\b",
        r"launchctl\s+(?:kickstart|unload|load|stop|restart|bootout)\b[^\n]*\bhermes[.\-]?gateway",
        r"systemctl\s+(?:-\S+\s+)*(?:restart|stop|start|kill)\b[^\n]*\bhermes[.\-]?gateway",
        r"\bp?kill(?:all)?\b[^\n]*\bhermes\b[^\n]*\bgateway",
        r"\bp?kill(?:all)?\b[^\n]*\bgateway\b[^\n]*\bhermes",
    ];
    Regex::new(&format!("(?i)(?:{})", patterns.join("|"))).ok()
});

/// Refuses a job whose text or script stops a gateway.
pub(crate) fn refuse_gateway_commands(prompt: &str, script: &str) -> Result<()> {
    let stops = |text: &str| {
        STOPS_GATEWAY
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(text))
    };
    if !stops(prompt) && !stops(script) {
        return Ok(());
    }
    Err(Error::refused(
        "the job would stop or restart the gateway that runs it",
        "run that command yourself, in a terminal outside of the gateway",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_refused_and_prose_is_not() {
        for bad in [
            "hermes gateway restart",
            "run `hermes -p coder gateway stop` now",
            "systemctl --user restart hermes-gateway",
            "launchctl kickstart -k gui/501/ai.hermes.gateway",
            "pkill -f 'hermes gateway'",
        ] {
            assert!(refuse_gateway_commands(bad, "").is_err(), "{bad}");
            assert!(refuse_gateway_commands("", bad).is_err(), "{bad}");
        }
        for good in [
            "Summarise how the API gateway restarts",
            "hermes gateway status",
            "hermes gateway start",
            "systemctl restart nginx",
            "launchctl unload ai.hermes.update-checker.plist",
        ] {
            assert!(refuse_gateway_commands(good, good).is_ok(), "{good}");
        }
    }
}
