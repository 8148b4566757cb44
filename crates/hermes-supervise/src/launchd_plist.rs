//! The text of a launchd property list.

use crate::definition::GatewayDefinition;

/// How long launchd waits between two starts, in seconds.
const THROTTLE: u64 = 30;

/// The agent of a gateway.
pub(crate) fn plist(gateway: &GatewayDefinition, label: &str) -> String {
    let words = [gateway.program.as_str()].into_iter();
    let arguments: Vec<String> = words
        .chain(gateway.arguments())
        .map(|word| format!("      {}\n", string(word)))
        .collect();
    let log = |name: &str| string(&format!("{}/logs/{name}", gateway.home));
    let rows = [
        ("Label", string(label)),
        (
            "ProgramArguments",
            format!("<array>\n{}    </array>", arguments.concat()),
        ),
        ("WorkingDirectory", string(&gateway.home)),
        (
            "EnvironmentVariables",
            format!(
                "<dict>\n      <key>HERMES_HOME</key>\n      {}\n      <key>PATH</key>\n      {}\n    </dict>",
                string(&gateway.home),
                string(&gateway.path)
            ),
        ),
        ("RunAtLoad", "<true/>".to_owned()),
        ("KeepAlive", "<true/>".to_owned()),
        ("ThrottleInterval", integer(THROTTLE)),
        ("ExitTimeOut", integer(gateway.stop_limit().as_secs())),
        (
            "LimitLoadToSessionType",
            "<array>\n      <string>Aqua</string>\n      <string>Background</string>\n    </array>"
                .to_owned(),
        ),
        ("StandardOutPath", log("gateway.log")),
        ("StandardErrorPath", log("gateway.error.log")),
    ];
    let rows: Vec<String> = rows
        .iter()
        .map(|(key, value)| format!("    <key>{key}</key>\n    {value}\n"))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n  <dict>\n{}  </dict>\n</plist>\n",
        rows.concat()
    )
}

fn string(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<string>{text}</string>")
}

fn integer(number: u64) -> String {
    format!("<integer>{number}</integer>")
}

/// Whether a property list that is there does what this one would; `PATH` may have grown since.
pub(crate) fn is_current(there: &str, wanted: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let mut is_path = false;
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim) {
            let was_path = std::mem::replace(&mut is_path, line == "<key>PATH</key>");
            if !was_path && !line.is_empty() {
                lines.push(line.to_owned());
            }
        }
        lines
    };
    lines(there) == lines(wanted)
}

#[cfg(test)]
#[path = "launchd_plist_tests.rs"]
mod tests;
