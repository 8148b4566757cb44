use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;

fn gateway() -> GatewayDefinition {
    GatewayDefinition {
        program: "/opt/homebrew/bin/hermes".to_owned(),
        profile: Some("coder".to_owned()),
        suffix: "coder".to_owned(),
        home: "/Users/joe/R&D <1>/.hermes/profiles/coder".to_owned(),
        path: "/opt/homebrew/bin:/usr/bin".to_owned(),
        drain: Duration::from_mins(3),
        watchdog: None,
    }
}

#[test]
fn the_property_list_of_an_agent() {
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>Label</key>
    <string>ai.hermes.gateway-coder</string>
    <key>ProgramArguments</key>
    <array>
      <string>/opt/homebrew/bin/hermes</string>
      <string>--profile</string>
      <string>coder</string>
      <string>gateway</string>
      <string>run</string>
    </array>
    <key>WorkingDirectory</key>
    <string>/Users/joe/R&amp;D &lt;1&gt;/.hermes/profiles/coder</string>
    <key>EnvironmentVariables</key>
    <dict>
      <key>HERMES_HOME</key>
      <string>/Users/joe/R&amp;D &lt;1&gt;/.hermes/profiles/coder</string>
      <key>PATH</key>
      <string>/opt/homebrew/bin:/usr/bin</string>
    </dict>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <true/>
    <key>ThrottleInterval</key>
    <integer>30</integer>
    <key>ExitTimeOut</key>
    <integer>210</integer>
    <key>LimitLoadToSessionType</key>
    <array>
      <string>Aqua</string>
      <string>Background</string>
    </array>
    <key>StandardOutPath</key>
    <string>/Users/joe/R&amp;D &lt;1&gt;/.hermes/profiles/coder/logs/gateway.log</string>
    <key>StandardErrorPath</key>
    <string>/Users/joe/R&amp;D &lt;1&gt;/.hermes/profiles/coder/logs/gateway.error.log</string>
  </dict>
</plist>
"#;
    assert_eq!(plist(&gateway(), "ai.hermes.gateway-coder"), expected);
}

#[test]
fn another_path_makes_no_difference() {
    let wanted = plist(&gateway(), "label");
    let mut later = gateway();
    later.path.push_str(":/opt/new");
    assert!(is_current(&plist(&later, "label"), &wanted));
    later.drain = Duration::ZERO;
    assert!(!is_current(&plist(&later, "label"), &wanted));
}
